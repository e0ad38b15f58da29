"""Times near the largest long, which some send for `never`: columns leave them to the reference."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep.columns.column import Unfit
from lockstep.columns.times import REACH_MS
from lockstep.execute.columnar import ColumnarExecutor
from lockstep.execute.columnar.executor import lowering_of
from lockstep.plan import plan_of
from lockstep.testing import VirtualApp

LARGEST = 2**63 - 1
S = "define stream S (k string, t long); define stream R (k string, t long); "
WINDOW = "@info(name='q') from S#window.{} select k insert all events into O;"
PATTERN = "@info(name='q') from {} select e.k as k insert into O;"
JOIN = (
    "@info(name='q') from S#window.{0} as l join R#window.{0} as r on l.k == r.k"
    " select l.t as t, r.t as u insert all events into O;"
)
QUERIES = [
    WINDOW.format("time(1 sec)"),
    WINDOW.format("timeLength(1 sec, 2)"),
    WINDOW.format("timeBatch(1 sec)"),
    WINDOW.format("hopping(2 sec, 1 sec)"),
    WINDOW.format("session(1 sec, k, 500L)"),
    WINDOW.format("delay(1 sec)"),
    PATTERN.format("every e=S -> not R for 1 sec"),
    PATTERN.format("every not R for 1 sec -> e=S"),
    PATTERN.format("every e=S -> f=R within 1 sec"),
    JOIN.format("time(1 sec)"),
    "from S select k output first every 1 sec insert into O;",
    f"partition with (k of S) begin {WINDOW.format('time(1 sec)')} end;",
]
CLOCKS = [
    WINDOW.format("externalTime(t, 1 sec)"),
    WINDOW.format("externalTimeBatch(t, 1 sec)"),
    WINDOW.format("externalTimeBatch(t, 1 sec, 0, 2 sec)"),
    JOIN.format("externalTime(t, 1 sec)"),
]
Sent = tuple[str, str, int]
"""A stream, a key, and the event's time."""


def seen(
    text: str, executor: str, sent: list[Sent], *, timed: bool, restored: bool = False
) -> tuple[list[str], bool]:
    """(what an app lets be seen of events that have their time as an attribute, and with `timed`
    as their own; whether it runs in columns in the end). `restored`: it begins on the reference and
    goes over by a snapshot behind each event."""
    app = VirtualApp(text, executor="reference" if restored else executor)
    found: list[str] = []
    for n, (stream, key, time_ms) in enumerate(sent):
        app.send(stream, [key, time_ms], timestamp_ms=time_ms if timed else None)
        app.advance(700)
        found += map(repr, app.observations)
        if restored:
            kind = executor if n % 2 == 0 else "reference"
            snapshot, now_ms = app.snapshot(), app.clock_ms
            app = VirtualApp.restore(text, snapshot, executor=kind, start_ms=now_ms)
        else:
            app.observations.clear()
    assert not app.faults()
    running: Any = app._executor
    return found, executor == "columnar" and running.is_columnar


