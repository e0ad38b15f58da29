"""An app's text with the addresses, credentials and paths of servers that are here.

Nothing else of it changes. What an older sample writes down (a port of its author's machine, a
broker, a folder) is replaced value by value, in the text, so that all the rest stays as written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from lockstep.connectors.grpc.urls import PROCESS, method_url
from lockstep.events import LockstepError
from lockstep.siddhiql import CheckedApp, ast

_LITERAL: Final = r"(?:\"\"\"(?:.|\n)*?\"\"\"|'[^'\n]*'|\"[^\"\n]*\")"
_LEFT_OPEN: Final = re.compile("x+")
"""What samples leave to their reader."""
HOLDERS: Final = (ast.StreamDefinition, ast.TableDefinition, ast.AggregationDefinition)
_CALLED: Final = re.compile(rf"#rdbms:(?:query|cud)\(\s*(?P<value>{_LITERAL})")
"""A datasource that statements are sent to."""
_PLACEHOLDER: Final = re.compile(r"(?<!\{)\{\w+\}(?!\})")


class LackingError(LockstepError):
    """A server that is not here."""


@dataclass(frozen=True, slots=True)
class Account:
    """Where a server listens, and who may come in."""

    host: str
    port: int
    user: str = ""
    password: str = ""


@dataclass(frozen=True, slots=True)
class GoogleStore:
    """A bucket at an endpoint, and the file with the key of who may write there."""

    endpoint: str
    bucket: str
    key_file: str


@dataclass(frozen=True)
class Places:
    """Where everything is. A server that could not be had is None."""

    folder: Path
    http: int
    https: int
    tcp: int
    websocket: int
    hl7: int
    smtp: Account
    kafka: str | None = None
    mysql: Account | None = None
    imap: Account | None = None
    s3: Account | None = None
    bucket: str = ""
    registry: str = ""
    stomp: Account | None = None
    mqtt: int | None = None
    amqp: str | None = None
    nats: str | None = None
    grpc: int = 0
    redis: Account | None = None
    google: GoogleStore | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """A value that was replaced, or None where there was none."""

    key: str
    before: str | None
    after: str


@dataclass
class Repointed:
    """`ports`: where the app's own servers listen, by `<stream>.<n>`."""

    text: str
    changes: list[Change] = field(default_factory=list)
    lacking: list[str] = field(default_factory=list)
    ports: dict[str, int] = field(default_factory=dict)


Options = dict[str, str]
"""New values by key."""


