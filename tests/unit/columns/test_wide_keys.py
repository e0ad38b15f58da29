"""Keys of many attributes: more combinations than a number can tell apart."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep.aggregations.join_rule import AGGREGATION_JOIN
from lockstep.joins.rule import WINDOW_JOINS
from lockstep.streams.rule import RUNNING, SLIDING_WINDOWS
from lockstep.tables.rule import TABLE_JOIN
from tests.unit.side_by_side import TICK, Step, played

WIDTH, VALUES = 8, 300
NAMES = [f"k{i}" for i in range(WIDTH)]
COLUMNS = ", ".join(f"{name} {'int' if i % 2 else 'string'}" for i, name in enumerate(NAMES))
KEY = ", ".join(NAMES)
STREAMS = f"define stream S ({COLUMNS}, v int); define stream R ({COLUMNS}, v int); "


def equal(left: str, right: str) -> str:
    """All attributes of the key are equal."""
    return " and ".join(f"{left}.{name} == {right}.{name}" for name in NAMES)


def rows(values: range, plus: int = 0) -> list[list[Any]]:
    """An event per value, which is in all attributes of its key."""
    return [[*(n if i % 2 else f"x{n}" for i in range(WIDTH)), n + plus] for n in values]


ALL = range(VALUES)
STEPS: list[Step] = [
    (100, "S", rows(ALL)),
    (200, "R", rows(ALL[::-1], 1000)),
    (300, "S", rows(ALL[::-1])),
    *((400 + n, "S", rows(ALL[n : n + 1])) for n in range(3)),
    *((500 + n, "R", rows(ALL[n : n + 1])) for n in range(3)),
    (1_500, TICK, []),
    (2_500, "R", rows(ALL)),
]
GROUPED = f"from S#window.length(400) select k0, count() as n group by {KEY} insert into O;"
JOINED = (
    "from S#window.length(400) as l join R#window.length(400) as r on"
    f" {equal('l', 'r')} select l.k0 as a, r.k0 as b insert into O;"
)
LOOKED_UP = (
    f"@PrimaryKey({', '.join(map(repr, NAMES))}) define table T ({COLUMNS}, v int); "
    "from S update or insert into T on "
    f"{' and '.join(f'T.{name} == {name}' for name in NAMES)}; from R join T on {equal('T', 'R')}"
    " select R.k0 as a, T.k0 as b, T.v as v insert into O;"
)
TOTALS = (
    "define aggregation A from S select k0, sum(v) as total, count() as n"
    f" group by {KEY} aggregate every sec ... min; from R join A on A.k0 == R.k0"
    " within 0L, 1000000L per 'min' select R.k0 as a, A.k0 as b, A.n as n insert into O;"
)
SHOWN = f"from S#window.length(400) select {KEY} output snapshot every 1 sec insert into O;"


@pytest.mark.parametrize(
    ("queries", "rule"),
    [
        (GROUPED, SLIDING_WINDOWS.name),
        (GROUPED.replace("#window.length(400)", ""), RUNNING.name),
        (JOINED, WINDOW_JOINS.name),
        (LOOKED_UP, TABLE_JOIN.name),
        (TOTALS, AGGREGATION_JOIN.name),
        (SHOWN, SLIDING_WINDOWS.name),
    ],
)
def test_no_key_is_taken_for_another(queries: str, rule: str) -> None:
    """Together, one by one, as one slice and over snapshots."""
    brought = [row for chunk in played(STREAMS + queries, *STEPS, rule=rule) for row in chunk]
    assert len(brought) >= VALUES
    if "as b" in queries:
        assert all(row[0] == row[1] for row in brought)


def test_in_the_instances_of_a_partition() -> None:
    """A group's key has the instance in front. There are seven: hundreds take seconds."""
    text = f"{STREAMS}partition with (k1 % 7 of S) begin {GROUPED} end;"
    brought = played(text, *STEPS, rule=SLIDING_WINDOWS.name)
    assert max(row[1] for chunk in brought for row in chunk) == 3
