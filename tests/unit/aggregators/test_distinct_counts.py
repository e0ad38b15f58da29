"""distinctCount in columns: how often it looks for values that are gone, and what it keeps."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from random import Random

import numpy as np
import numpy.typing as npt
import pytest

from lockstep.aggregators.accumulators import Feed
from lockstep.aggregators.distinct_count import DistinctCount
from lockstep.aggregators.distinct_count.columns import DistinctCounts
from lockstep.columns.column import from_values
from lockstep.events import AttributeType
from tests.unit.columns.flows import longs

IN, OUT, MARK = 0, 1, 3
GROUPS = 4
SWAPPED = (1, 0, 3, 2)


class CountsLooks(DistinctCounts):
    """Knows how often somebody looked at all pairs."""

    looks = 0

    def _live_pairs(self) -> npt.NDArray[np.bool_]:
        self.looks += 1
        return super()._live_pairs()

    @property
    def held(self) -> int:
        """How many pairs it keeps."""
        return len(self._pairs)


def run(
    counts: DistinctCounts, lines: list[tuple[int, int, int]], realms: Sequence[int] = range(GROUPS)
) -> list[int]:
    """The values at lines of (kind, group, value); `realms` are those of the groups."""
    kind, group, value = (np.array([line[i] for line in lines], np.int64) for i in range(3))
    counts.reserve(GROUPS, GROUPS, 0)
    realm = np.array(realms, np.int64)[group]
    counts.run(
        Feed(kind.astype(np.int8), group, realm, None),
        [from_values(AttributeType.LONG, value.tolist())],
    )
    found: list[int] = counts.result("distinctCount").to_pylist()
    return found


def hopped(counts: DistinctCounts, realms: Sequence[int]) -> CountsLooks:
    """Another one that goes on from the state."""
    groups, states = np.arange(GROUPS), counts.store(np.arange(GROUPS))
    new = CountsLooks()
    new.reserve(GROUPS, GROUPS, 0)
    new.realm_of[groups] = realms
    new.load(groups, states)
    return new


def test_a_small_slice_does_not_look_at_all_values() -> None:
    """With many values, small slices look at none of them; on the way up there are few looks."""
    counts = CountsLooks()
    for first in range(0, 40_000, 1000):
        run(counts, [(IN, 0, first + i) for i in range(1000)])
    assert counts.looks <= 4
    before = counts.looks
    for i in range(50):
        assert run(counts, [(IN, 0, 40_000 + i)]) == [40_001 + i]
    assert counts.looks == before


@pytest.mark.parametrize("seed", range(3))
def test_values_that_left_go_and_the_others_are_counted_as_by_the_meaning(seed: int) -> None:
    """Over marks, values that leave before they come, states that hop, and groups that change
    their numbers."""
    random, counts = Random(seed), CountsLooks()
    meaning = [DistinctCount() for _ in range(GROUPS)]
    inside: deque[tuple[int, int]] = deque()
    most, realms, came = 0, list(range(GROUPS)), set[tuple[int, int]]()
    for _ in range(60):
        lines, expected = [], []
        for _ in range(500):
            group, value, draw = random.randrange(GROUPS), random.randrange(20_000), random.random()
            kind = IN
            if len(inside) > 1500:
                kind, (group, value) = OUT, inside.popleft()
            elif draw < 0.0005:
                kind = MARK
                inside = deque(each for each in inside if each[0] != group)
            elif draw < 0.05:
                kind = OUT  # What never came.
            else:
                inside.append((group, value))
            lines.append((kind, group, value))
            came.add((group, value))
            if kind == MARK:
                meaning[group].reset()
                continue
            (meaning[group].add if kind == IN else meaning[group].remove)(value)
            expected.append(meaning[group].value())
        found = run(counts, lines, realms)
        assert [v for v, line in zip(found, lines, strict=True) if line[0] != MARK] == expected
        most = max(most, counts.held)
        if random.random() < 0.05:
            counts = hopped(counts, realms)
        if random.random() < 0.05:
            counts.move(longs(*SWAPPED), GROUPS)
            meaning, realms = [meaning[i] for i in SWAPPED], [realms[i] for i in SWAPPED]
            inside = deque((SWAPPED[group], value) for group, value in inside)
    states = counts.store(np.arange(GROUPS))
    assert [sorted(state) for state in states] == [sorted(each.snapshot()) for each in meaning]
    # Fewer than 1,700 are present at a time, and a slice brings 500.
    assert most <= 2 * 1700 + 4096 + 500 < len(came)
