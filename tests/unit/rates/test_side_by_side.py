"""Every output rate in columns brings what the reference brings, whole, cut and restored."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep.plan import PartitionNode, plan_of
from lockstep.rates.by_number.columns import AllByNumber, FirstByNumber
from lockstep.rates.by_time.columns import FirstByTime, LastByTime
from lockstep.rates.columns import limiter_of
from lockstep.rates.instances import AllOfInstances, LastOfInstances
from lockstep.rates.snapshot.columns import LastRows
from lockstep.streams.rule import RUNNING
from tests.unit.side_by_side import TICK, Step, played, reasons

S = "define stream S (s string, i int); "
QUERY = "from S select s, sum(i) as t {} output {} insert into O;"
KEYED = "partition with (s of S) begin " + QUERY + " end;"
STEPS: list[Step] = [
    (100, "S", [["a", 1], ["b", 2], ["a", 3]]),
    (600, "S", [["b", 4]]),
    (1000, "S", [["c", None], ["a", 6]]),
    (1700, TICK, []),
    (2100, "S", [["a", 7], ["c", 8], ["b", 9], ["a", 10]]),
    (4000, TICK, []),
]


@pytest.mark.parametrize("group", ["", "group by s"])
@pytest.mark.parametrize("kind", ["all", "first", "last", "snapshot"])
@pytest.mark.parametrize("every", ["2 events", "1 sec"])
def test_outside_partitions(kind: str, every: str, group: str) -> None:
    """By number and by time, of all and by group."""
    if kind == "snapshot" and every != "1 sec":
        return
    brought = played(S + QUERY.format(group, f"{kind} every {every}"), *STEPS, rule=RUNNING.name)
    assert brought


@pytest.mark.parametrize("kind", ["all", "first", "last"])
def test_each_instance_counts_for_itself(kind: str) -> None:
    """Two events of one key do not make the other's first leave."""
    brought = played(S + KEYED.format("", f"{kind} every 2 events"), *STEPS, rule=RUNNING.name)
    assert {row[0] for chunk in brought for row in chunk} == {"a", "b", "c"}


@pytest.mark.parametrize(
    ("rate", "keyed", "made"),
    [
        ("all every 2 events", False, AllByNumber),
        ("all every 2 events", True, AllOfInstances),
        ("last every 2 events", True, LastOfInstances),
        ("first every 2 events", True, FirstByNumber),
        ("first every 1 sec", True, FirstByTime),
        ("last every 1 sec", False, LastByTime),
        ("snapshot every 1 sec", False, LastRows),
    ],
)
def test_the_limiter_of_a_query(rate: str, keyed: bool, made: type[Any]) -> None:
    """Each kind has its own; in a partition those that keep instances apart."""
    (node,) = plan_of(S + (KEYED if keyed else QUERY).format("", rate)).nodes
    query = (node.queries[0] if isinstance(node, PartitionNode) else node).query
    assert type(limiter_of(query, 0, is_siddhi_5_1=False, by_realm=keyed)) is made


def test_no_rate() -> None:
    """No limiter."""
    (node,) = plan_of(S + "from S select s insert into O;").nodes
    assert limiter_of(node.query, 0, is_siddhi_5_1=False) is None  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (KEYED.format("", "last every 1 sec"), "by time in a partition"),
    ],
)
def test_what_has_no_columnar_form_says_why(text: str, reason: str) -> None:
    """And stays on the reference."""
    assert reason in reasons(S + text)[0]
