"""The reference executor: identities, repeated events, faults, snapshots, any cut of the log."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockstep.events import (
    Event,
    EventsRecord,
    InputEvent,
    LogEntry,
    Operation,
    OutputRow,
    TickRecord,
)
from lockstep.events.bundles import STAYS, Bundle
from lockstep.events.codec import EncodedEntry, EventColumns, encode_bundle
from lockstep.execute.contract import SliceResult
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.operators import state
from lockstep.operators.errors import SnapshotError
from lockstep.plan import plan_of

PASS = "define stream S (s string, v int); from S select s, v insert into O;"
BUSY = """
define stream S (s string, v int);
define stream R (s string, v int);
define table T (s string, total long);
define window W (s string, v int) timeBatch(700 millisec);
define trigger Tick at every 400 millisec;
from S#window.time(1 sec) select s, sum(v) as t, count() as n group by s insert all events into A;
from S#window.lengthBatch(3) select s, avg(v) as m insert into B;
from S insert into W;
from W select s, v insert expired events into C;
from S select s, sum(v) as total group by s update or insert into T on T.s == s;
from R join T on R.s == T.s select R.v, T.total insert into D;
from every e1=S -> e2=R[v > e1.v] within 2 sec select e1.v as a, e2.v as b insert into E;
from S select s, v output last every 500 millisec insert into F;
from Tick select triggered_time insert into G;
from S#window.session(600 millisec, s) select s, v insert expired events into I;
partition with (s of S) begin
  from S#window.length(2) select s, sum(v) as t insert into #M;
  from #M[t > 3] select s, t insert into H;
end;
"""


def record(
    stream: str, clock_ms: int, *chunks: list[tuple[Any, ...]], ids: bool = False
) -> EventsRecord:
    """A record of chunks of rows, all at its clock; `ids` gives each event its values as id."""
    made = tuple(
        tuple(InputEvent(clock_ms, row, str(row) if ids else None) for row in chunk)
        for chunk in chunks
    )
    return EventsRecord(stream, clock_ms, made)


def log(*records: EventsRecord | TickRecord) -> list[LogEntry]:
    """The records at positions 1, 2, …"""
    return [LogEntry(position, item) for position, item in enumerate(records, start=1)]


def identity(row: OutputRow) -> tuple[int, int]:
    """(position, ordinal)."""
    return row.id.position, row.id.ordinal


def test_outputs_have_identities() -> None:
    """Position of the record that caused it, ordinal counting the rows of that position."""
    executor = ReferenceExecutor(plan_of(PASS))
    entries = log(record("S", 1, [("a", 1), ("b", 2)], [("c", 3)]), record("S", 2, [("d", 4)]))
    result = executor.run_slice(entries)
    assert [identity(row) for row in result.rows] == [(1, 0), (1, 1), (1, 2), (2, 0)]
    assert [row.data for row in result.rows] == [("a", 1), ("b", 2), ("c", 3), ("d", 4)]
    assert {"O"} == {row.stream for row in result.rows}
    assert 2 == result.position == executor.position


def test_old_positions_are_refused() -> None:
    """A log entry is folded once."""
    executor = ReferenceExecutor(plan_of(PASS))
    executor.run_slice(log(TickRecord(1)))
    with pytest.raises(ValueError, match="position 1"):
        executor.run_slice(log(TickRecord(2)))


def test_repeated_events_are_dropped() -> None:
    """An event id counts once per stream; forgotten ones count again."""
    executor = ReferenceExecutor(plan_of(PASS), dedup_ids_max=2)
    rows = [("a", 1), ("b", 2), ("a", 1), ("c", 3), ("a", 1)]
    entries = log(*(record("S", 1, [row], ids=True) for row in rows))
    result = executor.run_slice(entries)
    assert [row.data[0] for row in result.rows] == ["a", "b", "c", "a"]


def test_seen_ids_are_part_of_the_state() -> None:
    """A restored replica drops what the other one had seen."""
    executor = ReferenceExecutor(plan_of(PASS))
    entries = log(record("S", 1, [("a", 1)], ids=True), record("S", 2, [("a", 1)], ids=True))
    executor.run_slice(entries[:1])
    other = ReferenceExecutor(plan_of(PASS))
    other.restore(executor.snapshot())
    assert tuple(other.run_slice(entries[1:]).rows) == ()


def test_faults_name_stream_and_reason() -> None:
    """What a query cannot process becomes a fault at the record's position; the rest goes on."""
    text = "define stream S (s string, b bool); from S select and(b) as x insert into O;"
    executor = ReferenceExecutor(plan_of(text))
    result = executor.run_slice(log(record("S", 5, [("a", None)], [("b", True)])))
    (fault,) = result.faults
    assert (1, "S", (Event(5, ("a", None)),)) == (fault.position, fault.stream, fault.events)
    assert fault.reason
    assert [row.data for row in result.rows] == [(True,)]