class Repointer:
    """Of one app, the `number`-th; `ports` are free ones, for servers that apps are."""

    def __init__(
        self, checked: CheckedApp, places: Places, number: int, ports: Iterator[int]
    ) -> None:
        self._checked = checked
        self._places = places
        self.mark = f"a{number}"
        self._ports = ports
        self._found = Repointed(checked.text)

    def done(self) -> Repointed:
        """The new text."""
        edits: list[tuple[int, int, str]] = []
        for definition in self._checked.app.definitions:
            if not isinstance(definition, HOLDERS):
                continue
            counted: dict[str, int] = {}
            for one in definition.annotations:
                side = one.name.lower()
                if side not in ("source", "sink", "store"):
                    continue
                place = f"{definition.name}.{counted.get(side, 0)}"
                counted[side] = counted.get(side, 0) + 1
                kind = (one.get("type") or "").lower()
                edits += self._edits(one, self._options(side, kind, one, place))
                for each in one.nested("map"):
                    if each.get("schema.registry") is not None:
                        edits += self._edits(each, {"schema.registry": self._places.registry})
                for each in one.nested("distribution"):
                    for target in each.nested("destination"):
                        edits += self._edits(target, self._options(side, kind, target, place))
        text = self._checked.text
        for call in _CALLED.finditer(text):
            before = call["value"].strip("'\"")
            self._found.changes.append(Change("datasource", before, self.mark))
            edits.append((*call.span("value"), f"'{self.mark}'"))
        for begin, end, new in sorted(edits, reverse=True):
            text = text[:begin] + new + text[end:]
        self._found.text = text
        return self._found

    def _options(self, side: str, kind: str, one: ast.Annotation, place: str) -> Options:
        """New values of an annotation."""
        if kind in CARRIED:
            try:
                return CARRIED[kind](self._places, self.mark, one)
            except LackingError as error:
                return self._lacks(error.message)
        made = {
            "http": self._http, "http-request": self._http, "http-call": self._http,
            "http-service": self._http, "tcp": self._tcp, "file": self._file,
            "fileeventlistener": self._file, "hl7": self._hl7,
            "email": self._email, "prometheus": self._prometheus, "rdbms": self._database,
            "cdc": self._database, "grpc": self._grpc, "grpc-call": self._grpc,
            "grpc-service": self._grpc, "snmp": self._snmp,
        }.get(kind)  # fmt: skip
        return {} if made is None else made(side, one, place)

    def _http(self, side: str, one: ast.Annotation, place: str) -> Options:
        found: Options = {}
        if (url := one.get("receiver.url")) is not None:
            path = urlsplit(url).path
            found["receiver.url"] = f"http://localhost:{self._places.http}/{self.mark}{path}"
        if _LEFT_OPEN.fullmatch(one.get("method") or ""):
            found["method"] = "POST"
        for key in ("publisher.url", "token.url"):
            if (url := one.get(key)) is not None:
                scheme, _, rest = url.partition("://")
                port = self._places.https if scheme == "https" else self._places.http
                _, slash, path = rest.partition("/")
                found[key] = f"{scheme}://localhost:{port}/{self.mark}{slash}{path}"
        return found

    def _grpc(self, side: str, one: ast.Annotation, place: str) -> Options:
        """What the other side does with an event bears the mark, as nothing else is the app's."""
        key = "receiver.url" if side == "source" else "publisher.url"
        url = method_url(one.get(key) or "", PROCESS)
        if not url.is_event_service:
            return self._lacks(f"a server of {url.service}")
        method = f"{url.service}/{url.method}"
        if side == "source":
            self._own_port(key, place)
            return {key: f"grpc://localhost:{self._found.ports[place]}/{method}"}
        sequence = f"{self.mark}-{url.sequence}"
        return {key: f"grpc://localhost:{self._places.grpc}/{method}/{sequence}"}

    def _snmp(self, side: str, one: ast.Annotation, place: str) -> Options:
        """An agent for the app alone."""
        return {"host": "127.0.0.1", **self._own_port("agent.port", place)}

    def _tcp(self, side: str, one: ast.Annotation, place: str) -> Options:
        if side == "source":
            return self._own_port("port", place)
        path = urlsplit(one.get("url") or "").path
        return {"url": f"tcp://localhost:{self._places.tcp}/{self.mark}{path}"}

    def _own_port(self, key: str, place: str) -> Options:
        self._found.ports[place] = next(self._ports)
        return {key: str(self._found.ports[place])}

    def _file(self, side: str, one: ast.Annotation, place: str) -> Options:
        return {
            key: self._path(value)
            for key in ("dir.uri", "file.uri", "move.after.process")
            if (value := one.get(key)) is not None
        }

    def _path(self, uri: str) -> str:
        """Below the app's own folder; what is filled in by rows stays."""
        scheme = "file:" if uri.startswith("file:") else ""
        bare = _PLACEHOLDER.sub("", uri.removeprefix("file:")).strip("/")
        return f"{scheme}{self._places.folder}/{self.mark}/{bare}"

    def _hl7(self, side: str, one: ast.Annotation, place: str) -> Options:
        if side == "source":
            return self._own_port("port", place)
        return {"uri": f"localhost:{self._places.hl7}"}

    def _email(self, side: str, one: ast.Annotation, place: str) -> Options:
        server = self._places.smtp if side == "sink" else self._places.imap
        if server is None:
            return self._lacks("a mail server")
        found = {"host": server.host, "port": str(server.port), "username": server.user,
                 "password": server.password}  # fmt: skip
        if side == "sink":
            found["address"] = f"{self.mark}@example.org"
        return found

    def _prometheus(self, side: str, one: ast.Annotation, place: str) -> Options:
        if side == "source":
            return {"target.url": f"http://localhost:{self._places.http}/{self.mark}/metrics"}
        self._found.ports[place] = next(self._ports)
        return {"server.url": f"http://localhost:{self._found.ports[place]}"}

    def _database(self, side: str, one: ast.Annotation, place: str) -> Options:
        key = "url" if one.get("url") is not None else "jdbc.url"
        url = one.get(key)
        if url is None:
            return {}  # the suite's own, or one that its settings name
        if not url.startswith("jdbc:mysql:"):
            return self._lacks(f"a database for {url.split(':')[1]}")
        server = self._places.mysql
        if server is None:
            return self._lacks("MariaDB")
        return {
            key: f"jdbc:mysql://{server.host}:{server.port}/{self.mark}",
            "username": server.user,
            "password": server.password,
        }

    def _lacks(self, what: str) -> Options:
        self._found.lacking.append(what)
        return {}

    def _edits(
        self, one: ast.Annotation, options: Mapping[str, str]
    ) -> Iterator[tuple[int, int, str]]:
        """Where in the text the values stand, and what shall."""
        text = self._checked.text
        start = _offset(text, one.at)
        inside = text.index("(", start) + 1
        for key, value in options.items():
            before = one.get(key)
            self._found.changes.append(Change(key, before, value))
            if before is None:
                yield inside, inside, f"{key}='{value}', "
                continue
            pattern = rf"(?i)(?<![\w.]){re.escape(key)}\s*=\s*(?P<value>{_LITERAL})"
            found = re.compile(pattern).search(text, inside)
            assert found is not None, (key, before)
            yield *found.span("value"), f"'{value}'"


