"""Rows wait over many slices, and a slice copies few of those that came before it."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from lockstep.columns.column import Strings, from_values
from lockstep.columns.output import Output
from lockstep.columns.texts import Words
from lockstep.events import AttributeType
from lockstep.rates.by_number.columns import AllByNumber, LastByNumber
from lockstep.rates.by_time.columns import AllByTime, LastByTime
from lockstep.rates.contract import Rated
from lockstep.rates.rows import Block, nothing
from lockstep.rates.snapshot.columns import GroupsInWindow, LastRows, WindowContent
from lockstep.rates.waiting import FEW, Waiting
from tests.unit.columns.flows import INT, chunks, longs, moves

RATED = Rated("q", 5, (INT,))
SLICES = 1500
COPIES_MAX = 30
"""How often a row is copied on average: many times the logarithm of the slices, and far from their
number."""


def block(*rows: tuple[int, int]) -> Block:
    """Rows of (group, value)."""
    values = from_values(INT, [value for _, value in rows])
    count = len(rows)
    groups = longs(*[group for group, _ in rows])
    return Block((values,), np.arange(count, dtype=np.int64), np.zeros(count, np.int8), groups)


def told(rows: Block) -> list[tuple[int, int]]:
    """(group, value) of each."""
    return list(zip(rows.groups.tolist(), rows.columns[0].to_pylist(), strict=True))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("lasts", [False, True])
def test_what_waits(lasts: bool, seed: int) -> None:
    """In order of arrival; or the last of each group, in order of the groups' first."""
    random = Random(seed)
    waiting = Waiting((INT,), lasts=lasts)
    expected: list[tuple[int, int]] = []
    for _ in range(200):
        rows = [(random.randint(0, 20), random.randint(0, 99)) for _ in range(random.randint(0, 9))]
        waiting.add(block(*rows))
        expected = list(dict([*expected, *rows]).items()) if lasts else expected + rows
        if random.random() < 0.1:
            assert told(waiting.joined()) == expected
            assert len(waiting) == len(expected)
        if random.random() < 0.02:
            expected = rows = [(3, 1), (1, 2)]
            waiting.replace(block(*rows))
    assert told(waiting.joined()) == expected


def test_nothing_waits() -> None:
    """Columns of the types, without rows."""
    waiting = Waiting((INT,))
    waiting.add(nothing((INT,)))
    assert len(waiting) == 0
    assert [column.type for column in waiting.joined().columns] == [INT]


@pytest.mark.parametrize("count", [3, FEW + 1])
def test_texts(count: int) -> None:
    """Few do not keep the dictionary that they came with; nulls stay."""
    codes = np.arange(count, dtype=np.int32)
    words = Words([str(i) for i in range(2 * FEW)])
    nulls = codes == 1
    texts = Strings(codes=codes, words=words, nulls=nulls)
    waiting = Waiting((AttributeType.STRING,))
    rows = block(*[(0, 0)] * count)
    waiting.add(Block((texts,), rows.times, rows.kinds, rows.groups))
    (kept,) = waiting.joined().columns
    assert isinstance(kept, Strings)
    assert kept.to_pylist() == ["0", None, *map(str, range(2, count))]
    assert (kept.words is words) == (count > FEW)


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows were put one behind the other, each time."""
    counts: list[int] = []
    behind = Block.behind

    def counting(self: Block, other: Block) -> Block:
        made = behind(self, other)
        if made is not self:
            counts.append(len(made))
        return made

    monkeypatch.setattr(Block, "behind", counting)
    return counts


def run(limiter: Any, at: int, until: int | None = None) -> Any:
    """What leaves of a slice of one event, of a group of its own."""
    stream = chunks([at], at=[at], first_moment=2 * at + 1)
    stream = replace(stream, columns=(*stream.columns,) * (1 + limiter.carried))
    output = Output(stream, groups=longs(0))
    return limiter.run(limiter.keys.limited(output, [f"k{at}"]), moves(stream, until=until)).chunks


@pytest.mark.parametrize(
    ("make", "of_a_window"),
    [
        (AllByTime, ()),
        (LastByTime, ()),
        (AllByNumber, ()),
        (LastByNumber, ()),
        (LastRows, ()),
        (WindowContent, ([False], (INT,))),
        (GroupsInWindow, ([True], (INT,))),
    ],
)
def test_slices_copy_few_of_the_rows_that_wait(
    make: Any, of_a_window: tuple[Any, ...], copied: list[int]
) -> None:
    """Not all that came before; and all of them leave in the end."""
    limiter = make(RATED, SLICES, *of_a_window)
    limiter.start(0)
    for at in range(SLICES - 1):
        assert len(run(limiter, at)) == 0
    assert sum(copied) < COPIES_MAX * SLICES
    made = run(limiter, SLICES - 1, until=SLICES)
    assert made.columns[0].to_pylist() == [*range(SLICES)]
