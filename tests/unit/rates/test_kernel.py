"""`output first every t` by group."""

from __future__ import annotations

from lockstep.rates.by_time.kernel import first_by_time
from tests.unit.columns.flows import longs


def test_the_first_of_a_group_passes_then_one_per_time() -> None:
    """Also at time 0 and before; exactly the time later is late enough."""
    passed, numbers = longs(0, 0), longs(0, 0)
    now, group = longs(-50, 0, 49, 50, 149, 150), longs(0, 1, 0, 0, 0, 1)
    out = first_by_time(now, group, 100, 10, passed, numbers)
    assert out.tolist() == [True, True, False, True, False, True]
    assert passed.tolist() == [50, 150]
    assert numbers.tolist() == [14, 16]


def test_nothing_came() -> None:
    """What is known stays."""
    passed, numbers = longs(7), longs(1)
    assert first_by_time(longs(), longs(), 100, 1, passed, numbers).tolist() == []
    assert passed.tolist() == [7]
