"""What timers look at when there are many keys: what is due, and nothing else. Counted in lines of
Python, so that no machine is too slow for it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

import pytest

from lockstep.operators.contract import StreamEvent
from lockstep.stream_functions.priority import meaning as priority
from lockstep.testing import VirtualApp
from lockstep.windows.session import meaning as session

SESSIONS = """
@app:playback define stream S (k string);
@info(name='q') from S#window.session(10 sec, k{latency}) select k insert expired events into O;
"""
PRIORITIES = """
@app:playback define stream S (k string, p int);
@info(name='q') from S#priority:time(k, p, 10 sec) select k, currentPriority as p insert into O;
"""
ROUND_MS = 4_000


def lines_in(path: str, work: Callable[[], Any]) -> int:
    """How many lines of a file run meanwhile."""
    count = 0

    def line(frame: FrameType, what: str, more: Any) -> Any:
        nonlocal count
        count += what == "line"
        return line

    def call(frame: FrameType, what: str, more: Any) -> Any:
        code: CodeType = frame.f_code
        return line if code.co_filename == path else None

    before = sys.gettrace()
    sys.settrace(call)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def round_of(app: VirtualApp, keys: int, more: list[Any], number: int, events: int) -> None:
    """Each key once within a round, in turn; only the first `events` of them."""
    for key in range(events):
        app.send("S", [f"k{key}", *more], timestamp_ms=number * ROUND_MS + key * ROUND_MS // keys)


def lines(text: str, more: list[Any], path: str, keys: int) -> int:
    """The lines for a fixed number of events, each of which makes a timer of an earlier one be due,
    with so many keys open."""
    app = VirtualApp(text, executor="reference")
    for number in range(3):
        round_of(app, keys, more, number, keys)
    return lines_in(path, lambda: round_of(app, keys, more, 3, 100))


@pytest.mark.parametrize("latency", ["", ", 5 sec"])
def test_a_timer_of_sessions_looks_at_no_others(latency: str) -> None:
    """Each event asks for a timer, which came too early when it fires."""
    text, path = SESSIONS.format(latency=latency), session.__file__
    few, many = (lines(text, [], path, keys) for keys in (100, 1_000))
    assert many < 2 * few


def test_a_timer_of_priorities_looks_at_no_others() -> None:
    """A key is unchanged for t only if it stands in front."""
    few, many = (lines(PRIORITIES, [1], priority.__file__, keys) for keys in (100, 1_000))
    assert many < 2 * few


@pytest.mark.parametrize("latency", ["", ", 5 sec"])
@pytest.mark.parametrize("executor", ["reference", "columnar"])
@pytest.mark.parametrize("cut", [None, 3, 6, 9])
def test_sessions_leave_in_order_of_their_creation(
    latency: str, executor: str, cut: int | None
) -> None:
    """Those that are over at once, also when they were restored in between; one that went on leaves
    when it is over."""
    text = SESSIONS.format(latency=latency)
    app, left = VirtualApp(text, executor=executor), []
    sent = [("c", 0), ("b", 0), ("a", 1000), ("b", 2000), ("c", 2000), ("x", 3000), ("a", 12_000)]
    for number, (key, time) in enumerate([*sent, ("y", 12_000), ("z", 90_000), ("z", 180_000)]):
        if number == cut:
            left += app.query("q").expired
            app = VirtualApp.restore(text, app.snapshot(), executor=executor)
        app.send("S", [key], timestamp_ms=time)
    left += app.query("q").expired
    names = "".join(event.data[0] for event in left)
    assert names == "accbbxayz"


def test_the_heap_of_sessions_forgets_those_that_are_gone() -> None:
    """Each event ends a session and begins one, far in front of the clock."""
    ends, left = session.Ends(), []
    for number in range(5_000):
        ends.sessions.pop("k", None)
        ends.add("k", session.Session(StreamEvent(20_000 * number, ("k",)), 10_000))
        left.append(len(ends._heap))
    assert max(left) < 1_100
    assert ends.over(10**9) == ["k"]
