"""Which sinks an app has: @sink annotations of exported streams, @store(type='rdbms') tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pkgutil import resolve_name
from typing import Any, Final

from lockstep.bus import ForeignServers, Ingress, Topics
from lockstep.clock import Clock
from lockstep.connectors.grpc import CALL_ANSWER
from lockstep.connectors.rdbms import (
    KEYS,
    MODE,
    check_no_statements,
    check_own_table,
    update_keys,
)
from lockstep.connectors.rdbms_call import CALL_ANSWER as CALL_ANSWER_ROWS
from lockstep.connectors.redis import place_of
from lockstep.control import AnswerTeller, AppView, sinks_of
from lockstep.databases import (
    Datasource,
    DatasourceError,
    Datasources,
    datasource_for,
    redis_at,
)
from lockstep.databases.postgres.connections import Connections
from lockstep.databases.redis.connections import RedisConnections
from lockstep.databases.sqlite.files import SqliteFile
from lockstep.events.packages import to_install
from lockstep.mapping import MessageWriter, build_distribution, destinations
from lockstep.mapping.protobuf.methods import service_of
from lockstep.schemas import SchemaUser
from lockstep.schemas.registry import SchemaRegistry
from lockstep.secrets import Hidden, SecretError, Vault, is_named_closed
from lockstep.secrets.closed import HINT
from lockstep.siddhiql import CheckedApp, SiddhiQLError, ast
from lockstep.siddhiql.catalogue import ExtensionKind, SignatureError
from lockstep.siddhiql.catalogue.connectors import ConnectorExtension
from lockstep.siddhiql.checking.annotations import single
from lockstep.siddhiql.checking.connectors import find_type, options_of
from lockstep.siddhiql.secrets import secret_names, with_secrets
from lockstep.sinks import Sink as MessageSink
from lockstep.sinks import SinkMaker
from lockstep.sinks.objects import ObjectSink
from lockstep.store import Cursors
from lockstep.telemetry import Logger
from lockstep_services.publisher.contract import OnError, Sink, SinkBinding, SinkSetupError
from lockstep_services.publisher.discreet import DiscreetSink
from lockstep_services.publisher.installed import installed_sinks
from lockstep_services.publisher.mysql.statements import MysqlStatements
from lockstep_services.publisher.mysql.table import MysqlConnections, MysqlTable
from lockstep_services.publisher.rdbms.postgres import PostgresTable
from lockstep_services.publisher.rdbms.statements import PostgresStatements
from lockstep_services.publisher.rdbms.table_sink import TableSink
from lockstep_services.publisher.redis.table import RedisTable
from lockstep_services.publisher.sinks.call import (
    BlockingCallSink,
    CallSink,
    ChangeCallSink,
    answer_sources,
)
from lockstep_services.publisher.sinks.cursor import StoredCursorSink
from lockstep_services.publisher.sinks.file import FileLane, path_of
from lockstep_services.publisher.sinks.files import FilesLane
from lockstep_services.publisher.sinks.grpc_call import Calls, GrpcAsking
from lockstep_services.publisher.sinks.http import HttpSink
from lockstep_services.publisher.sinks.kafka import KafkaSink
from lockstep_services.publisher.sinks.lanes import Lane, MessageLane
from lockstep_services.publisher.sinks.log import LogSink
from lockstep_services.publisher.sinks.nats import nats_sink, topic_sink
from lockstep_services.publisher.sinks.objects import objects_lane
from lockstep_services.publisher.sinks.rdbms_call import (
    StatementAsking,
    Statements,
    statement_of,
)
from lockstep_services.publisher.sinks.schemas import SchemaSink
from lockstep_services.publisher.sinks.service import Receivers, ServiceSink
from lockstep_services.publisher.sqlite.statements import SqliteStatements
from lockstep_services.publisher.sqlite.table import SqliteTable

_LEFT_OPEN: Final = re.compile(r"(?<!\{)\{\w+\}(?!\})")
"""`{WSO2SPHome}` and the like."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A sink that cannot be set up, and why."""

    binding: SinkBinding
    error: SinkSetupError


