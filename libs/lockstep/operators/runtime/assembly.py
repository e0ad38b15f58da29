"""Builds an engine's streams, tables, windows, triggers, aggregations and queries from its plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from lockstep.operators.contract import Emit
from lockstep.operators.placing import placed
from lockstep.operators.runtime.context import EngineContext
from lockstep.operators.runtime.query import QueryRuntime
from lockstep.plan import PartitionNode, QueryNode

if TYPE_CHECKING:
    from lockstep.operators.runtime.engine import Engine


def assemble(engine: Engine) -> None:
    """Fills the engine; after it every name of the plan can be asked for."""
    checked = engine.plan.checked
    for name in [*checked.streams, *checked.triggers, *checked.windows]:
        engine.junctions.setdefault(name, engine.new_junction(name))
    _tables(engine)
    _windows(engine)
    _aggregations(engine)
    _triggers(engine)
    for node in engine.plan.nodes:
        match node:
            case QueryNode():
                _query(engine, node)
            case PartitionNode():
                _partition(engine, node)


def _query(engine: Engine, node: QueryNode) -> None:
    with placed(node.query.query.at):
        runtime = QueryRuntime(node.query, EngineContext(engine, node.path))
    engine.queries[node.name] = runtime
    for source, receive in runtime.receivers:
        engine.subscribe(source, receive, node.path)
    engine.starters.append(runtime.start)


def _partition(engine: Engine, node: PartitionNode) -> None:
    from lockstep.partitions.meaning import PartitionRuntime

    with placed(node.partition.partition.at):
        runtime = PartitionRuntime(node, EngineContext(engine, node.path))
    for source, receive in runtime.receivers:
        # Tables and aggregations are read inside, but deliver nothing.
        if source in engine.junctions:
            engine.subscribe(source, receive, node.path)
    engine.starters.append(runtime.start)


def _tables(engine: Engine) -> None:
    if not engine.plan.checked.tables:
        return
    from lockstep.tables.meaning import build_table

    for name, definition in engine.plan.checked.tables.items():
        context = EngineContext(engine, f"table/{name}")
        table = build_table(definition, engine.plan.checked.schemas[name], context)
        engine.tables[name] = table


def _windows(engine: Engine) -> None:
    if not engine.plan.checked.windows:
        return
    from lockstep.named_windows.meaning import NamedWindow

    for name, definition in engine.plan.checked.windows.items():
        schema = engine.plan.checked.schemas[name]
        window = NamedWindow(definition, schema, EngineContext(engine, f"window/{name}"))
        window.emit = engine.junction(name).send
        engine.windows[name] = window
        engine.starters.append(window.start)


def _aggregations(engine: Engine) -> None:
    if not engine.plan.checked.aggregations:
        return
    from lockstep.aggregations.meaning import build_aggregation

    for name, checked in engine.plan.checked.aggregations.items():
        with placed(checked.definition.at):
            runtime = build_aggregation(checked, EngineContext(engine, f"aggregation/{name}"))
        engine.aggregations[name] = runtime
        for granularity, export in runtime.exports.items():
            engine.tables[checked.tables[granularity].name] = export
        receivers: list[tuple[str, Emit]] = list(runtime.receivers())
        for source, receive in receivers:
            engine.subscribe(source, receive, f"aggregation/{name}")
        start: Callable[[], None] = runtime.start
        engine.starters.append(start)


def _triggers(engine: Engine) -> None:
    from lockstep.triggers.meaning import Trigger

    for name, definition in engine.plan.checked.triggers.items():
        trigger = Trigger(
            definition, EngineContext(engine, f"trigger/{name}"), engine.junction(name).send
        )
        engine.starters.append(trigger.start)
