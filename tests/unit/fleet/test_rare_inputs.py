"""What seldom comes in, and apps that hardly anybody writes: as fleets they bring what one node
does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from lockstep.events import EventsRecord, InputEvent, LogEntry
from lockstep.execute.contract import SliceResult
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.fleet import FleetExecutor
from lockstep.plan import plan_of
from lockstep.plan.fleet import fleet_of

STREAMS = "define stream S (k string, v int); define stream R (k string); "
HOT = (
    "@OnError(action='STREAM') @sink(type='log', on.error='STREAM')"
    " define stream Hot (k string, v int);"
    "from !Hot select k, v, _error as why insert into Failed;"
)

Sent = tuple[str, tuple[Any, ...]]
"""A stream and an event of it."""

CASES: dict[str, tuple[str, Sequence[Sent]]] = {
    "a sink's stream that a cut group writes": (
        HOT + "from S select k, v group by k insert into Hot;",
        [("S", ("a", 1)), ("!Hot", ("a", 1, "no"))],
    ),
    "a sink's stream of the whole group": (
        HOT + "from S#window.length(2) select k, v insert into Hot;"
        "from S select k, sum(v) as t group by k insert into T;",
        [("S", ("a", 1)), ("!Hot", ("a", 1, "no"))],
    ),
    "a sink's stream where nothing is cut": (
        HOT + "from S#window.length(2) select k, v insert into Hot;",
        [("S", ("a", 1)), ("!Hot", ("a", 1, "no"))],
    ),
    "a plain query beside a key that a script says": (
        "define function f[python] return int { return data[0] % 2 };"
        "partition with (f(v) of S) begin from S select k, sum(v) as t insert into O; end;"
        "from S[v > 4] select k insert into P;",
        [("S", ("a", 4)), ("S", ("b", 5)), ("S", ("a", 6))],
    ),
    "a partition whose keys nobody reads": (
        "partition with (k of R) begin from S select k insert into O; end;"
        "from S select k, sum(v) as t group by k insert into T;",
        [("R", ("a",)), ("S", ("a", 1))],
    ),
}


def _log(sent: Sequence[Sent], ids: Sequence[str | None]) -> list[LogEntry]:
    return [
        LogEntry(
            position,
            EventsRecord(
                stream, position, ((InputEvent(position, data, id_),),), has_timestamps=False
            ),
        )
        for position, ((stream, data), id_) in enumerate(zip(sent, ids, strict=True), start=1)
    ]


def _rows(result: SliceResult) -> list[str]:
    return sorted(repr((row.id.position, row.stream, row.data)) for row in result.rows)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("partitions", [1, 2, 3])
def test_a_cut_app_brings_what_one_node_brings(name: str, partitions: int) -> None:
    """All rows, at their positions."""
    text, sent = CASES[name]
    plan, log = plan_of(STREAMS + text), _log(sent, [None] * len(sent))
    expected = _rows(ReferenceExecutor(plan).run_slice(log))
    assert expected
    fleet = FleetExecutor(fleet_of(plan, partitions), ReferenceExecutor)
    assert _rows(fleet.run_slice(log)) == expected


@pytest.mark.parametrize("partitions", [2, 3, 5])
def test_an_event_that_is_sent_again_counts_once(partitions: int) -> None:
    """Its turn is another one by then, and by its id it goes where it is known."""
    text = "@dist(execGroup='g', parallel='2') from S[v > 0] select k, v insert into O;"
    plan = plan_of(STREAMS + text)
    ids = ["a", "b", None, "a", "a", None, "b"]
    log = _log([("S", (str(id_), 1)) for id_ in ids], ids)
    fleet = fleet_of(plan, partitions)
    rows = FleetExecutor(fleet, ReferenceExecutor).run_slice(log).rows
    assert sorted(row.data[0] for row in rows) == ["None", "None", "a", "b"]
    assert _rows(ReferenceExecutor(plan).run_slice(log)) == sorted(
        repr((row.id.position, row.stream, row.data)) for row in rows
    )
