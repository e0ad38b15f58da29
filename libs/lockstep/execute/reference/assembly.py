"""Builds an engine's streams, tables, windows, triggers, aggregations and queries from its plan."""

from __future__ import annotations

from functools import partial

from lockstep.aggregations.meaning import build_aggregation
from lockstep.execute.reference.context import EngineContext
from lockstep.execute.reference.engine import Engine
from lockstep.execute.reference.query import Instance, QueryRuntime
from lockstep.named_windows.meaning import NamedWindow
from lockstep.operators.errors import FaultListener
from lockstep.operators.placing import placed
from lockstep.partitions.meaning import PartitionRuntime
from lockstep.plan import AppPlan, PartitionNode, QueryNode
from lockstep.tables.meaning import build_table
from lockstep.triggers.meaning import Trigger


def open_engine(plan: AppPlan, *, on_fault: FaultListener | None = None) -> Engine:
    """An engine of the whole plan, ready to start."""
    engine = Engine(plan) if on_fault is None else Engine(plan, on_fault=on_fault)
    assemble(engine)
    return engine


def assemble(engine: Engine) -> None:
    """Fills the engine; after it every name of the plan can be asked for."""
    checked = engine.plan.checked
    for name in [*checked.streams, *checked.triggers, *checked.windows]:
        engine.junctions.setdefault(name, engine.new_junction(name))
    for name, table in checked.tables.items():
        context = EngineContext(engine, f"table/{name}")
        engine.tables[name] = build_table(table, checked.schemas[name], context)
    for name, definition in checked.windows.items():
        context = EngineContext(engine, f"window/{name}")
        window = NamedWindow(definition, checked, context)
        window.emit = engine.junction(name).send
        engine.windows[name] = window
        engine.starters.append(window.start)
    for name in checked.aggregations:
        _aggregation(engine, name)
    for name, trigger in checked.triggers.items():
        context = EngineContext(engine, f"trigger/{name}")
        engine.starters.append(Trigger(trigger, context, engine.junction(name).send).start)
    for node in engine.plan.nodes:
        match node:
            case QueryNode():
                _query(engine, node)
            case PartitionNode():
                _partition(engine, node)


def _aggregation(engine: Engine, name: str) -> None:
    checked = engine.plan.checked.aggregations[name]
    with placed(checked.definition.at):
        runtime = build_aggregation(checked, EngineContext(engine, f"aggregation/{name}"))
    engine.aggregations[name] = runtime
    for granularity, export in runtime.exports.items():
        engine.tables[checked.tables[granularity].name] = export
    for source, receive in runtime.receivers():
        engine.subscribe(source, receive, f"aggregation/{name}")
    engine.starters.append(runtime.start)


def _query(engine: Engine, node: QueryNode) -> None:
    with placed(node.query.query.at):
        runtime = QueryRuntime(node.query, EngineContext(engine, node.path))
    engine.queries[node.name] = runtime
    for source, receive in runtime.receivers:
        engine.subscribe(source, receive, node.path)
    engine.starters.append(runtime.start)


def _partition(engine: Engine, node: PartitionNode) -> None:
    with placed(node.partition.partition.at):
        context = EngineContext(engine, node.path)
        runtime = PartitionRuntime(node, context, partial(Instance, engine, node))
    for source, receive in runtime.receivers:
        # Tables and aggregations are read inside, but deliver nothing.
        if source in engine.junctions:
            engine.subscribe(source, receive, node.path)
    engine.starters.append(runtime.start)
