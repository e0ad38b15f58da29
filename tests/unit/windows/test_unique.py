"""The windows of one event per key: what states of earlier versions are to them."""

from __future__ import annotations

from lockstep.operators.contract import CURRENT, EXPIRED, StreamEvent
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


def test_what_is_out_by_now_leaves_in_front_of_each_event() -> None:
    """Also of other keys, also within a chunk, as far as the first that stays."""
    played = Played("unique:time(k, 100)")

    def event(key: str, at: int) -> StreamEvent:
        return StreamEvent(at, (key, 0.0, at, 0, 0.0, at))

    played.context.now = 1000
    played.window.process([event("a", 800), event("b", 990), event("c", 850), event("b", 995)])
    (chunk,) = played.chunks
    assert [(each.kind, each.data[2]) for each in chunk] == [
        *((CURRENT, 800), (EXPIRED, 800), (CURRENT, 990), (CURRENT, 850)),
        *((EXPIRED, 990), (CURRENT, 995)),
    ]
