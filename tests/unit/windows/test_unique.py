"""The windows of one event per key: what states of earlier versions are to them."""

from __future__ import annotations

from lockstep.operators.contract import StreamEvent
from tests.unit.windows.played import Played, row


def test_of_old_events_whose_key_is_nan_the_newest_is_restored() -> None:
    """Windows of earlier versions held several; the one that stays leaves when its time is over."""
    played = Played("unique:time(d, 100)")
    nan = float("nan")
    events = [StreamEvent(n, ("a", nan if n != 2 else 0.5, n, 0, 0.0, n)) for n in (1, 2, 3)]
    played.window.restore([(event.data[1], event) for event in events])
    assert [event.data[2] for event in played.window.content()] == [2, 3]
    assert played.shown(10, ("a", float("nan"), 10, 0, 0.0, 10)) == ["X3 C10"]
    assert played.shown(20, row(20, 20)) == ["C20"]
