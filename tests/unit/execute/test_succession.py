"""A snapshot under another text: what goes on brings what it would have brought, the rest
starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from lockstep.events import EventsRecord, InputEvent, LogEntry, TickRecord
from lockstep.execute.local import open_local
from lockstep.execute.succession import Succeeded, succeed
from lockstep.operators.errors import SnapshotError
from lockstep.plan import build, plan_of
from lockstep.siddhiql import check

S = "define stream S (k string, v int); "
SUM = "@info(name='sum') from S#window.length(3) select k, sum(v) as n insert into Sums;"


def log(*values: int, behind: int = 0, every_ms: int = 100) -> list[LogEntry]:
    """One event a record, at every so many milliseconds."""
    return [
        LogEntry(at, EventsRecord("S", at * every_ms, ((InputEvent(at * every_ms, ("a", v)),),)))
        for at, v in enumerate(values, behind + 1)
    ]


def change(
    old: str, new: str, first: Sequence[LogEntry], then: Sequence[LogEntry], *, columnar: bool
) -> tuple[Succeeded, list[tuple[str, tuple[Any, ...]]]]:
    """(what was made of the state, the rows behind the change)."""
    before = open_local(plan_of(S + old), columnar=columnar)
    before.run_slice(first)
    found = succeed(build(check(S + old)), before.snapshot(), build(check(S + new)))
    after = open_local(plan_of(S + new), columnar=columnar)
    after.restore(found.snapshot)
    return found, [(row.stream, row.data) for row in after.run_slice(then).rows]


both = pytest.mark.parametrize("columnar", [False, True], ids=["reference", "columns"])


@both
def test_a_query_beside_it_costs_no_state(columnar: bool) -> None:
    """The sum goes on, the new count begins at one."""
    count = "@info(name='count') from S select count() as n insert into Counts;"
    found, rows = change(SUM, count + SUM, log(1, 2), log(3, behind=2), columnar=columnar)
    assert rows == [("Counts", (1,)), ("Sums", ("a", 6))]
    assert found.lost == ()


def test_a_limit_of_tasks_costs_no_state() -> None:
    """An operator may set it on an app that runs."""
    before = open_local(plan_of(S + SUM), columnar=True)
    before.run_slice(log(1, 2))
    limited = f"@app:tasks('1') {S}{SUM}"
    found = succeed(build(check(S + SUM)), before.snapshot(), build(check(limited)))
    after = open_local(plan_of(limited), columnar=True)
    after.restore(found.snapshot)
    assert [row.data for row in after.run_slice(log(3, behind=2)).rows] == [("a", 6)]
    assert found.lost == ()


@both
def test_what_is_lost_is_said_and_nothing_else(columnar: bool) -> None:
    """A stateless query that changed has lost nothing; a window that changed has."""
    plain = "@info(name='plain') from S select k insert into Plain;"
    new = SUM.replace("length(3)", "length(5)") + plain.replace("select k", "select v")
    found, rows = change(SUM + plain, new, log(1, 2), log(3, behind=2), columnar=columnar)
    assert rows == [("Sums", ("a", 3)), ("Plain", (3,))]
    assert found.lost == ("query 'sum' (changed: its windows, functions or pattern)",)


@both
def test_timers_go_on_and_new_ones_start_at_the_change(columnar: bool) -> None:
    """A batch of two seconds ends when it would have ended; a new one is counted from the change
    on. Triggers at the start stay silent: the app does not start."""
    batch = "@info(name='{0}') from S#window.timeBatch(2 sec) select count() as n insert into {0};"
    start = "define trigger Go at 'start'; from Go select triggered_time insert into Started;"
    old, new = batch.format("A"), start + batch.format("B") + batch.format("A")
    ticks = [LogEntry(11 + at, TickRecord(2_000 + at * 500)) for at in range(6)]
    found, rows = change(
        old, new, log(*range(8), every_ms=200), log(9, 9, behind=8, every_ms=200) + ticks,
        columnar=columnar,
    )  # fmt: skip
    assert rows == [("A", (10,)), ("B", (2,))]  # in the text B stands in front
    assert found.lost == ()


@both
def test_an_app_that_nothing_came_to_has_lost_nothing(columnar: bool) -> None:
    """It begins with the first event, in whatever text."""
    found, rows = change(SUM, SUM.replace("3", "5"), [], log(4), columnar=columnar)
    assert rows == [("Sums", ("a", 4))]
    assert found.lost == ()


@both
def test_a_new_sum_over_a_named_window_takes_off_nothing_that_it_has_not_added(
    columnar: bool,
) -> None:
    """The window begins with it."""
    window = "define window W (k string, v int) length(2); from S insert into W;"
    total = "@info(name='sum') from W select sum(v) as n insert all events into Sums;"
    found, rows = change(
        window, window + total, log(1, 2), log(4, 8, 16, behind=2), columnar=columnar
    )
    assert [data for _, data in rows] == [(4,), (12,), (24,)]
    assert found.lost == ("window 'W' (it goes with query 'sum')",)


def test_times_of_playback_are_others() -> None:
    """Nothing can go on."""
    old = open_local(plan_of(S + SUM))
    old.run_slice(log(1))
    with pytest.raises(SnapshotError, match="playback"):
        succeed(build(check(S + SUM)), old.snapshot(), build(check("@app:playback " + S + SUM)))


def test_the_same_state_is_the_same_bytes() -> None:
    """No large state is read and written for a changed condition."""
    old = open_local(plan_of(S + SUM))
    old.run_slice(log(1, 2))
    snapshot = old.snapshot()
    new = S + SUM.replace("into Sums", "into Others")
    assert succeed(build(check(S + SUM)), snapshot, build(check(new))).snapshot is snapshot
