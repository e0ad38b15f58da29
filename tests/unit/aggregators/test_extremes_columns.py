"""min and max over rows that leave in any order."""

from __future__ import annotations

from random import Random

import numpy as np

from lockstep.aggregators.accumulators import Feed
from lockstep.aggregators.extremes.columns import UnorderedExtremes
from lockstep.columns.column import from_values
from lockstep.events import AttributeType


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
