"""An on-demand query over rows that stand in several partitions: they are put into tables of one
engine, which answers as one node does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.operators import state
from lockstep.plan import plan_of
from lockstep.plan.fleet import FleetPlan
from lockstep.plan.paths import step_of
from lockstep.siddhiql import ast
from lockstep.siddhiql.printing import print_app

Rows = Sequence[Sequence[Any]]


def answered_together(
    fleet: FleetPlan, query: str, rows: Mapping[str, Rows]
) -> list[tuple[Any, ...]]:
    """What a query gives where these tables hold these rows; the last values of each are its time
    and the time of the app when it was asked for. EventError for values that do not fit."""
    app = fleet.app.checked.app
    wanted = tuple(
        one
        for one in app.definitions
        if isinstance(one, ast.FunctionDefinition)
        or (isinstance(one, ast.TableDefinition) and one.name in rows)
    )
    executor = ReferenceExecutor(plan_of(print_app(ast.App((), wanted, ()))))
    position, body = state.unseal(executor.snapshot(), keep_packed=True)
    held = {
        f"table/{step_of(name)}/rows": (len(found), [(row[-2], tuple(row[:-2])) for row in found])
        for name, found in rows.items()
    }
    engine = body["engine"]
    engine["now"] = engine["wall"] = max(
        (row[-1] for each in rows.values() for row in each), default=0
    )
    engine["operators"] = [(path, held.get(path, each)) for path, each in engine["operators"]]
    executor.restore(state.seal(position, body))
    try:
        return executor.on_demand(query)
    finally:
        executor.close()
