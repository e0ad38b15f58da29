"""What an app takes and gives, as an AsyncAPI 3.0 document: for who writes its senders and its
dashboards. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from lockstep.bus import InvalidNameError, ingress_subject, presenter_subject
from lockstep.bus.subjects import shortened
from lockstep.events import AttributeType, StreamSchema
from lockstep.events.paths import stream_path
from lockstep.plan import AppPlan

Json = Mapping[str, Any]
_TEXT: Final = {"type": "string"}
_LONG: Final = {"type": "integer", "minimum": -(2**63), "maximum": 2**63 - 1}
_TYPES: Final[Mapping[AttributeType, Json]] = {
    AttributeType.STRING: _TEXT,
    AttributeType.INT: {"type": "integer", "minimum": -(2**31), "maximum": 2**31 - 1},
    AttributeType.LONG: _LONG,
    AttributeType.FLOAT: {"type": "number"},
    AttributeType.DOUBLE: {"type": "number"},
    AttributeType.BOOL: {"type": "boolean"},
}
_QUERY: Final = {
    "type": "object",
    "properties": {
        "after": {
            "type": "string",
            "description": "Behind which row to go on; 0.0: from the oldest kept.",
        },
        "format": {"type": "string", "enum": ["json", "cloudevents"]},
    },
}  # fmt: skip
_REASON: Final = {
    "type": "object",
    "properties": {"after": _TEXT, "reason": _TEXT},
    "required": ["reason"],
}
_NOTES: Final[Mapping[str, Json]] = {
    "gap": {"title": "Rows are missing", "payload": _REASON},
    "lagging": {"title": "The listener is too slow", "payload": _REASON},
    "socket-gap": {
        "title": "Rows are missing",
        "payload": {"type": "object", "properties": {"gap": _REASON}, "required": ["gap"]},
    },
    "skipped": {
        "title": "More rows came at once than are told",
        "payload": {"type": "object", "properties": {"skipped": _LONG}, "required": ["skipped"]},
    },
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Doors:
    """Where the suite is reached: the advertised addresses of its processes, and `host:port` of its
    NATS servers. Another bus has no door for clients."""

    receivers: Sequence[str] = ()
    presenters: Sequence[str] = ()
    nats: Sequence[str] = ()


def asyncapi_of(plan: AppPlan, version: str, doors: Doors) -> dict[str, Any]:
    """The document; a client receives what the app sends, and the reverse."""
    servers = {
        **_servers("receiver", doors.receivers),
        **_servers("presenter", doors.presenters),
        **_servers("sockets", [url.replace("http", "ws", 1) for url in doors.presenters]),
        **_servers("nats", [f"nats://{host}" for host in doors.nats], security="bus"),
    }
    document = _Document(plan.name, servers)
    for name in plan.doors:
        document.take(plan.schemas[name])
    for name in plan.exported:
        document.give(plan.schemas[name])
    return {
        "asyncapi": "3.0.0",
        "info": {"title": plan.name, "version": version},
        "defaultContentType": "application/json",
        "servers": servers,
        "channels": document.channels,
        "operations": document.operations,
        "components": {
            "messages": document.messages,
            "schemas": document.schemas,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "bus": {"type": "userPassword"},
            },
        },
    }


def _servers(kind: str, urls: Iterable[str], security: str = "token") -> dict[str, Json]:
    found: dict[str, Json] = {}
    for number, url in enumerate(sorted(set(urls)), start=1):
        parts = urlsplit(url)
        server: dict[str, Any] = {"host": parts.netloc, "protocol": parts.scheme}
        if parts.path.strip("/"):
            server["pathname"] = parts.path
        found[f"{kind}-{number}"] = {
            **server, "security": [{"$ref": f"#/components/securitySchemes/{security}"}],
        }  # fmt: skip
    return found


class _Document:
    """Grows stream by stream."""

    def __init__(self, app: str, servers: Mapping[str, Json]) -> None:
        self._app = app
        self._servers = servers
        self.channels: dict[str, Json] = {}
        self.operations: dict[str, Json] = {}
        self.messages: dict[str, Json] = dict(_NOTES)
        self.schemas: dict[str, Json] = {}

    def take(self, schema: StreamSchema) -> None:
        """Events of a stream, by HTTP and by the bus."""
        key = _key(schema.name)
        self.schemas[f"{key}-event"] = _event(schema, {"_timestamp": _LONG, "_id": _TEXT})
        self.schemas[f"{key}-values"] = _values(schema)
        either = [_ref("schemas", f"{key}-event"), _ref("schemas", f"{key}-values")]
        many = {"type": "array", "minItems": 1, "items": {"anyOf": either}}
        message = f"{key}-events"
        self.messages[message] = {
            "name": schema.name,
            "title": f"Events of {schema.name}",
            "payload": {"anyOf": [*either, many]},
        }
        path = f"{self._path(schema)}/events"
        posted = {"http": {"method": "POST", "bindingVersion": "0.3.0"}}
        self._add("receive", "take", f"{key}-http", path, "receiver", [message], posted)
        with suppress(InvalidNameError):  # too long for the bus: it has the other door
            subject = ingress_subject(self._app, schema.name)
            self._add("receive", "take", f"{key}-nats", subject, "nats", [message])

    def give(self, schema: StreamSchema) -> None:
        """Rows of a stream, by server-sent events, WebSocket and topic."""
        key = _key(schema.name)
        self.schemas[f"{key}-data"] = _event(schema, {})
        data = _ref("schemas", f"{key}-data")
        row, cloud = f"{key}-row", f"{key}-cloudevent"
        self.messages[row] = _message(
            schema, {"id": _TEXT, "timestamp_ms": _LONG, "event": data}, {"after": _TEXT}
        )
        named = dict.fromkeys(("specversion", "id", "source", "type", "subject"), _TEXT)
        time = {"type": "string", "format": "date-time"}
        event = _message(schema, {**named, "data": data}, {"time": time, "datacontenttype": _TEXT})
        self.messages[cloud] = {**event, "contentType": "application/cloudevents+json"}
        asked = {"http": {"method": "GET", "query": _QUERY, "bindingVersion": "0.3.0"}}
        opened = {"ws": {"method": "GET", "query": _QUERY, "bindingVersion": "0.1.0"}}
        path, rows = self._path(schema), [row, cloud]
        events = [*rows, "gap", "lagging"]
        self._add("send", "give", f"{key}-sse", f"{path}/sse", "presenter", events, asked)
        self._add(
            "send", "give", f"{key}-ws", f"{path}/ws", "sockets", [*rows, "socket-gap"], opened
        )
        subject = presenter_subject(self._app, schema.name)
        self._add("send", "give", f"{key}-topic", subject, "nats", [row, "skipped"])

    def _path(self, schema: StreamSchema) -> str:
        return stream_path(self._app, schema.name)

    def _add(
        self,
        action: str,
        verb: str,
        key: str,
        address: str,
        kind: str,
        messages: Sequence[str],
        bindings: Json | None = None,
    ) -> None:
        """A channel and its operation, where a server of that kind is there."""
        servers = [
            {"$ref": f"#/servers/{name}"} for name in self._servers if name.startswith(f"{kind}-")
        ]
        if not servers:
            return
        name = f"{verb}-{key}"
        channel: dict[str, Any] = {
            "address": address,
            "servers": servers,
            "messages": {message: _ref("messages", message) for message in messages},
        }
        operation: dict[str, Any] = {"action": action, "channel": {"$ref": f"#/channels/{name}"}}
        if bindings is not None:  # that of a WebSocket belongs to its channel
            (channel if "ws" in bindings else operation)["bindings"] = bindings
        self.channels[name], self.operations[name] = channel, operation


def _key(name: str) -> str:
    """Letters, digits, - and _ alone."""
    return shortened(name).replace("%", "-").replace("~", "-7E")


def _ref(kind: str, key: str) -> Json:
    return {"$ref": f"#/components/{kind}/{key}"}


def _message(schema: StreamSchema, always: Json, sometimes: Json) -> dict[str, Any]:
    payload = {"type": "object", "properties": {**always, **sometimes}, "required": [*always]}
    return {"name": schema.name, "title": f"A row of {schema.name}", "payload": payload}


def _event(schema: StreamSchema, more: Json) -> Json:
    """Attributes by name; each may be null."""
    properties = {one.name: _nullable(one.type) for one in schema.attributes}
    return {"type": "object", "properties": {**properties, **more}, "required": [*schema.names]}


def _values(schema: StreamSchema) -> Json:
    """Attributes in their order."""
    width = len(schema.attributes)
    items = [_nullable(one.type) for one in schema.attributes]
    return {"type": "array", "items": items, "minItems": width, "maxItems": width}


def _nullable(kind: AttributeType) -> Json:
    known = _TYPES.get(kind)
    return {} if known is None else {**known, "type": [known["type"], "null"]}
