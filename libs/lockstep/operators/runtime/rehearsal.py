"""Starts an app once without any event, so that what fails at the start is known beforehand.

Constants that no event can be processed with (patterns, paths), bodies of functions that are no
Python, mappers that cannot be built: these show when operators are made, not when a text is
checked. Nothing of the author's runs: triggers do not fire.
"""

from __future__ import annotations

from lockstep.functions.script import check_script
from lockstep.mapping import check_connectors
from lockstep.operators.placing import placed
from lockstep.operators.runtime.context import EngineContext
from lockstep.operators.runtime.engine import Engine
from lockstep.operators.runtime.junction import Junction
from lockstep.operators.runtime.query import QueryRuntime
from lockstep.plan import AppPlan, PartitionNode
from lockstep.triggers.meaning import quiet


def rehearse(plan: AppPlan) -> None:
    """Raises SiddhiQLError, with its place, for an app that could not be started."""
    check_connectors(plan.checked)
    engine = Engine(plan)
    for function in plan.checked.functions.values():  # also those that no query calls
        check_script(function)
    for node in plan.nodes:
        if isinstance(node, PartitionNode):
            _partition(engine, node)
    for start in quiet(engine.starters):
        start()


def _partition(engine: Engine, node: PartitionNode) -> None:
    """One instance of its queries: others are made when the first event of a key comes."""
    inner = {name: Junction(name, engine.failed) for name in node.partition.inner}
    for query in node.queries:
        context = EngineContext(engine, f"rehearsal/{node.name}/{query.name}", inner)
        with placed(query.query.query.at):
            QueryRuntime(query.query, context).start()
