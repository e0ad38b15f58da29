"""When what goes over a limit has come too often."""

from __future__ import annotations

from lockstep.control import STOPPED
from lockstep.events import Event
from lockstep.execute.contract import EventFault, SliceResult
from lockstep.execute.undoing import UNFOLDABLE
from lockstep_services.processor.state.poison import PoisonCount, PoisonLimit

THREE = PoisonLimit(events=3, positions=10)


def _result(*faults: tuple[int, str]) -> SliceResult:
    """Events of these positions that were set aside, and why."""
    found = [
        EventFault(at, "S", (Event(0, (1,)),), None, why, is_poison=True) for at, why in faults
    ]
    return SliceResult(position=20, rows=(), faults=tuple(found), next_due_ms=None)


def test_a_record_that_is_set_aside_as_a_whole_counts_once() -> None:
    """Workers die of one of its events, and nobody knows of which: it may have thousands."""
    count = PoisonCount(THREE)
    assert count.take(_result(*[(5, UNFOLDABLE)] * 9, *[(6, UNFOLDABLE)] * 9)) == 18
    assert count.stopped is None
    count.take(_result((7, UNFOLDABLE)))
    assert str(count.stopped).startswith(STOPPED)  # coordinators know it by that


def test_events_that_are_left_out_one_by_one_count_each() -> None:
    """Each of them was folded as far as the limit, and undone."""
    count = PoisonCount(THREE)
    count.take(_result(*[(5, "too many rows")] * 2))
    assert count.stopped is None
    count.take(_result((5, "too many rows")))
    assert count.stopped is not None


def test_those_of_long_ago_are_forgotten() -> None:
    """Three within ten positions are too many, three within more are not."""
    count = PoisonCount(THREE)
    count.take(_result((1, "too many rows"), (2, "too many rows"), (11, "too many rows")))
    assert count.stopped is None
    count.take(_result((11, "too many rows")))
    assert count.stopped is not None
