"""`output first every t` by group."""

from __future__ import annotations

import numpy as np

from lockstep.rates.by_time.kernel import first_by_time
from tests.unit.columns.flows import longs


def test_the_first_of_a_group_passes_then_one_per_time() -> None:
    """Also at time 0 and before; exactly the time later is late enough."""
    passed = np.zeros((2, 2), np.int64)
    now, group = longs(-50, 0, 49, 50, 149, 150), longs(0, 1, 0, 0, 0, 1)
    out = first_by_time(now, group, 100, 10, passed)
    assert out.tolist() == [True, True, False, True, False, True]
    assert passed.tolist() == [[50, 14], [150, 16]]


def test_nothing_came() -> None:
    """What is known stays."""
    passed = np.array([[7, 1]])
    assert first_by_time(longs(), longs(), 100, 1, passed).tolist() == []
    assert passed.tolist() == [[7, 1]]
