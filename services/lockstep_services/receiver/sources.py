"""The `@source`s of the deployed apps: which messages are theirs, and who reads them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from lockstep.bus import topic_subject
from lockstep.connectors.grpc import CALL_ANSWER, DOORS
from lockstep.connectors.http_call import CALL_ANSWERS
from lockstep.connectors.http_service import SERVICES
from lockstep.connectors.in_memory import topic_of
from lockstep.connectors.rdbms_call import CALL_ANSWER as CALL_ANSWER_ROWS
from lockstep.control import AT_THE_DOOR, AppView, Catalogue, path_of, sources_of
from lockstep.frame.bodies import whole_number
from lockstep.siddhiql import ast
from lockstep.siddhiql.catalogue import ExtensionKind
from lockstep.siddhiql.checking.connectors import options_of
from lockstep_services.receiver.carried import carrier_of, is_shared
from lockstep_services.receiver.kafka_options import KafkaOptions
from lockstep_services.receiver.mapped import MessageReader, message_reader

MAX_SOURCES: Final = 9_999
SOURCE_PARAMETER: Final = "source"
"""Of a content type: `text/csv; source=0` is a message in the form of a stream's first source."""

READ_BY_ITSELF: Final = AT_THE_DOOR | DOORS | {*CALL_ANSWERS, CALL_ANSWER, CALL_ANSWER_ROWS}
"""Those, calls of gRPC at ports of their own, and what publishers send to the front door of the
bus."""


@dataclass(frozen=True, slots=True)
class Source:
    """The `number`-th `@source` of a stream, counted from 0. `reader`: None for the suite's own
    form."""

    app: str
    stream: str
    number: int
    kind: str
    annotation: ast.Annotation
    reader: MessageReader | None

    @property
    def path(self) -> str | None:
        """Where a source at the door is to be found beside /<app>/<stream>."""
        return path_of(self.annotation)

    @property
    def is_service(self) -> bool:
        """Its requests wait for the app's answers."""
        return self.kind in SERVICES

    @property
    def asks_who_sends(self) -> bool:
        """An http source that takes nothing from senders without a name, even at an open door."""
        return (self.annotation.get("basic.auth.enabled") or "").lower() == "true"

    @property
    def subject(self) -> str | None:
        """What a source on the bus listens to."""
        if self.kind == "nats":
            return self.annotation.get("destination")
        if self.kind == "inmemory":
            return topic_subject(topic_of(self.annotation))
        return None

    @property
    def is_read(self) -> bool:
        """Its messages do not come by themselves."""
        return self.kind not in READ_BY_ITSELF

    @property
    def kafka(self) -> KafkaOptions | None:
        """What a kafka source reads."""
        return KafkaOptions.of(self.annotation) if self.kind == "kafka" else None

    @property
    def is_cdc(self) -> bool:
        """Its messages are the changes of a table."""
        return self.kind == "cdc"

    @property
    def has_one_reader(self) -> bool:
        """One receiver reads it at a time, by lease: partitions of Kafka that are named, tables,
        and types that are not shared. SourceSetupError, see `carrier_of`."""
        if self.is_cdc:
            return True
        kafka = self.kafka
        if kafka is not None:
            return bool(kafka.partitions)
        carrier = carrier_of(self.kind) if self.is_read and self.subject is None else None
        return carrier is not None and not is_shared(carrier)

    @property
    def options(self) -> dict[str, str]:
        """Of its annotation, by the names under which its type declares them."""
        return options_of(ExtensionKind.SOURCE, self.annotation)

    @property
    def mailbox(self) -> str:
        """Under what name its messages are shared and remembered."""
        return self.annotation.get("durable.name") or self.name

    @property
    def name(self) -> str:
        """Among the sources of all apps; stable for equal app texts."""
        return f"{self.app}/{self.stream}.{self.number}"


def _sources(view: AppView) -> Iterator[Source]:
    for one, schema, annotation in sources_of(view):
        reader = message_reader(schema, annotation)
        yield Source(view.name, one.stream, one.number, one.type, annotation, reader)


class SourceBook:
    """Looks sources up; kept as long as an app's text stays."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._sources: dict[str, tuple[str, Sequence[Source]]] = {}
        self._paths: dict[str, Source] = {}
        self._seen = -1

    def of(self, view: AppView) -> Sequence[Source]:
        """All of an app, in the order of its text."""
        version, found = self._sources.get(view.name, ("", ()))
        if version != view.deployment.version:
            found = list(_sources(view))
            self._sources[view.name] = (view.deployment.version, found)
        return found

    def keep(self, apps: Collection[str]) -> None:
        """Forgets all other apps: they are not deployed any more."""
        self._sources = {app: one for app, one in self._sources.items() if app in apps}

    def all(self) -> Sequence[Source]:
        """Of all apps that are deployed now."""
        return [source for view in self._catalogue.views for source in self.of(view)]

    def numbered(self, view: AppView, stream: str, number: int) -> Source | None:
        """The source of that number of a stream."""
        return self._first(view, stream, lambda source: source.number == number)

    def http(self, view: AppView, stream: str) -> Source | None:
        """The first http source of a stream."""
        return self._first(view, stream, lambda source: source.kind == "http")

    def at_door(self, view: AppView, stream: str) -> Source | None:
        """The first source of a stream whose messages come to /<app>/<stream>."""
        return self._first(view, stream, lambda source: source.kind in AT_THE_DOOR)

    def at_path(self, path: str) -> Source | None:
        """The one with that path in its receiver.url; of several that of the app whose logs are the
        oldest, which stay when its text changes: nobody takes a path of an app that is there."""
        if self._seen != self._catalogue.changes:
            self._seen = self._catalogue.changes
            self._paths = {}
            oldest_first = sorted(self._catalogue.views, key=lambda view: view.log.since_ms)
            for source in (source for view in oldest_first for source in self.of(view)):
                if source.path is not None and not self._is_named(source.path):
                    self._paths.setdefault(source.path, source)
        return self._paths.get("/" + path.strip("/"))

    def _is_named(self, path: str) -> bool:
        """It is the address /<app>/<stream> of a deployed app, which no other can claim."""
        app, _, stream = path.strip("/").partition("/")
        view = self._catalogue.get(app)
        return view is not None and stream in view.streams

    def _first(self, view: AppView, stream: str, fits: Callable[[Source], bool]) -> Source | None:
        return next((one for one in self.of(view) if one.stream == stream and fits(one)), None)


def source_number(content_type: str) -> int | None:
    """The source whose form a content type names."""
    for part in content_type.split(";")[1:]:
        name, _, value = part.strip().partition("=")
        if name.strip().lower() == SOURCE_PARAMETER:
            return whole_number(value.strip(), MAX_SOURCES)
    return None


def with_source(content_type: str, number: int) -> str:
    """The content type of a message in the form of a source, so that it can be sent again."""
    if source_number(content_type) is not None:
        return content_type
    return f"{content_type or 'application/octet-stream'}; {SOURCE_PARAMETER}={number}"