def around(far: int) -> list[Sent]:
    """Events before one that is far off, with it, and behind."""
    times = [5, 9, far, far, 1500, far - far // abs(far), far]
    return [("SR"[n % 2 and n > 2], "ab"[n % 3 > 1], time) for n, time in enumerate(times)]


@pytest.mark.parametrize("playback", ["", "@app:playback "])
@pytest.mark.parametrize("query", QUERIES)
def test_the_reference_goes_on_at_a_time_beyond_reach(query: str, playback: str) -> None:
    """Where it would have gone round, or fired timers for ever; also from a snapshot."""
    text = playback + S + query
    for far in (LARGEST, -LARGEST):
        sent = around(far)
        expected, _ = seen(text, "reference", sent, timed=True)
        assert seen(text, "columnar", sent, timed=True) == (expected, False)
        assert seen(text, "columnar", sent, timed=True, restored=True)[0] == expected


@pytest.mark.parametrize("query", CLOCKS)
def test_so_it_does_where_an_attribute_is_the_clock(query: str) -> None:
    """The events' own times are the app's."""
    for far in (LARGEST, -LARGEST):
        sent = around(far)
        expected, _ = seen(S + query, "reference", sent, timed=False)
        assert seen(S + query, "columnar", sent, timed=False) == (expected, False)
        assert seen(S + query, "columnar", sent, timed=False, restored=True)[0] == expected


@pytest.mark.parametrize("query", [*QUERIES, *CLOCKS])
def test_within_reach_columns_go_on(query: str) -> None:
    """However far that is."""
    timed = query in QUERIES
    for far in (REACH_MS - 1, 1 - REACH_MS):
        sent = around(far)
        expected, _ = seen(S + query, "reference", sent, timed=timed)
        assert seen(S + query, "columnar", sent, timed=timed) == (expected, True)


@pytest.mark.parametrize("query", [*QUERIES, *CLOCKS])
def test_the_owner_of_a_worker_hears_of_it(query: str) -> None:
    """Unfit, from events."""
    app = VirtualApp(S + query)
    executor = ColumnarExecutor(plan_of(S + query), start_ms=0)
    app.send("S", ["a", LARGEST], timestamp_ms=LARGEST)
    with pytest.raises(Unfit):
        executor.run_slice(app.log)


@pytest.mark.parametrize("far", [LARGEST, -LARGEST, REACH_MS])
def test_and_of_a_state_that_has_such_a_time(far: int) -> None:
    """Whatever it is that is too large: an event's time, or when a timer is due."""
    text = S + QUERIES[0]
    app = VirtualApp(text)
    app.send("S", ["a", 5])
    app.send("S", ["b", far], timestamp_ms=far)
    with pytest.raises(Unfit):
        ColumnarExecutor(plan_of(text), start_ms=0).restore(app.snapshot())


def test_the_clock_alone_goes_too_far() -> None:
    """Without an event."""
    app = VirtualApp(S + QUERIES[0], executor="columnar")
    app.send("S", ["a", 1])
    app.advance(LARGEST)
    assert [event.data for event in app.query("q").expired] == [("a",)]
    running: Any = app._executor
    assert not running.is_columnar


LONG = [
    WINDOW.format(f"time({LARGEST}L)"),
    WINDOW.format(f"timeBatch(1 sec, {LARGEST}L)"),
    WINDOW.format(f"session({LARGEST}L, k)"),
    WINDOW.format(f"externalTime(t, {LARGEST}L)"),
    PATTERN.format("every e=S -> not R for 292000000 years"),
    PATTERN.format("every e=S -> f=R within 292000000 years"),
    JOIN.format(f"time({LARGEST}L)"),
    "from S select k output all every 292000000 years insert into O;",
    f"define window W (k string) time({LARGEST}L); from S select k insert into W; "
    "@info(name='q') from W select k insert all events into O;",
]


@pytest.mark.parametrize("query", LONG)
def test_periods_that_never_end(query: str) -> None:
    """The reference's window takes them, or the reference the whole query."""
    text = S + query
    sent = around(1000)
    expected, _ = seen(text, "reference", sent, timed=True)
    assert seen(text, "columnar", sent, timed=True)[0] == expected
    assert seen(text, "columnar", sent, timed=True, restored=True)[0] == expected
    assert [each.rule for each in lowering_of(plan_of(text)).choices] in (
        [None],
        ["window of the reference, the rest in columns"],
        ["filter, project, running aggregates", "reads a named window"],
    )


@pytest.mark.parametrize("executor", ["reference", "columnar"])
def test_the_end_of_the_last_period_is_a_long(executor: str) -> None:
    """It stands in place of the attribute and goes round, as a sum of longs does."""
    query = WINDOW.format("externalTimeBatch(t, 1 sec, 0, 2 sec, true)")
    app = VirtualApp(S + query.replace("select k", "select t, t + 1 as u"), executor=executor)
    app.send("S", ["a", LARGEST - 5])
    app.advance(5_000)
    ((end, more),) = [event.data for event in app.query("q").current]
    assert end == (LARGEST // 1000 + 1) * 1000 - 2**64
    assert more == end + 1