def _offset(text: str, at: ast.Location) -> int:
    """Of a place in the text."""
    lines = text.split("\n")
    return sum(len(line) + 1 for line in lines[: at.line - 1]) + at.column - 1


def _kafka(places: Places, mark: str, one: ast.Annotation) -> Options:
    if places.kafka is None:
        raise LackingError("a Kafka broker")
    found = {"bootstrap.servers": places.kafka}
    for key in ("topic", "topic.list", "group.id"):
        if (value := one.get(key)) is not None:
            names = [f"{mark}-{each.strip()}" for each in value.split(",")]
            found[key] = ",".join(names)
    return found


def _jms(places: Places, mark: str, one: ast.Annotation) -> Options:
    server = places.stomp
    if server is None:
        raise LackingError("a broker with JMS")
    destination = f"{mark}-{one.get('destination')}"
    found = {"provider.url": f"tcp://{server.host}:{server.port}", "destination": destination}
    if server.user:
        found |= {"connection.username": server.user, "connection.password": server.password}
    return found


def _mqtt(places: Places, mark: str, one: ast.Annotation) -> Options:
    if places.mqtt is None:
        raise LackingError("an MQTT broker")
    topic = f"{mark}/{one.get('topic')}"
    return {"url": f"tcp://localhost:{places.mqtt}", "topic": topic}


def _rabbitmq(places: Places, mark: str, one: ast.Annotation) -> Options:
    if places.amqp is None:
        raise LackingError("RabbitMQ")
    name = f"{mark}-{one.get('exchange.name')}"
    return {"uri": places.amqp, "exchange.name": name}


def _nats(places: Places, mark: str, one: ast.Annotation) -> Options:
    if places.nats is None:
        raise LackingError("a NATS server")
    found = {"destination": f"{mark}-{one.get('destination')}"}
    for key in ("server.urls", "bootstrap.servers"):
        if one.get(key) is not None:
            return {key: places.nats, **found}
    return {"server.urls": places.nats, **found}


def _websocket(places: Places, mark: str, one: ast.Annotation) -> Options:
    path = urlsplit(one.get("url") or "").path
    return {"url": f"ws://localhost:{places.websocket}/{mark}{path}"}


def _s3(places: Places, mark: str, one: ast.Annotation) -> Options:
    if places.s3 is None:
        raise LackingError("a store with S3")
    server = places.s3
    found = {"endpoint": f"http://{server.host}:{server.port}"}
    found |= {"aws.access.key": server.user, "aws.secret.key": server.password}
    bucket, path = places.bucket, one.get("object.path")
    return found | {"bucket.name": bucket, "object.path": f"{mark}/{path}"}


def _redis(places: Places, mark: str, one: ast.Annotation) -> Options:
    server = places.redis
    if server is None:
        raise LackingError("Redis")
    found = {"table.name": f"{mark}-{one.get('table.name') or one.at.line}"}
    if one.get("nodes") is not None:
        return {"nodes": f"{server.host}:{server.port}@{server.password}", **found}
    return {"host": server.host, "port": str(server.port), "password": server.password, **found}


def _google(places: Places, mark: str, one: ast.Annotation) -> Options:
    store = places.google
    if store is None:
        raise LackingError("a store with Google's interface")
    return {
        "endpoint": store.endpoint, "bucket.name": store.bucket, "credential.path": store.key_file,
        "object.name": f"{mark}/{one.get('object.name')}",
    }  # fmt: skip


CARRIED: Final = {
    "kafka": _kafka, "jms": _jms, "mqtt": _mqtt, "rabbitmq": _rabbitmq, "websocket": _websocket,
    "s3": _s3, "nats": _nats, "google-cloud-storage": _google,
    "redis": _redis,
}  # fmt: skip
"""Those whose two sides change alike, by type."""
