"""The forms of chunks, and windows that hold events."""

from __future__ import annotations

from lockstep.operators.contract import CURRENT, EXPIRED, RESET, StreamEvent
from lockstep.windows.chunks import HoldingWindow, batch_chunk
from tests.unit.operators.plain_context import PlainContext
from tests.unit.windows.played import call_of

ONE, TWO = StreamEvent(1, (1,)), StreamEvent(2, (2,))


def test_a_batch_stands_behind_the_one_that_leaves() -> None:
    """`[expired][RESET][current]`; expired rows get the clock as their time."""
    chunk = batch_chunk([ONE], [TWO], 7)
    assert [(e.kind, e.timestamp_ms) for e in chunk] == [(EXPIRED, 7), (RESET, 7), (CURRENT, 2)]
    without = batch_chunk([ONE], [TWO], 7, with_reset=False)
    assert [e.kind for e in without] == [EXPIRED, CURRENT]
    assert batch_chunk([], [], 7) == []


def test_what_a_window_holds_is_found_saved_and_put_back() -> None:
    """Oldest first; what is too old leaves with the clock as its time."""
    window = HoldingWindow(call_of("length(3)", PlainContext()))
    window.restore([ONE, TWO])
    other = HoldingWindow(call_of("length(3)", PlainContext()))
    other.restore(window.snapshot())
    out: list[StreamEvent] = []
    other.expire(1, 9, out)
    assert [(e.kind, e.timestamp_ms, e.data) for e in out] == [(EXPIRED, 9, (1,))]
    assert list(other.content()) == [TWO]
    assert list(window.content()) == [ONE, TWO]
