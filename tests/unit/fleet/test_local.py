"""All units of an app as one executor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from lockstep.events import EventsRecord, InputEvent, LogEntry, WriteRecord
from lockstep.execute import made as entries
from lockstep.execute.columnar import ColumnarExecutor
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.fleet.local import FleetExecutor
from lockstep.operators.errors import SnapshotError
from lockstep.plan import AppPlan, plan_of
from lockstep.plan.fleet import Feed, FleetPlan, GroupPlan, fleet_of
from tests.unit.fleet.fleets import fleet


def made(partitions: int) -> FleetExecutor:
    """The fleet on the reference."""
    return FleetExecutor(fleet(partitions), lambda plan: ReferenceExecutor(plan))


def sent(position: int, *keys: str) -> LogEntry:
    """Events of these keys, each sent by itself."""
    chunks = tuple((InputEvent(position, (key, 0)),) for key in keys)
    return LogEntry(position, EventsRecord("S", position, chunks))


def values(rows: Sequence[Any]) -> list[tuple[int, int, Any]]:
    """(position, ordinal, values)."""
    return [(row.id.position, row.id.ordinal, row.data) for row in rows]


def test_rows_have_one_numbering() -> None:
    """Of the whole app, in the order in which one node brings them, and no channel's among them."""
    executor = made(3)
    found = executor.run_slice([sent(1, "1", "b", "1"), sent(2, "b")])
    assert values(found.rows) == [
        (1, 0, ("1", 1)),
        (1, 1, ("b", 2)),
        (1, 2, ("1", 4)),
        (2, 0, ("b", 6)),
    ]
    assert (found.position, executor.position) == (2, 2)


@pytest.mark.parametrize("other", [1, 2, 5])
def test_it_goes_on_in_another_number_of_partitions(other: int) -> None:
    """From a snapshot; counts go on where they were."""
    executor = made(3)
    executor.run_slice([sent(1, "1", "b", "c", "1")])
    rescaled = made(other)
    rescaled.restore(executor.snapshot())
    found = rescaled.run_slice([sent(2, "1", "b", "x")])
    assert [row.data for row in found.rows] == [("1", 8), ("b", 10), ("x", 11)]


def test_on_demand_queries_go_where_the_table_is() -> None:
    """Those that read and those that write; a write that nobody understands has a problem."""
    executor = made(2)
    executor.run_slice([sent(1, "1", "b")])
    writes = [
        LogEntry(2, WriteRecord("delete T on T.k == 'b'", "one", 2)),
        LogEntry(3, WriteRecord("delete U on U.k == 'b'", "two", 3)),
    ]
    done, refused = executor.run_slice(writes).writes
    assert (done.rows_changed, done.problem, refused.rows_changed) == (1, None, 0)
    assert refused.problem is not None
    assert executor.on_demand("from T select k, n") == [("1", 1)]


def test_a_snapshot_of_something_else_is_refused() -> None:
    """Of a single app, and of other groups."""
    single: AppPlan = fleet(1).app
    with pytest.raises(SnapshotError, match="no state of a fleet"):
        made(2).restore(ReferenceExecutor(single).snapshot())


def test_a_write_comes_behind_the_rows_of_its_position() -> None:
    """Time passes in front of a write: what timers of another group bring is there when it is
    applied, in columns, too."""
    text = "define stream S (k string, v int);\n"
    x, table = "define stream X (k string);\n", "define table T (k string);\n"
    late = "from S#window.time(1 sec) select k insert expired events into X;\n"
    kept = "from X select k insert into T;\nfrom X select k insert into O;\n"
    feeds = (Feed("S", True, ()),), (Feed("X", True, ("late",)),)
    late_group = GroupPlan("late", 1, text + f"@channel {x}" + late, feeds[0], ("X",), (), (), ())
    kept_group = GroupPlan("kept", 1, x + table + kept, feeds[1], (), ("O",), (), ())
    plan = plan_of(text + x + table + late + kept)
    log = [sent(1, "a"), LogEntry(2, WriteRecord("delete T on T.k == 'a'", "one", 5000))]
    for make in (ReferenceExecutor, ColumnarExecutor):
        executor = FleetExecutor(FleetPlan(plan, 1, (late_group, kept_group)), lambda p: make(p))  # noqa: B023
        found = executor.run_slice(log)
        assert [each.rows_changed for each in found.writes] == [1]
        assert values(found.rows) == [(2, 0, ("a",))]


@pytest.mark.parametrize("clock", ["", "@app:playback "])
def test_units_of_one_process_write_no_bytes_for_each_other(
    clock: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a unit folds was made of columns and is read as columns."""
    text = (
        f"{clock}define stream S (k string, v int); partition with (k of S) begin"
        " from S#window.length(2) select k, sum(v) as t insert into Out; end;"
    )
    plan = plan_of(text)
    executor = FleetExecutor(fleet_of(plan, 3), ColumnarExecutor)
    executor.run_slice([_sent(1)])  # the first entry tells the clock
    monkeypatch.setattr(entries, "encode_bundle", pytest.fail)
    monkeypatch.setattr(entries, "encode_record", pytest.fail)
    whole = ReferenceExecutor(plan)
    whole.run_slice([_sent(1)])
    for log in ([_sent(2), _sent(3)], [_sent(4)]):  # together, and one by one
        assert sorted(row.data for row in executor.run_slice(log).rows) == sorted(
            row.data for row in whole.run_slice(log).rows
        )


def _sent(position: int) -> LogEntry:
    """Events of many keys, each sent by itself with its time."""
    chunks = tuple((InputEvent(1_000 * position + n, (f"key{n % 7}", n)),) for n in range(20))
    return LogEntry(position, EventsRecord("S", 1_000 * position, chunks, has_timestamps=True))