def test_next_due_is_the_next_timer() -> None:
    """The owner learns when a tick is due."""
    text = (
        "define stream S (v int); from S#window.time(1 sec) select v insert expired events into O;"
    )
    executor = ReferenceExecutor(plan_of(text))
    assert executor.run_slice(log(record("S", 500, [(1,)]))).next_due_ms == 1500
    result = executor.run_slice([LogEntry(2, TickRecord(1500))])
    assert [row.timestamp_ms for row in result.rows] == [1500]
    assert result.next_due_ms is None


def test_playback_waits_for_events_not_for_ticks() -> None:
    """In a playback app a tick moves the wall clock only."""
    text = (
        "@app:playback define stream S (v int);"
        "from S#window.time(1 sec) select v insert expired events into O;"
    )
    executor = ReferenceExecutor(plan_of(text))
    first = EventsRecord("S", 0, ((InputEvent(500, (1,)),),), has_timestamps=True)
    last = EventsRecord("S", 9001, ((InputEvent(1500, (2,)),),), has_timestamps=True)
    assert executor.run_slice(log(first, TickRecord(9000))).rows == ()
    assert len(executor.run_slice([LogEntry(3, last)]).rows) == 1


def test_stored_tables_are_outputs() -> None:
    """Changes of a table with a store leave as upserts and deletes."""
    text = (
        "define stream S (k string, v int); define stream X (k string);"
        "@PrimaryKey('k') @store(type='rdbms') define table T (k string, v int);"
        "from S update or insert into T on T.k == k; from X delete T on T.k == k;"
    )
    executor = ReferenceExecutor(plan_of(text))
    entries = log(record("S", 1, [("a", 1)]), record("S", 2, [("a", 2)]), record("X", 3, [("a",)]))
    rows = executor.run_slice(entries).rows
    assert [(row.operation, row.data) for row in rows] == [
        (Operation.UPSERT, ("a", 1)),
        (Operation.UPSERT, ("a", 2)),
        (Operation.DELETE, ("a", 2)),
    ]


def test_snapshots_of_other_apps_are_refused() -> None:
    """State only fits the app that made it."""
    snapshot = ReferenceExecutor(plan_of(BUSY)).snapshot()
    with pytest.raises(SnapshotError, match="does not have"):
        ReferenceExecutor(plan_of(PASS)).restore(snapshot)
    with pytest.raises(SnapshotError, match="fit"):
        ReferenceExecutor(plan_of(BUSY)).restore(ReferenceExecutor(plan_of(PASS)).snapshot())
    with pytest.raises(SnapshotError):
        ReferenceExecutor(plan_of(PASS)).restore(state.seal(1, ["something else"]))


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["S", "R", "tick"]),
        st.integers(0, 900),
        st.lists(
            st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9)), min_size=1, max_size=3),
            min_size=1,
            max_size=2,
        ),
    ),
    min_size=1,
    max_size=25,
)


def entries_of(steps: list[Any]) -> list[LogEntry]:
    """A log whose clock moves on by each step's milliseconds."""
    clock_ms, records = 1_000, []
    for what, passed_ms, chunks in steps:
        clock_ms += passed_ms
        records.append(TickRecord(clock_ms) if what == "tick" else record(what, clock_ms, *chunks))
    return log(*records)


