"""Partitions: a private copy of the inner queries per key (semantics 15)."""

from __future__ import annotations

from collections.abc import Iterator

from lockstep.operators.contract import Emit, PlainState, StreamEvent
from lockstep.operators.runtime.context import EngineContext
from lockstep.operators.runtime.junction import Junction
from lockstep.operators.runtime.query import QueryRuntime
from lockstep.partitions.routing import build_router
from lockstep.plan import PartitionNode
from lockstep.plan.paths import step_of
from lockstep.siddhiql import ast
from lockstep.siddhiql.durations import duration_ms

PURGE_INTERVAL_MS = 300_000
"""How often idle instances are looked for when @purge names no interval."""


class Instance:
    """The inner queries of one key: what each outer source delivers to, and when it was last
    used.
    """

    __slots__ = ("last_used_ms", "paths", "queries", "sources")

    def __init__(self, node: PartitionNode, context: EngineContext) -> None:
        engine = context.engine
        before = len(engine.operators)
        inner: dict[str, Junction] = {}
        for name in node.partition.inner:
            inner[name] = Junction(name, engine.failed)
        self.sources: dict[str, list[Emit]] = {}
        self.queries: list[QueryRuntime] = []
        for query_node in node.queries:
            path = f"{context.path}/{query_node.path}"
            runtime = QueryRuntime(query_node.query, EngineContext(engine, path, inner))
            self.queries.append(runtime)
            for source, receive in runtime.receivers:
                if source.startswith("#"):
                    inner[source].subscribe(receive)
                else:
                    self.sources.setdefault(source, []).append(receive)
        self.paths = list(engine.operators)[before:]
        self.last_used_ms = engine.wall

    def deliver(self, source: str, chunk: list[StreamEvent]) -> None:
        """Hands a chunk of an outer source to the inner queries, in order."""
        for receive in self.sources.get(source, ()):
            receive(chunk)


class PartitionRuntime:
    """Routes the chunks of its streams to instances, which it creates by key and may purge."""

    def __init__(self, node: PartitionNode, context: EngineContext) -> None:
        self._node = node
        self._context = context
        self._instances: dict[str, Instance] = {}
        purge = _purge(node.partition.partition.annotations)
        self._idle_ms: int | None = None
        self._interval_ms = PURGE_INTERVAL_MS
        if purge is not None:
            self._idle_ms, self._interval_ms = purge
        self.receivers: list[tuple[str, Emit]] = [
            (source, self._receiver(source)) for source in node.reads
        ]
        context.register("instances", self)

    def _receiver(self, source: str) -> Emit:
        for key in self._node.partition.partition.keys:
            if key.stream == source:
                scope = self._node.partition.key_scopes[source]
                route = build_router(key, scope, self._context)
                return lambda chunk: self._routed(source, route(chunk))
        return lambda chunk: self._broadcast(source, chunk)

    def _routed(self, source: str, parts: Iterator[tuple[str, list[StreamEvent]]]) -> None:
        for key, part in parts:
            instance = self._instances.get(key) or self._create(key, start=True)
            instance.last_used_ms = self._context.engine.wall
            instance.deliver(source, part)

    def _broadcast(self, source: str, chunk: list[StreamEvent]) -> None:
        for instance in list(self._instances.values()):
            instance.deliver(source, chunk)

    def _create(self, key: str, *, start: bool) -> Instance:
        path = f"{self._context.path}/{step_of(key)}"
        instance = Instance(self._node, EngineContext(self._context.engine, path))
        self._instances[key] = instance
        if start:
            for query in instance.queries:
                query.start()
        return instance

    def start(self) -> None:
        """Sets the timer of @purge."""
        if self._idle_ms is not None:
            due = self._context.wall_ms() + self._interval_ms
            self._context.schedule(self, due, wall=True)

    def on_timer(self, due_ms: int) -> None:
        """Destroys instances that were idle for too long."""
        assert self._idle_ms is not None
        for key, instance in list(self._instances.items()):
            if due_ms - instance.last_used_ms >= self._idle_ms:
                del self._instances[key]
                self._context.engine.forget(instance.paths)
        self._context.schedule(self, due_ms + self._interval_ms, wall=True)

    def snapshot(self) -> PlainState:
        """Keys in order of creation with the time of their last event."""
        return [(key, instance.last_used_ms) for key, instance in self._instances.items()]

    def restore(self, state: PlainState) -> None:
        """Creates the instances; their operators are restored after this."""
        for key, last_used_ms in state:
            self._create(key, start=False).last_used_ms = last_used_ms


def _purge(annotations: tuple[ast.Annotation, ...]) -> tuple[int, int] | None:
    """(idle period, interval) of an enabled @purge."""
    for annotation in annotations:
        if annotation.name.lower() != "purge":
            continue
        if (annotation.get("enable") or "true").lower() != "true":
            return None
        idle, interval = annotation.get("idle.period"), annotation.get("interval")
        if idle is None:
            return None
        return duration_ms(idle), PURGE_INTERVAL_MS if interval is None else duration_ms(interval)
    return None
