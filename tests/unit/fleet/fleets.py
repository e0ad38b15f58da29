"""A small app of two groups, cut by hand."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.events import EventsRecord, InputEvent
from lockstep.events.codec import EncodedEntry, encode_record
from lockstep.events.columns import EventColumns
from lockstep.fleet import Unit, units_of
from lockstep.plan import plan_of
from lockstep.plan.fleet import Feed, FleetPlan, GroupPlan, Routing, Together
from lockstep.siddhiql import ast

S = "define stream S (k string, v int);\n"
X = "define stream X (k string, n long);\n"
BY_KEY = "partition with (k of S) begin from S select k, count() as n insert into X; end;\n"
T = "define table T (k string, n long);\n"
OVER_ALL = "from X select k, n insert into T;\nfrom X select k, sum(n) as n insert into O;\n"


def fleet(
    partitions: int, *, head: str = "", together: Together = Together.RUNS, where: str | None = None
) -> FleetPlan:
    """Counts by key in so many partitions, then sums over all keys."""
    condition = None
    if where is not None:
        condition = ast.Compare(
            ast.CompareOperator.NOT_EQUAL,
            ast.Variable("k"),
            ast.Constant(
                where, plan_of(S + "from S select k insert into O;").schemas["S"].types[0]
            ),
        )
    feed = Feed("S", True, (), Routing.KEY, ast.Variable("k"), together, condition)
    return FleetPlan(
        plan_of(head + S + X + T + BY_KEY + OVER_ALL),
        partitions,
        (
            GroupPlan(
                "keys", partitions, head + S + f"@channel {X}" + BY_KEY, (feed,), ("X",), (), (), ()
            ),
            GroupPlan(
                "all", 1, head + X + T + OVER_ALL, (Feed("X", True, ("keys",)),), (), ("O",), (), ()
            ),
        ),
    )


def unit(partition: int, partitions: int, **options: object) -> Unit:
    """A partition of the first group."""
    return units_of(fleet(partitions, **options))[partition]  # type: ignore[arg-type]


def record(*chunks: Sequence[tuple[str | None, int]], clock_ms: int = 100) -> EventColumns:
    """Events of S in chunks: (key, timestamp); the values count the events."""
    counted = iter(range(1000))
    made = EventsRecord(
        "S",
        clock_ms,
        tuple(tuple(InputEvent(at, (k, next(counted))) for k, at in chunk) for chunk in chunks),
        has_timestamps=True,
    )
    schemas = plan_of(S + "from S select k insert into O;").schemas
    columns = EncodedEntry(1, encode_record(made, schemas)).columns()
    assert isinstance(columns, EventColumns)
    return columns
