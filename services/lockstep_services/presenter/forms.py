"""How rows look to who follows a stream: Lockstep's own JSON, or CloudEvents 1.0 (JSON format)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final, Protocol

from aiohttp import web

from lockstep.events import StreamSchema
from lockstep.frame import Problem
from lockstep.mapping.cloudevents.envelope import envelope
from lockstep_services.presenter.models import Shown
from lockstep_services.presenter.resuming import event_id

CLOUDEVENTS_PROTOCOL: Final = "cloudevents.json"
_CLOUDEVENTS: Final = "application/cloudevents"


class Form(Protocol):
    """Makes what is sent."""

    def row(self, row: Shown) -> Mapping[str, Any]:
        """Of a row."""

    def note(self, kind: str, data: Mapping[str, Any], now_ms: int) -> Mapping[str, Any]:
        """Of what a listener is told beside rows: `gap`, `lagging`."""


class Own:
    """Lockstep's own."""

    def __init__(self, schema: StreamSchema) -> None:
        self._names = schema.names

    def row(self, row: Shown) -> Mapping[str, Any]:
        """Identity, time, and attributes by name."""
        return row.as_json(self._names)

    def note(self, kind: str, data: Mapping[str, Any], now_ms: int) -> Mapping[str, Any]:
        """What there is to say."""
        return data


class CloudEvents:
    """Structured CloudEvents: the id is the identity, behind which a listener resumes."""

    def __init__(self, app: str, schema: StreamSchema, since_ms: int) -> None:
        self._names = schema.names
        self._since_ms = since_ms
        self._source, self._subject = f"/apps/{app}", schema.name
        self._type = f"lockstep.{app}.{schema.name}"

    def row(self, row: Shown) -> Mapping[str, Any]:
        """`data`: attributes by name."""
        data = dict(zip(self._names, row.data, strict=True))
        return self._event(event_id(row.id, self._since_ms), self._type, row.timestamp_ms, data)

    def note(self, kind: str, data: Mapping[str, Any], now_ms: int) -> Mapping[str, Any]:
        """Its id is no place to resume behind."""
        return self._event(f"{kind}-{now_ms}", f"lockstep.{kind}", now_ms, data)

    def _event(self, id_: str, kind: str, at_ms: int, data: Any) -> Mapping[str, Any]:
        return {**envelope(id_, kind, self._source, self._subject, at_ms), "data": data}


def wants_cloudevents(request: web.Request) -> bool:
    """Whether `format=cloudevents` is asked for, or an Accept header names CloudEvents. Problem 400
    for a format that there is not."""
    asked = request.query.get("format")
    if asked not in (None, "json", "cloudevents"):
        raise Problem(
            HTTPStatus.BAD_REQUEST, f"there is no format '{asked[:40]}'",
            hint="format=json or format=cloudevents",
        )  # fmt: skip
    accepted: Sequence[str] = request.headers.getall("Accept", ())
    return asked == "cloudevents" or (
        asked is None and any(_CLOUDEVENTS in one for one in accepted)
    )


def form_of(app: str, schema: StreamSchema, since_ms: int, *, is_cloud: bool) -> Form:
    """The form that was asked for."""
    return CloudEvents(app, schema, since_ms) if is_cloud else Own(schema)
