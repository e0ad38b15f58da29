"""What Grafana's JSON data source sends and gets, for its routes and their OpenAPI description."""

from __future__ import annotations

from typing import Annotated, Any, Final, NotRequired, TypedDict

import msgspec

from lockstep.frame.openapi import Described

MAX_REF_CHARACTERS: Final = 64
Ref = Annotated[str, msgspec.Meta(max_length=MAX_REF_CHARACTERS)]
Payload = dict[str, Any]


class Asked(msgspec.Struct, frozen=True, rename="camel"):
    """A body. Everything in it may be left out, and what is not known is not looked at: each
    release of the plug-in sends some fields of its own."""


class Between(Asked, frozen=True):
    """The times that a panel shows, as RFC 3339 has them."""

    since: str | None = msgspec.field(default=None, name="from")
    until: str | None = msgspec.field(default=None, name="to")


class Target(Asked, frozen=True):
    """`target`: App/Stream or App/Stream/attribute. `payload`: `query`, `type`."""

    target: str = ""
    ref_id: Ref | None = None
    type: str | None = None
    payload: Payload | None = None


class AdHoc(Asked, frozen=True):
    """A filter of the whole dashboard."""

    key: str = ""
    operator: str = "="
    value: str | int | float | bool = ""


class Panel(Asked, frozen=True):
    """What a panel asks for."""

    targets: list[Target] = []
    range: Between | None = None
    max_data_points: int | float | None = None
    adhoc_filters: list[AdHoc] | None = None


class Search(Asked, frozen=True):
    """A part of the names that are looked for."""

    target: str | None = None


class Metrics(Asked, frozen=True):
    """What the query builder has chosen so far."""

    metric: str | int | None = None
    payload: Payload | None = None


class PayloadOptions(Asked, frozen=True):
    """Which field of the query builder was opened."""

    name: str = ""
    metric: str | int | None = None
    payload: Payload | None = None


class Variable(Asked, frozen=True):
    """`payload.target`: nothing, an app, a stream or an attribute, whose names or values a variable
    offers."""

    payload: Payload | None = None


class Annotations(Asked, frozen=True):
    """`annotation.query`: App/Stream or App/Stream/attribute."""

    annotation: dict[str, Any] | None = None
    range: Between | None = None


class TagKeys(Asked, frozen=True):
    """Nothing that matters here."""


class TagValues(Asked, frozen=True):
    """An attribute."""

    key: str = ""


class Works(TypedDict):
    """The address and the token are right."""

    status: str


class Option(TypedDict):
    """What can be chosen."""

    label: str
    value: str


class Field(TypedDict):
    """A field of the query builder."""

    label: str
    name: str
    type: str
    placeholder: str
    options: NotRequired[list[Option]]


class Metric(TypedDict):
    """A target, with the fields that the query builder shows for it."""

    label: str
    value: str
    payloads: list[Field]


class Series(TypedDict):
    """Points as [value, milliseconds], oldest first."""

    target: str
    datapoints: list[tuple[int | float | None, int]]
    refId: NotRequired[str | None]


class Column(TypedDict):
    """`type`: time, number, string or boolean."""

    text: str
    type: str


class Rows(TypedDict):
    """A table; `type` is "table"."""

    type: str
    columns: list[Column]
    rows: list[list[Any]]
    refId: NotRequired[str | None]


class Choice(TypedDict):
    """A value of a variable."""

    __text: str
    __value: str


class Annotation(TypedDict):
    """A row as a mark in the panels; `annotation` is what was sent."""

    annotation: dict[str, Any]
    time: int
    title: str
    text: str
    tags: list[str]


class Tag(TypedDict):
    """An attribute; `type` is string or number."""

    type: str
    text: str


class TagValue(TypedDict):
    """A value of an attribute."""

    text: str


GRAFANA: Final = (
    Described("GET", "/grafana", "Grafana tries the data source.", Works),
    Described("GET", "/grafana/", "The same, as some releases ask.", Works),
    Described("POST", "/grafana/search", "Targets by a part of their name.", list[str], Search),
    Described("POST", "/grafana/metrics", "Targets for the builder.", list[Metric], Metrics),
    Described(
        "POST",
        "/grafana/metric-payload-options",
        "What a field of the builder offers.",
        list[Option],
        PayloadOptions,
    ),
    Described("POST", "/grafana/query", "What panels show.", list[dict[str, Any]], Panel),
    Described(
        "POST", "/grafana/variable", "What a variable offers.", list[dict[str, str]], Variable
    ),
    Described("POST", "/grafana/annotations", "Rows as marks.", list[Annotation], Annotations),
    Described("POST", "/grafana/tag-keys", "What can be filtered by.", list[Tag], TagKeys),
    Described("POST", "/grafana/tag-values", "Values to filter by.", list[TagValue], TagValues),
)
