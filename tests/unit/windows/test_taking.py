"""What a window does where one of its events fails, or a chunk that it lets out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from lockstep.operators.errors import EventError
from lockstep.operators.state import seal, unseal
from lockstep.selection.meaning import error_in
from lockstep.testing.virtual_app import VirtualApp
from lockstep.windows.taking import Taking

every_executor = pytest.mark.parametrize("executor", ["reference", "columnar"])
CUTS = (1, 2, 9)
C = "str:charAt(k, 1)"
PAIRS = [("e", 11, 2), ("g", 15, 2)]
BY_TIME = (
    "timeBatch(1 sec)",
    "unique:timeBatch(k, 1 sec)",
    "unique:firstTimeBatch(k, 1 sec)",
    "unique:timeLengthBatch(k, 1 sec, 5)",
    "extrema:maxByTimeBatch(v, 1 sec)",
)


class Behind:
    """What stands behind a window: it refuses chunks with a 0 in them, and keeps the others."""

    def __init__(self) -> None:
        self.got: list[tuple[list[Any], BaseException | None]] = []

    def process(self, chunk: list[Any]) -> None:
        """EventError for a 0."""
        self.got.append((list(chunk), error_in(chunk)))
        if 0 in chunk:
            raise EventError("zero")


def test_chunks_behind_one_that_fails_come_torn() -> None:
    """All get through, and the first error is raised at the end."""
    behind = Behind()
    taking = Taking(behind.process)
    for chunk in ([1], [0], [2]):
        taking.emit(chunk)
    with pytest.raises(EventError, match="zero") as raised:
        taking.end([3])
    assert behind.got == [([1], None), ([0], None), ([2], raised.value), ([3], raised.value)]


def test_a_failure_does_not_grow() -> None:
    """What is torn raises it again, chunk by chunk: a traceback would keep the frames of all."""

    def behind(chunk: list[Any]) -> None:
        raise error_in(chunk) or EventError("first")

    taking = Taking(behind)
    for number in range(100):
        taking.emit([number])
    with pytest.raises(EventError, match="first") as raised:
        taking.end()
    assert len(raised.traceback) < 5


def test_an_event_that_fails_keeps_no_other_out() -> None:
    """Nor what is let out for the others."""
    behind, taken = Behind(), []
    taking = Taking(behind.process)
    for divisor in (1, 0, 2):
        with taking:
            taken.append(4 // divisor)
    with pytest.raises(ZeroDivisionError):
        taking.end(taken)
    assert behind.got[0][0] == [4, 2]


def test_programs_that_are_broken_and_what_goes_too_deep_stop_at_once() -> None:
    """They are no failures of an event."""
    for error in (AssertionError(), RecursionError()):
        taking = Taking(Behind().process)
        with pytest.raises(type(error)), taking:
            raise error
        taking.end()


def counting(window: str) -> str:
    """An app with that window, of which a row with the text `x` fails."""
    return (
        "define stream S (k string, v long, t long); @info(name='q') "
        f"from S#window.{window} select {C} as c, sum(v) as s, count() as n insert into O;"
    )


def brought(app: VirtualApp, rows: Sequence[tuple[Any, ...]], cut: int) -> list[Any]:
    """What rows bring that come in chunks of so many."""
    before = len(app.stream("O"))
    for at in range(0, len(rows), cut):
        app.send_many("S", rows[at : at + cut])
    return [event.data for event in app.stream("O")[before:]]


@every_executor
@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ("lengthBatch(2)", PAIRS),
        ("lengthHopping(2, 2)", PAIRS),
        ("unique:lengthBatch(k, 2)", PAIRS),
        ("extrema:maxByLengthBatch(v, 2)", [("e", 6, 1), ("g", 8, 1)]),
        ("externalTimeBatch(t, 10)", PAIRS),
        ("expressionBatch('count() <= 2')", PAIRS),
    ],
)
def test_what_stands_behind_a_batch_that_fails_is_collected(
    window: str, expected: list[Any], cut: int, executor: str
) -> None:
    """Wherever the log is cut, later batches hold the same events."""
    rows = [("aa", 1, 0), ("x", 2, 1), ("ab", 3, 11), ("ac", 4, 12), ("ad", 5, 21)]
    later = [("ae", 6, 22), ("af", 7, 31), ("ag", 8, 32), ("ah", 9, 41)]
    with VirtualApp(counting(window), executor=executor) as app:
        brought(app, rows, cut)
        assert len(app.faults()) == 1
        assert brought(app, later, 1) == expected


@every_executor
@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ("externalTime(t, 10)", [(63, 4), (17, 3)]),
        (f"unique:ever({C})", [(63, 4), (64, 4)]),
        (f"unique:length({C}, 2)", [(10, 2), (11, 2)]),
        (f"expression('count() <= 3 and str:length({C}) > 0')", [(13, 3), (17, 3)]),
    ],
)
def test_a_window_that_fails_in_its_own_work_leaves_sums_right(
    window: str, expected: list[Any], cut: int, executor: str
) -> None:
    """The event that fails has never been inside, and what left for others has left."""
    rows = [("aa", 1, 0), ("ab", 50, 15), ("x", 100, None), ("ac", 3, 16), ("aa", 4, 17)]
    later = [("ad", 6, 18), ("ad", 7, 26)]
    text = counting(window).replace(f"select {C} as c, ", "select ")
    with VirtualApp(text, executor=executor) as app:
        brought(app, rows, cut)
        assert len(app.faults()) == 1
        assert brought(app, later, 1) == expected


def by_time(app: VirtualApp, rows: Sequence[tuple[Any, ...]]) -> list[Any]:
    """The texts and counts that rows bring, each with a second behind it."""
    before = len(app.stream("O"))
    for row in rows:
        app.send("S", row)
        app.advance(1000)
    return [(text, count) for text, _, count in (e.data for e in app.stream("O")[before:])]


LATER = (("aa", 1, 0), ("ab", 2, 0), ("ac", 3, 0))


@every_executor
@pytest.mark.parametrize("window", BY_TIME)
def test_a_batch_by_time_that_fails_asks_for_its_next_timer(window: str, executor: str) -> None:
    """Each later boundary brings its batch."""
    with VirtualApp(counting(window), executor=executor) as app:
        assert by_time(app, [("x", 1, 0), *LATER]) == [("a", 1), ("b", 1), ("c", 1)]
        assert len(app.faults()) == 1


@every_executor
@pytest.mark.parametrize("window", BY_TIME)
def test_a_stored_state_that_waits_for_no_timer_goes_on(window: str, executor: str) -> None:
    """As revisions have it from before: a batch failed, and nothing was asked for."""
    text = counting(window)
    with VirtualApp(text) as app:
        by_time(app, [("x", 1, 0)])
        position, body = unseal(app.snapshot())
    body["engine"]["app_timers"] = []
    with VirtualApp.restore(text, seal(position, body), executor=executor, start_ms=5000) as app:
        rows = by_time(app, LATER)
        assert [row[0] for row in rows] == ["a", "b", "c"]
        app.advance(10_000)
        assert by_time(app, LATER) == [("a", 1), ("b", 1), ("c", 1)]
