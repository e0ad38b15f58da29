"""Partitions: a private copy of the inner queries per key (semantics 15)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from lockstep.operators.contract import Context, Emit, PlainState, StreamEvent
from lockstep.operators.errors import PROCESSING_ERRORS
from lockstep.operators.failing import Failures
from lockstep.partitions.routing import Route, build_router
from lockstep.plan import PartitionNode
from lockstep.plan.paths import step_of
from lockstep.selection.meaning import Torn, error_in
from lockstep.siddhiql import ast
from lockstep.siddhiql.durations import duration_ms

PURGE_INTERVAL_MS = 300_000
"""How often idle instances are looked for when @purge names no interval."""


class Instance(Protocol):
    """The inner queries of one key."""

    def start(self) -> None:
        """Called once when an event made the instance, not after a restore."""

    def deliver(self, source: str, chunk: list[StreamEvent]) -> None:
        """Hands a chunk of an outer source to the inner queries, in order."""

    def close(self) -> None:
        """Forgets the instance's operators and timers."""


class PartitionRuntime:
    """Routes the chunks of its streams to instances, which it creates by key and may purge.

    What an instance fails of is that part of the chunk alone: the others get theirs, and only the
    parts that failed are raised at the end (semantics 18).
    """

    def __init__(
        self, node: PartitionNode, context: Context, make: Callable[[str], Instance]
    ) -> None:
        """`make` builds the instance whose operators have paths below the one given."""
        self._node = node
        self._context = context
        self._make = make
        self._instances: dict[str, Instance] = {}
        self._last_used_ms: dict[str, int] = {}
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
                return lambda chunk: self._routed(source, route, chunk)
        return lambda chunk: self._broadcast(source, chunk)

    def _routed(self, source: str, route: Route, chunk: list[StreamEvent]) -> None:
        failures, torn = Failures(), error_in(chunk)
        for key, part in route(chunk, failures):
            instance = self._instances.get(key)
            if instance is None:
                instance = self._create(key)
                instance.start()
            self._last_used_ms[key] = self._context.wall_ms()
            try:
                instance.deliver(source, part if torn is None else Torn(part, torn))
            except PROCESSING_ERRORS as error:
                failures.add(part, error)
        failures.check()

    def _broadcast(self, source: str, chunk: list[StreamEvent]) -> None:
        failures = Failures()
        for instance in list(self._instances.values()):
            try:
                instance.deliver(source, chunk)
            except PROCESSING_ERRORS as error:
                failures.add(chunk, error)
        failures.check()

    def _create(self, key: str) -> Instance:
        instance = self._instances[key] = self._make(f"{self._node.path}/{step_of(key)}")
        self._last_used_ms[key] = self._context.wall_ms()
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
            if due_ms - self._last_used_ms[key] >= self._idle_ms:
                del self._instances[key], self._last_used_ms[key]
                instance.close()
        self._context.schedule(self, due_ms + self._interval_ms, wall=True)

    def snapshot(self) -> PlainState:
        """Keys in order of creation with the time of their last event."""
        return [(key, self._last_used_ms[key]) for key in self._instances]

    def restore(self, state: PlainState) -> None:
        """Creates the instances; their operators are restored after this."""
        for key, last_used_ms in state:
            self._create(key)
            self._last_used_ms[key] = last_used_ms


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
