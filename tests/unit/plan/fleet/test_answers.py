"""Cut apps bring what one node brings: rows that come in and go out, and neighbours of a send."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from lockstep.events import EventsRecord, InputEvent, LogEntry
from lockstep.execute.columnar import ColumnarExecutor
from lockstep.execute.contract import Executor
from lockstep.execute.encoding import encoded
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.fleet import FleetExecutor
from lockstep.fleet.indexing import KeyIndex
from lockstep.plan import AppPlan, plan_of
from lockstep.plan.fleet import fleet_of
from lockstep.testing import VirtualApp

SINK = "@sink(type='log') define stream S (s string, v int); "
SUM = "partition with (s of S) begin from S select s, sum(v) as v insert into O; end;"
TABLE = (
    "define table T (s string, v int); partition with (s of S) begin"
    " from S select s, v update or insert into T on T.s == s;"
    " from S join T on S.s == T.s select T.s as s, T.v as v insert into O; end;"
)
SENDS: Sequence[Sequence[tuple[str | None, int]]] = (
    (("a", 1), ("b", 2), ("a", 3), ("a", 5), (None, 4), ("c", 1)),
    (("b", 2), ("b", 3)),
)


def _rows(executor: Executor, log: Any) -> dict[str, list[tuple[object, ...]]]:
    """Of each stream and key in order, with their positions. An input that is given out has the
    order of the input, over all keys."""
    found: dict[str, list[tuple[object, ...]]] = {}
    for row in executor.run_encoded(log).rows:
        key = row.stream if row.stream == "S" else f"{row.stream} {row.data[0]}"
        found.setdefault(key, []).append((row.id.position, row.timestamp_ms, *row.data))
    return found


@pytest.mark.parametrize("make", [ReferenceExecutor, ColumnarExecutor])
@pytest.mark.parametrize("queries", [SUM, TABLE, "@dist(execGroup='g', parallel='2') " + SUM])
def test_an_input_with_a_sink_is_given_out_beside_what_counts_neighbours(
    make: Callable[[AppPlan], Executor], queries: str
) -> None:
    """All of it, each event once, also without a key."""
    plan = plan_of(SINK + queries)
    log = [
        LogEntry(
            position,
            EventsRecord("S", position, (tuple(InputEvent(position, one) for one in send),)),
        )
        for position, send in enumerate(SENDS, start=1)
    ]
    fleet = fleet_of(plan, 3)
    assert not fleet.is_single
    cut = FleetExecutor(fleet, make)
    index = KeyIndex(list({unit.number: unit.plan for unit in cut.units}.values())).of
    streams = plan.checked.streams
    expected = _rows(ReferenceExecutor(plan), encoded(log, streams))
    assert len(expected["S"]) == sum(map(len, SENDS))
    assert expected["O a"]
    assert _rows(cut, encoded(log, streams, index)) == expected


@pytest.mark.parametrize("executor", ["reference", "columnar"])
@pytest.mark.parametrize(
    ("function", "first", "none", "last"),
    [
        ("json:tokenize(t, '$.items[*]')", '{"items":[1]}', '{"items":[]}', '{"items":[2]}'),
        ("str:tokenize(t, ',')", "x", ",", "y"),
    ],
)
def test_neighbours_behind_a_tokenizer_are_those_of_one_node(
    executor: str, function: str, first: str, none: str, last: str
) -> None:
    """An event without a token does not stand between the others."""
    text = (
        f"define stream S (k string, t string); from S#{function} select k, t insert into M;"
        " partition with (k of M) begin from M select k, count() as n insert into O; end;"
    )
    found = []
    for parallel in (1, 3):
        with VirtualApp(text, executor=executor, parallel=parallel) as app:
            app.send_many("S", [["a", first], ["b", none], ["a", last]])
            found.append([event.data for event in app.stream("O")])
    assert found == [[("a", 2)], [("a", 2)]]