@settings(max_examples=60, deadline=None)
@given(STEPS, st.lists(st.integers(0, 25), max_size=4), st.integers(0, 25))
def test_any_cut_gives_the_same(steps: list[Any], cuts: list[int], restart: int) -> None:
    """However the log is sliced, and wherever the state moves to another executor, rows and
    identities are the same (design invariants 2 and 5)."""
    entries = entries_of(steps)
    whole = ReferenceExecutor(plan_of(BUSY)).run_slice(entries)
    executor = ReferenceExecutor(plan_of(BUSY))
    rows: list[OutputRow] = []
    bounds = sorted({0, len(entries), *(min(cut, len(entries)) for cut in cuts)})
    for start, end in pairwise(bounds):
        if start <= restart < end:
            snapshot = executor.snapshot()
            executor = ReferenceExecutor(plan_of(BUSY))
            executor.restore(snapshot)
            assert snapshot == executor.snapshot()
        rows += executor.run_slice(entries[start:end]).rows
    assert list(whole.rows) == rows


def test_a_state_that_does_not_fit_is_named() -> None:
    """Which part of the app it belongs to, so that who changed the text knows what to look at."""
    text = (
        "define stream S (a int);"
        " @info(name='q') from S#window.{} select sum(a) as s insert into T;"
    )
    snapshot = ReferenceExecutor(plan_of(text.format("length(5)"))).snapshot()
    changed = ReferenceExecutor(plan_of(text.format("lengthBatch(5)")))
    with pytest.raises(SnapshotError, match=r"the state of query/q/.*window does not fit"):
        changed.restore(snapshot)


CHANNEL = """
define stream S (s string, v int);
@channel define stream C (s string, v int);
from S#window.timeBatch(100) select s, v insert into C;
from S[v > 1] select s, v insert into C;
from C select s insert into O;
"""


def places(result: SliceResult, stream: str) -> list[tuple[int, ...]]:
    """(moment, clock, chunk) of each row of a stream."""
    (found,) = [each for each in result.columns if each.stream == stream]
    assert found.places is not None
    return [tuple(row) for row in np.array(found.places).T.tolist()]


def test_rows_of_a_channel_tell_what_brought_them() -> None:
    """Two rows of a timer in one chunk in front of the first delivery, then one of the third; a
    repeated event is a delivery, too. Rows of other streams bear nothing."""
    executor = ReferenceExecutor(plan_of(CHANNEL))
    executor.run_slice([LogEntry(1, record("S", 1000, [("a", 1)], [("b", 1)], ids=True))])
    again = record("S", 1150, [("a", 1)], [("c", 1)], [("d", 2), ("e", 0)], ids=True)
    result = executor.run_slice([LogEntry(2, again)])
    assert [row.data for row in result.rows if row.stream == "C"] == [("a", 1), ("b", 1), ("d", 2)]
    assert places(result, "C") == [(0, 1100, 0), (0, 1100, 0), (5, 1150, 1)]
    assert [each.places for each in result.columns if each.stream == "O"] == [None]
    quiet = executor.run_slice([LogEntry(3, TickRecord(1151))])
    assert (quiet.rows, quiet.columns) == ((), ())


def test_a_bundle_moves_the_clock_between_its_deliveries() -> None:
    """The timer fires between two of them and behind the last; an empty one moves the clock."""
    part = EventColumns(
        "S",
        0,
        False,
        pa.record_batch({"s": ["a", "b"], "v": pa.array([1, 2], pa.int32())}),
        np.array([1, 0, 1], np.int32),
        5,
    )
    clocks = np.array([1000, 1120, STAYS], np.int64)
    bundle = Bundle(1300, np.zeros(3, np.uint16), (part,), clocks)
    executor = ReferenceExecutor(plan_of(CHANNEL), start_ms=1000)
    result = executor.run_encoded([EncodedEntry(1, encode_bundle(bundle))])
    assert places(result, "C") == [(2, 1100, 0), (5, 1120, 1), (6, 1200, 2)]
    assert [row.data for row in result.rows if row.stream == "C"] == [("a", 1), ("b", 2), ("b", 2)]