@dataclass(frozen=True, slots=True)
class Answering:
    """What sinks need that bring answers back: into apps, and to who asked an app."""

    ingress: Ingress
    teller: AnswerTeller
    receivers: Receivers
    max_message_bytes: int

    def call(
        self,
        binding: SinkBinding,
        options: Mapping[str, str],
        checked: CheckedApp,
        number: int,
    ) -> MessageSink:
        """To the `number`-th destination; an answer's identity names it, but for the first."""
        blocks = options.get("blocking.io", "").strip().lower() == "true"
        name = f"{binding.name}.{number}" if number else binding.name
        return (BlockingCallSink if blocks else CallSink)(
            options, binding.app, name, answer_sources(checked, options["sink.id"]), self.ingress,
            max_message_bytes=self.max_message_bytes,
        )  # fmt: skip

    def grpc_call(
        self,
        binding: SinkBinding,
        options: Mapping[str, str],
        checked: CheckedApp,
        number: int,
        calls: Calls,
    ) -> MessageSink:
        """As `call`, over gRPC."""
        name = f"{binding.name}.{number}" if number else binding.name
        return CallSink(
            options, binding.app, name,
            answer_sources(checked, options["sink.id"], (CALL_ANSWER,)), self.ingress,
            max_message_bytes=self.max_message_bytes, asking=GrpcAsking(calls),
        )  # fmt: skip

    def statements(
        self,
        binding: SinkBinding,
        options: Mapping[str, str],
        checked: CheckedApp,
        database: Statements,
    ) -> MessageSink:
        """As `call`, in a database."""
        sources = answer_sources(checked, options["sink.id"], (CALL_ANSWER_ROWS,))
        kept = checked.streams[sources[0].stream].names
        try:
            statement = statement_of(options, binding.schema)
        except ValueError as error:
            raise SinkSetupError(str(error), where=binding.key) from error
        return (ChangeCallSink if statement.gives is None else BlockingCallSink)(
            options, binding.app, binding.name, sources, self.ingress,
            max_message_bytes=self.max_message_bytes,
            asking=StatementAsking(statement, database, kept, binding.key),
        )  # fmt: skip

    def service(self, binding: SinkBinding, options: Mapping[str, str]) -> MessageSink:
        """To who asked."""
        return ServiceSink(
            options, binding.app, self.teller, self.receivers,
            max_message_bytes=self.max_message_bytes,
        )  # fmt: skip


