"""min and max over rows that leave in any order, and what snapshots keep of them."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lockstep.aggregators.accumulators import Feed
from lockstep.aggregators.extremes.columns import SlidingExtremes, UnorderedExtremes
from lockstep.aggregators.extremes.meaning import Maximum, Minimum
from lockstep.aggregators.extremes.runs import Runs
from lockstep.columns.column import from_values
from lockstep.events import AttributeType
from lockstep.operators.packed import SMALL_ROWS, PackedPairs
from lockstep.operators.state import encode
from lockstep.testing import VirtualApp


def test_the_extreme_of_what_is_inside_after_each_step() -> None:
    """Two groups, nulls among the values, places used again; against a plain list."""
    random = Random(4)
    for sign, extreme in ((1, min), (-1, max)):
        accumulator = UnorderedExtremes(AttributeType.DOUBLE, sign)
        inside: dict[int, tuple[int, float | None]] = {}
        steps: list[tuple[int, int, int, float | None]] = []
        expected: list[float | None] = []
        for _ in range(400):
            place = random.randrange(40)
            kind = 1 if place in inside else 0
            if kind == 0:
                value = None if random.random() < 0.1 else random.randrange(12) * 0.5
                inside[place] = (random.randrange(2), value)
            group, value = inside[place]
            if kind == 1:
                del inside[place]
            steps.append((kind, group, place, value))
            held = [v for g, v in inside.values() if g == group and v is not None]
            expected.append(extreme(held) if held else None)
        found: list[float | None] = []
        for part in (steps[:150], steps[150:]):
            accumulator.reserve(2, 1, 40)
            columns = [np.array(each, np.int64) for each in list(zip(*part, strict=True))[:3]]
            kinds, groups, places = columns
            feed = Feed(kinds.astype(np.int8), groups, np.zeros(len(part), np.int64), places)
            accumulator.run(feed, [from_values(AttributeType.DOUBLE, [step[3] for step in part])])
            found += accumulator.result("min").to_pylist()
        assert found == expected


LONGS = "define stream S (v long, d double); @info(name='q') from S{} select {} as m insert into O;"
LEAST = -(2**63)


@pytest.mark.parametrize(
    ("window", "call"),
    [
        ("#window.length(3)", "max(v)"),
        ("#window.sort(3, v)", "max(v)"),
        ("#window.lengthBatch(3)", "max(v)"),
        ("", "max(v)"),
        ("", "maxForever(v)"),
        ("#window.length(3)", "min(v)"),
    ],
)
def test_the_least_long_goes_over_to_the_reference(window: str, call: str) -> None:
    """Which keeps the largest by its negative; that one is no long."""
    text = LONGS.format(window, call)
    rows = [[LEAST, 0.0], [LEAST, 0.0], [LEAST + 1, 0.0], [LEAST, 0.0], [7, 0.0], [LEAST, 0.0]]
    brought: list[list[object]] = []
    for first, second in (("reference",) * 2, ("columnar", "reference"), ("reference", "columnar")):
        found: list[object] = []
        app = VirtualApp(text, executor=first)
        for n, row in enumerate(rows):
            app.send("S", row)
            found += [event.data for event in app.query("q").current]
            kind = second if n % 2 == 0 else first
            app = VirtualApp.restore(text, app.snapshot(), executor=kind)
        brought.append(found)
    assert brought[0] == brought[1] == brought[2] != []


@pytest.mark.parametrize(("call", "after"), [("minForever(d)", 0.0), ("maxForever(d)", -5.0)])
def test_a_negative_zero_for_ever_stays_one(call: str, after: float) -> None:
    """Where it comes with the reference's snapshot."""
    text = LONGS.format("", call)
    app = VirtualApp(text)
    app.send("S", [1, -0.0])
    app = VirtualApp.restore(text, app.snapshot(), executor="columnar")
    app.send("S", [1, after])
    assert [str(event.data[0]) for event in app.query("q").current] == ["-0.0"]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("type_", [AttributeType.DOUBLE, AttributeType.INT, AttributeType.LONG])
def test_the_states_of_all_groups_are_those_of_each(type_: AttributeType, sign: int) -> None:
    """As the reference's aggregator has them, and in bytes as earlier releases wrote them."""
    random = Random(8)
    numbers = [LEAST, LEAST + 1, *range(-40, 40), 2**63 - 1]
    if type_ is not AttributeType.LONG:
        numbers = numbers[2:-1]
    for count, groups in ((0, 2), (1, 1), (600, 1), (60, 3), (900, 7), (900, 70_000)):
        group = [random.randrange(groups) for _ in range(count)]
        values = [None if random.random() < 0.1 else random.choice(numbers) for _ in group]
        held: list[Any] = list(values)
        if type_ is AttributeType.DOUBLE:
            halves = [None if value is None else value / 2 for value in values]
            held = [math.nan if value == 7 else value for value in halves]
        asked = random.sample(range(groups + 1), min(groups, 50))
        made = SlidingExtremes(type_, sign).state_of(
            from_values(type_, held), np.array(group, np.int64), np.array(asked, np.int64)
        )
        for number, state in zip(asked, made, strict=True):
            meaning = Minimum() if sign > 0 else Maximum()
            for value, of in zip(held, group, strict=True):
                if of == number:
                    meaning.add(value)
            expected: Any = meaning.snapshot()
            if len(expected) > SMALL_ROWS and expected[-1][0] < 2**63:
                columns = zip(*expected, strict=True)
                expected = PackedPairs.of(*(pa.array(each) for each in columns))
            assert encode(state) == encode(expected)


def test_how_often_each_number_occurs_in_each_group() -> None:
    """In the order of the question, also of groups without any; a group past sixteen bits."""
    values = np.array([5, 3, 5, 1, 3, 5], np.int64)
    group = np.array([70_000, 2, 70_000, 2, 70_000, 2], np.int64)
    asked = np.array([70_000, 4, 2], np.int64)
    assert Runs.of(values, group, 1).pairs(asked) == [
        [(3, 1), (5, 2)],
        [],
        [(1, 1), (3, 1), (5, 1)],
    ]
    assert Runs.of(values, group, -1).pairs(asked)[0] == [(-5, 2), (-3, 1)]
