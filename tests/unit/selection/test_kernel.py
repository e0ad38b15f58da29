"""Which rows of a chunk come out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lockstep.selection.kernel import last_of_chunks, last_of_groups
from tests.unit.columns.flows import longs


def flags(*values: int) -> Any:
    """As booleans."""
    return np.array(values, np.bool_)


def test_the_last_wanted_event_of_each_chunk() -> None:
    """None of a chunk where nothing is wanted."""
    wanted = flags(1, 1, 0, 0, 0, 1)
    assert last_of_chunks(longs(0, 3, 5, 6), wanted).tolist() == [1, -1, 5]
    assert last_of_chunks(longs(0), flags()).tolist() == []


@pytest.mark.parametrize(
    ("wanted", "events", "lengths"),
    [
        ((1, 1, 1, 1, 1, 1), [2, 3, 4, 5], [2, 2]),
        # A group's place is that of its first wanted event.
        ((0, 1, 1, 1, 1, 1), [3, 2, 4, 5], [2, 2]),
        ((0, 0, 0, 0, 1, 0), [4], [0, 1]),
        ((0, 0, 0, 0, 0, 0), [], [0, 0]),
    ],
)
def test_the_last_of_each_group(
    wanted: tuple[int, ...], events: list[int], lengths: list[int]
) -> None:
    """Groups in the order of their first event; a chunk does not see those of the one before."""
    group = longs(0, 1, 0, 1, 1, 0)
    found, counts = last_of_groups(longs(0, 4, 6), flags(*wanted), group, 2)
    assert found.tolist() == events
    assert counts.tolist() == lengths