class SinkFactory:
    """Builds sinks; database connections are shared by address."""

    def __init__(
        self,
        cursors: Cursors,
        topics: Topics,
        log: Logger,
        *,
        datasources: Datasources,
        default_dsn: str,
        max_connections: int,
        statement_timeout_ms: int,
        vault: Vault,
        clock: Clock,
        connect: Callable[..., Connections] = Connections,
        answering: Answering | None = None,
        foreign: ForeignServers | None = None,
    ) -> None:
        self._foreign = foreign
        self._connect = connect
        self._answering = answering
        self._vault = vault
        self._cursors = cursors
        self._topics = topics
        self._log = log
        self._default_dsn = default_dsn
        self._datasources = datasources
        self._limits = max_connections, statement_timeout_ms
        self._connections: dict[str, Connections] = {}
        self._mysql: dict[str, MysqlConnections] = {}
        self._files: dict[tuple[str, bool], SqliteFile] = {}
        self._redis: dict[str, RedisConnections] = {}
        self._makers = installed_sinks()
        self._schemas = SchemaRegistry(clock, log)

    def sinks_of(self, view: AppView) -> Iterator[Sink | Refused]:
        """All sinks of an app, in the order of its text."""
        for sink, definition, annotation in sinks_of(view):
            on_error = OnError((annotation.get("on.error") or OnError.STORE).upper())
            schema = view.plan.schemas[sink.stream]
            binding = SinkBinding(view.name, schema, sink.name, view.log.since_ms, on_error)
            try:
                yield self.sink_of(binding, annotation, definition, view.checked)
            except SinkSetupError as error:
                yield Refused(binding, error)

    async def close(self) -> None:
        """Ends all database connections."""
        for connections in self._connections.values():
            await connections.close()
        for pool in self._mysql.values():
            await pool.close()
        for servers in self._redis.values():
            await servers.close()
        for file in self._files.values():
            file.close()
        await self._schemas.close()

    def sink_of(
        self,
        binding: SinkBinding,
        annotation: ast.Annotation,
        definition: ast.StreamDefinition | ast.TableDefinition,
        checked: CheckedApp | None = None,
    ) -> Sink:
        """The sink of one annotation; SinkSetupError. Secrets are read now; what it says of errors
        is without them. `checked`: the app, where there is one."""
        values: list[str] = []
        used = secret_names(annotation)

        def value(name: str) -> str:
            values.append(self._vault.value(binding.app, name))
            return values[-1]

        if not used:
            return self._made(binding, annotation, definition, checked)
        hidden = Hidden(())
        try:
            filled = with_secrets(annotation, value)
            hidden = Hidden(values)
            return DiscreetSink(self._made(binding, filled, definition, checked), hidden)
        except SecretError as error:
            raise SinkSetupError(str(error), where=binding.key) from error
        except SinkSetupError as error:
            hidden.error(error)
            raise error from None

    def secrets_of(self, view: AppView) -> bytes:
        """Differs when one of the secrets that an app's sinks use does, came or went."""
        names = {
            name
            for each in (*view.exported, *view.stored)
            if (definition := view.definition(each)) is not None
            for annotation in definition.annotations
            for name in secret_names(annotation)
        }
        return self._vault.stamp(view.name, names) if names else b""

    def _made(
        self,
        binding: SinkBinding,
        annotation: ast.Annotation,
        definition: ast.StreamDefinition | ast.TableDefinition,
        checked: CheckedApp | None,
    ) -> Sink:
        kind = annotation.get("type") or "none"
        known = find_type(ExtensionKind.SINK, kind)
        name = known.name if known is not None else kind
        if name == "rdbms":
            return self._rdbms(binding, annotation, definition)
        if name == "redis":
            return _redis(binding, annotation, definition, self._redis, self._limits[1])
        if name == "kafka":
            kafka = KafkaSink(binding, annotation, self._cursors)
            return self._with_schemas(kafka, kafka.schema_users)
        try:
            distribution = build_distribution(binding.schema, annotation)
            lanes = [
                self._lane(binding, name, each, number, checked)
                for number, each in enumerate(destinations(annotation))
            ]
        except SiddhiQLError as error:
            raise SinkSetupError(error.message, where=binding.key, hint=error.hint) from error
        waits = binding.on_error is OnError.WAIT
        sink = StoredCursorSink(binding, self._cursors, distribution, lanes, waits_for_ever=waits)
        return self._with_schemas(sink, sink.schema_users)

    def _with_schemas(self, sink: Sink, users: Sequence[SchemaUser]) -> Sink:
        return SchemaSink(sink, users, self._schemas) if users else sink

    def _lane(
        self,
        binding: SinkBinding,
        name: str,
        annotation: ast.Annotation,
        number: int,
        checked: CheckedApp | None,
    ) -> Lane:
        """The way to one destination, whose options the annotation holds."""
        writer = MessageWriter(binding.schema, annotation)
        options = options_of(ExtensionKind.SINK, annotation)
        if name == "file":
            return _file_lane(binding, writer, options)
        match name:
            case "log":
                sink: MessageSink = LogSink(
                    options, self._log, f"{binding.app} : {binding.schema.name}"
                )
            case "nats":
                sink = nats_sink(options, self._topics, self._foreign, binding.app)
            case "inMemory":
                sink = topic_sink(options, self._topics)
            case "http":
                sink = HttpSink(options)
            case "http-call" | "http-request" if self._answering and checked:
                sink = self._answering.call(binding, options, checked, number)
            case "http-service-response" | "http-response" if self._answering:
                sink = self._answering.service(binding, options)
            case "grpc-service-response" if self._answering:
                sink = self._answering.service(binding, options)
            case "grpc":
                sink = self._installed(binding, name, _with_service(annotation, options))
            case "grpc-call" if self._answering and checked:
                calls: Any = self._installed(binding, name, _with_service(annotation, options))
                sink = self._answering.grpc_call(binding, options, checked, number, calls)
            case "rdbms-call" if self._answering and checked:
                database = self._statements(binding, annotation)
                sink = self._answering.statements(binding, options, checked, database)
            case _:
                sink = self._installed(binding, name, options)
        if isinstance(sink, ObjectSink) and sink.gathering is not None:
            return objects_lane(binding, writer, sink)
        return MessageLane(binding, writer, sink)

    def _installed(
        self, binding: SinkBinding, name: str, options: Mapping[str, str]
    ) -> MessageSink:
        maker = self._makers.get(name) or self._carrier(binding, name)
        if maker is None:
            raise SinkSetupError(
                f"nobody carries messages of type '{name}' on this publisher",
                where=binding.key,
                hint="install the package that declares it beside every service",
            )
        try:
            return maker({"stream": binding.schema.name, **options})
        except (LookupError, TypeError, ValueError) as error:
            raise SinkSetupError(
                f"'{name}' does not take its options: {error}", where=binding.key
            ) from error

    def _carrier(self, binding: SinkBinding, name: str) -> SinkMaker | None:
        declared = find_type(ExtensionKind.SINK, name)
        if not isinstance(declared, ConnectorExtension) or not declared.carrier:
            return None
        try:
            found: SinkMaker = resolve_name(declared.carrier)
        except ImportError as error:
            raise SinkSetupError(
                f"'{name}' needs a package that is not installed: {error.name}",
                where=binding.key,
                hint=to_install(declared.extra, "beside every publisher"),
            ) from error
        return found

    def _datasource(self, binding: SinkBinding, annotation: ast.Annotation) -> Datasource:
        """The database that an annotation names, within the limits that hold for it."""
        try:
            found = datasource_for(annotation.get, self._datasources, self._default_dsn)
        except DatasourceError as error:
            raise SinkSetupError(error.message, where=binding.key, hint=error.hint) from error
        if annotation.get("datasource") is not None:
            return found
        most, timeout_ms = self._limits
        return replace(found, max_connections=most, statement_timeout_ms=timeout_ms)

    def _statements(self, binding: SinkBinding, annotation: ast.Annotation) -> Statements:
        with _checked(binding):
            check_no_statements(annotation.get)
        datasource = self._datasource(binding, annotation)
        is_change, url = annotation.get("gives") is None, annotation.get("jdbc.url")
        if is_change and url is None and not datasource.app_changes:
            raise SinkSetupError(
                f"apps may not make changes in {datasource.name!r} by statements of their own",
                where=binding.key,
                hint="app_changes = true in datasources.file lets them",
            )
        if datasource.kind == "mysql":
            return MysqlStatements(binding.key, self._mysql_of(datasource))
        if datasource.kind == "sqlite":
            return SqliteStatements(binding.key, self._file_of(datasource))
        return PostgresStatements(binding.key, self._connections_of(datasource))

    def _connections_of(self, datasource: Datasource) -> Connections:
        dsn = datasource.dsn
        if dsn not in self._connections:
            self._connections[dsn] = self._connect(
                dsn,
                max_connections=datasource.max_connections,
                statement_timeout_ms=datasource.statement_timeout_ms,
            )
        return self._connections[dsn]

    def _mysql_of(self, datasource: Datasource) -> MysqlConnections:
        if datasource.dsn not in self._mysql:
            self._mysql[datasource.dsn] = MysqlConnections(datasource)
        return self._mysql[datasource.dsn]

    def _file_of(self, datasource: Datasource) -> SqliteFile:
        key = datasource.dsn, datasource.is_apps
        if key not in self._files:
            self._files[key] = SqliteFile(datasource)
        return self._files[key]

    def _rdbms(
        self,
        binding: SinkBinding,
        annotation: ast.Annotation,
        definition: ast.StreamDefinition | ast.TableDefinition,
    ) -> Sink:
        table = annotation.get("table.name") or binding.schema.name
        with _checked(binding):
            check_own_table(annotation.get, table)
        datasource = self._datasource(binding, annotation)
        if isinstance(definition, ast.TableDefinition):
            key = _primary_key(definition)
        else:
            key = update_keys(annotation.get(MODE), annotation.get(KEYS))
        if datasource.kind == "mysql":
            return TableSink(binding, MysqlTable(binding, table, key, self._mysql_of(datasource)))
        if datasource.kind == "sqlite":
            return TableSink(binding, SqliteTable(binding, table, key, self._file_of(datasource)))
        connections = self._connections_of(datasource)
        return TableSink(binding, PostgresTable(binding, table, key, connections))


