"""Which sinks an app has: @sink annotations of exported streams, @store(type='rdbms') tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from lockstep.bus import Topics
from lockstep.frame import AppView
from lockstep.operators.mapping import build_distribution, destinations
from lockstep.siddhiql import SiddhiQLError, ast
from lockstep.store import Cursors
from lockstep.telemetry import Logger
from services.publisher.contract import Sink, SinkPlace, SinkSetupError
from services.publisher.rdbms.connections import Connections, dsn_of
from services.publisher.rdbms.sink import RdbmsSink
from services.publisher.sinks.cursor import StoredCursor
from services.publisher.sinks.distributed import DistributedSink
from services.publisher.sinks.file import FileSink
from services.publisher.sinks.http import HttpSink
from services.publisher.sinks.log import LogSink
from services.publisher.sinks.nats import NatsSink

KNOWN_TYPES: Final = ("log", "nats", "http", "file", "rdbms")


@dataclass(frozen=True, slots=True)
class Refused:
    """A sink that cannot be set up, and why."""

    place: SinkPlace
    error: SinkSetupError


class SinkFactory:
    """Builds sinks; database connections are shared by address."""

    def __init__(
        self,
        cursors: Cursors,
        topics: Topics,
        log: Logger,
        *,
        default_dsn: str,
        max_connections: int,
        statement_timeout_ms: int,
        connect: Callable[..., Connections] = Connections,
    ) -> None:
        self._connect = connect
        self._cursors = cursors
        self._topics = topics
        self._log = log
        self._default_dsn = default_dsn
        self._max_connections = max_connections
        self._statement_timeout_ms = statement_timeout_ms
        self._connections: dict[str, Connections] = {}

    def sinks_of(self, view: AppView) -> Iterator[Sink | Refused]:
        """All sinks of an app, in the order of its text."""
        for name in (*view.exported, *view.stored):
            definition = view.definition(name)
            if definition is None:
                continue
            wanted = "store" if name in view.stored else "sink"
            found = [one for one in definition.annotations if one.name.lower() == wanted]
            for number, annotation in enumerate(found):
                kind = annotation.get("type") or "none"
                place = SinkPlace(view.name, view.plan.schemas[name], f"{name}.{number}.{kind}")
                try:
                    yield self._build(place, kind, annotation, definition)
                except SinkSetupError as error:
                    yield Refused(place, error)

    async def close(self) -> None:
        """Ends all database connections."""
        for connections in self._connections.values():
            await connections.close()

    def _build(
        self,
        place: SinkPlace,
        kind: str,
        annotation: ast.Annotation,
        definition: ast.StreamDefinition | ast.TableDefinition,
    ) -> Sink:
        if kind == "rdbms":
            return self._rdbms(place, annotation, definition)
        if not annotation.nested("distribution"):
            return self._plain(place, kind, annotation)
        try:
            distribution = build_distribution(place.schema, annotation)
        except SiddhiQLError as error:
            raise SinkSetupError(error.message, where=place.key, hint=error.hint) from error
        places = [
            (SinkPlace(place.app, place.schema, f"{place.name}.{number}"), destination)
            for number, destination in enumerate(destinations(annotation))
        ]
        children = [self._plain(child, kind, destination) for child, destination in places]
        return DistributedSink(place, self._cursors, distribution, children)

    def _plain(self, place: SinkPlace, kind: str, annotation: ast.Annotation) -> StoredCursor:
        match kind:
            case "log":
                return LogSink(place, annotation, self._cursors, self._log)
            case "nats":
                return NatsSink(place, annotation, self._cursors, self._topics)
            case "http":
                return HttpSink(place, annotation, self._cursors)
            case "file":
                return FileSink(place, annotation, self._cursors)
        raise SinkSetupError(
            f"type '{kind}' is not supported",
            where=place.key,
            hint=f"use one of {', '.join(KNOWN_TYPES)}",
        )

    def _rdbms(
        self,
        place: SinkPlace,
        annotation: ast.Annotation,
        definition: ast.StreamDefinition | ast.TableDefinition,
    ) -> Sink:
        dsn = dsn_of(annotation, self._default_dsn)
        connections = self._connections.get(dsn)
        if connections is None:
            connections = self._connections[dsn] = self._connect(
                dsn,
                max_connections=self._max_connections,
                statement_timeout_ms=self._statement_timeout_ms,
            )
        keys: Mapping[str, tuple[str, ...]] = {
            one.name.lower(): one.positional for one in definition.annotations
        }
        key = keys.get("primarykey", ()) if isinstance(definition, ast.TableDefinition) else ()
        table = annotation.get("table.name") or place.schema.name
        return RdbmsSink(place, table, key, connections)
