"""Starts an app once without any event, so that what fails at the start is known beforehand.

Constants that no event can be processed with (patterns, paths), bodies of functions that are no
Python, mappers that cannot be built: these show when operators are made, not when a text is
checked. Nothing of the author's runs: triggers do not fire.
"""

from __future__ import annotations

from lockstep.execute.reference.assembly import open_engine
from lockstep.execute.reference.query import Instance
from lockstep.functions.script import check_script
from lockstep.mapping import check_connectors
from lockstep.plan import AppPlan, PartitionNode
from lockstep.triggers.meaning import quiet


def rehearse(plan: AppPlan) -> None:
    """Raises SiddhiQLError, with its place, for an app that could not be started."""
    check_connectors(plan.checked)
    engine = open_engine(plan)
    for function in plan.checked.functions.values():  # also those that no query calls
        check_script(function)
    for node in plan.nodes:
        if isinstance(node, PartitionNode):
            # One instance of its queries: others are made when the first event of a key comes.
            Instance(engine, node, f"rehearsal/{node.name}").start()
    for start in quiet(engine.starters):
        start()
