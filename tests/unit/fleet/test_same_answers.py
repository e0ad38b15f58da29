"""Apps that the planner cuts, and logs on which a cut may be seen: what one node brings, in any
number of partitions. Random ones are in tests/property/test_planned_fleets.py."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from lockstep.events import EventsRecord, InputEvent, LogEntry
from lockstep.execute.encoding import encoded
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.fleet import FleetExecutor
from lockstep.fleet.indexing import KeyIndex
from lockstep.plan import AppPlan, plan_of
from lockstep.plan.fleet import fleet_of

STREAMS = "define stream S (s string, i int, v long); define stream R (s string, i int, v long); "
OLD = "@app:playback "
JOIN = (
    "from S#window.time(1 sec) as a join R#window.time(1 sec) as b on a.i == b.i"
    " select a.s as s, a.i as i, b.v as v insert into Mid; "
)
GROUPED = "from Mid select s, i, sum(v) as v group by i insert into Out;"
COUNTED = (
    "partition with (i of Mid) begin from Mid#window.length(2) select s, i, count() as v"
    " insert into Out; end;"
)
WITHIN = (
    "from every e1=Mid[v > 1] -> e2=Mid[s == e1.s and v > 0] within 300 milliseconds"
    " select e1.s as s, e1.i as i, e2.v as v insert into Out;"
)

Sent = tuple[str, Sequence[Sequence[tuple[int, str | None, int | None, int]]]]
"""A stream, and chunks of events: time, s, i, v."""

CASES: dict[str, tuple[str, Sequence[Sent]]] = {
    "a join's rows of one send are added up together": (
        JOIN + GROUPED,
        [("S", [[(1, "a", 1, 1), (1, "b", 2, 1)]]), ("R", [[(2, "", k, k) for k in (1, 3, 1, 2)]])],
    ),
    "a join's rows are neighbours where other events brought none": (
        JOIN + COUNTED,
        [("S", [[(1, "a", 1, 1)]]), ("R", [[(2, "", k, 5) for k in (1, None, 1)]])],
    ),
    "events without a key are no neighbours": (
        "from every e1=R[v > 1] -> e2=S[i == e1.i and v > 0] select e1.s as s insert into Other; "
        "partition with (i of S) begin from S select s, i, v insert into Mid; end; "
        "from Mid select s, i, count() as v insert into Out;",
        [("S", [[(1, "c", 2, 5), (1, "b", None, 1), (1, "a", 2, 3)]])],
    ),
    "a plain query writes a stream beside what is cut": (
        "partition with (s of R) begin from R select s, i, v * 3 as v insert into Mid; end; "
        "from S[v > 0] select s, i, v insert into Mid; "
        "partition with (s of Mid) begin from Mid select s, i, count() as v insert into Other;"
        " end; from Mid#window.length(3) select s, i, count() as v insert into Out;",
        [("S", [[(1, "a", 1, 1)]]), ("R", [[(2, "b", 1, 1)]])],
    ),
    "a partition cuts a send for who reads it": (
        "from S#window.time(150) as a join S#window.time(100) as b on a.i == b.i"
        " select a.s as s, a.i as i, b.v as v insert into Other; "
        "partition with (i of S) begin from S select s, i, v insert into Mid; end; " + GROUPED,
        [("S", [[(1, "d", 0, 4), (1, "c", 1, 5), (1, "c", 0, 3)]])],
    ),
    "rows of one send go into a partition by another key": (
        "from S[v > 1]#window.session(150 milliseconds, s) select s, i, count() as v group by s, i"
        " insert all events into Mid; "
        "partition with (s of Mid) begin from Mid select s, sum(v) as v insert into Out; end;",
        [("S", [[(1, "c", 0, 3), (1, "d", 0, 7), (1, "c", 3, 3)]])],
    ),
    "rows that a batch held back come late": (
        "partition with (s of S) begin from S#window.lengthBatch(2) select s, i, v"
        " insert into Mid; end; " + WITHIN,
        [
            ("S", [[(3, "a", 1, 5)], [(4, "a", 1, 5)], [(5, "a", 1, 5)]]),
            ("S", [[(900, "b", 1, 5)], [(901, "b", 1, 5)], [(902, "a", 1, 5)]]),
        ],
    ),
    "rows by group are not in the order of their times": (
        OLD + "from S select s, i, max(v) as v group by s having v > 1 insert into Mid; " + WITHIN,
        [
            ("S", [[(515, "d", 0, 4)]]),
            ("S", [[(566, "b", 1, 9), (616, "d", 0, 3), (999, "b", 1, 4)]]),
        ],
    ),
    "a late event finds its time over": (
        OLD + "from every e1=R[v > 1] -> not R[s == e1.s] for 100 milliseconds"
        " select e1.s as s, e1.i as i, e1.v as v insert into Out;",
        [
            ("S", [[(3581, "b", 2, 3)]]),
            ("R", [[(3481, "c", 3, 7)], [(3681, "a", 0, 5), (3481, "c", 0, -5)]]),
        ],
    ),
}


def _log(plan: AppPlan, sent: Sequence[Sent]) -> list[LogEntry]:
    has_times = plan.checked.is_playback
    return [
        LogEntry(
            position,
            EventsRecord(
                stream,
                chunks[-1][-1][0],
                tuple(
                    tuple(InputEvent(at, tuple(data)) for at, *data in chunk) for chunk in chunks
                ),
                has_timestamps=has_times,
            ),
        )
        for position, (stream, chunks) in enumerate(sent, start=1)
    ]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("partitions", [1, 2, 3])
def test_a_cut_app_brings_what_one_node_brings(name: str, partitions: int) -> None:
    """Rows of `Out`, in their order within a key, at their positions and times."""
    text, sent = CASES[name]
    plan = plan_of(f"{OLD if text.startswith(OLD) else ''}{STREAMS}{text.removeprefix(OLD)}")
    log = _log(plan, sent)
    whole = ReferenceExecutor(plan).run_slice(log)
    fleet = FleetExecutor(fleet_of(plan, partitions), ReferenceExecutor)
    index = KeyIndex(list({unit.number: unit.plan for unit in fleet.units}.values())).of
    rows = fleet.run_encoded(encoded(log, plan.checked.streams, index)).rows
    found, expected = (
        sorted(
            repr((row.id.position, row.timestamp_ms, row.data))
            for row in each
            if row.stream == "Out"
        )
        for each in (rows, whole.rows)
    )
    assert found == expected