@contextmanager
def _checked(binding: SinkBinding) -> Iterator[None]:
    """What the checker knows is looked at again: a secret may say it."""
    try:
        yield
    except SignatureError as error:
        raise SinkSetupError(error.message, where=binding.key, hint=error.hint) from error


def _with_service(annotation: ast.Annotation, options: Mapping[str, str]) -> Mapping[str, str]:
    """With the name that the service of a gRPC sink has in its schema."""
    return {**options, "service": service_of(annotation)}


def _file_lane(binding: SinkBinding, writer: MessageWriter, options: Mapping[str, str]) -> Lane:
    """To one file, or to one a name. Samples of the older products leave a folder to be written."""
    uri = options["file.uri"]
    left_open = _LEFT_OPEN.search(uri)
    if left_open is not None:
        raise SinkSetupError(
            f"'file.uri' is {uri!r}: {left_open[0]} stands for a folder that is not written yet",
            where=binding.key,
            hint=f"write a folder of the publisher's machine for {left_open[0]}, and deploy again",
        )
    try:
        if is_named_closed(path_of(uri.partition("{{")[0])):
            raise SinkSetupError(f"{uri!r} is not for apps", where=binding.key, hint=HINT)
        return (FilesLane if "{{" in uri else FileLane)(binding, writer, options)
    except ValueError as error:
        raise SinkSetupError(f"'file.uri' is {uri!r}: {error}", where=binding.key) from error


def _redis(
    binding: SinkBinding,
    annotation: ast.Annotation,
    definition: ast.StreamDefinition | ast.TableDefinition,
    known: dict[str, RedisConnections],
    timeout_ms: int,
) -> Sink:
    """A table in Redis; connections are shared by address."""
    try:
        place = place_of(annotation.get)
    except ValueError as error:
        raise SinkSetupError(str(error), where=binding.key) from error
    found = redis_at(place.host, place.port, place.password)
    if found.dsn not in known:
        known[found.dsn] = RedisConnections(replace(found, statement_timeout_ms=timeout_ms))
    key = _primary_key(definition)
    table = annotation.get("table.name") or binding.schema.name
    return TableSink(binding, RedisTable(binding, table, key, known[found.dsn]))


def _primary_key(definition: ast.StreamDefinition | ast.TableDefinition) -> tuple[str, ...]:
    """That of a table; () for none."""
    found = single(definition.annotations, "primarykey")
    return () if found is None else found.positional
