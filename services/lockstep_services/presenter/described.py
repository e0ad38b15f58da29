"""The presenter's routes, for its OpenAPI document."""

from __future__ import annotations

from typing import Any, Final, NotRequired, TypedDict

from lockstep.frame.openapi import HTML, TEXT, Described
from lockstep_services.presenter.grafana_described import GRAFANA

EVENTS: Final = "text/event-stream"


class Latest(TypedDict):
    """The newest rows of a stream, newest first; `total`: how many this presenter has read."""

    stream: str
    total: int
    events: list[dict[str, Any]]


class Polled(TypedDict):
    """Rows behind an identity, oldest first; `gap`: some are not kept any more."""

    events: list[dict[str, Any]]
    after: str
    gap: bool


class Table(TypedDict):
    """Rows of a stored table, as its changes tell, the last changed first; `count`: how many the
    presenter has. `complete`: whether they are all; if not, `missing` says why and what to do."""

    table: str
    key: list[str]
    count: int
    forgotten: int
    complete: bool
    missing: str | None
    rows: list[dict[str, Any]]


class Query(TypedDict):
    """An on-demand query."""

    query: str
    details: NotRequired[bool]


class StoreQuery(TypedDict):
    """The same, as the older products have it."""

    appName: str
    query: str
    details: NotRequired[bool]


class Records(TypedDict):
    """Its rows; `changed`: how many a write changed; `details`: names and types of the columns."""

    records: list[list[Any]]
    position: int
    changed: NotRequired[int]
    details: NotRequired[list[dict[str, str]]]


class Overview(TypedDict):
    """What the live page shows first."""

    apps: list[dict[str, Any]]
    nodes: list[dict[str, Any]]


class App(TypedDict):
    """What there is to see of an app."""

    app: str
    version: str
    edition: str
    text: str
    streams: list[dict[str, Any]]
    tables: list[dict[str, Any]]


_STREAM: Final = "/v1/apps/{app}/streams/{stream}"
ROUTES: Final = (
    Described("GET", f"{_STREAM}/latest", "Newest rows, newest first.", Latest, query=("limit",)),
    Described(
        "GET",
        f"{_STREAM}/poll",
        "Rows behind an identity; waits for some.",
        Polled,
        query=("after", "wait_ms", "format"),
    ),
    Described(
        "GET", f"{_STREAM}/sse", "Rows as they come.", content=EVENTS, query=("after", "format")
    ),
    Described(
        "GET",
        f"{_STREAM}/ws",
        "Rows as they come, over a WebSocket.",
        status=101,
        query=("after", "format"),
    ),
    Described(
        "GET", "/v1/apps/{app}/tables/{table}", "Rows of a stored table.", Table, query=("limit",)
    ),
    Described(
        "POST", "/v1/apps/{app}/query", "Asks, or changes, what an app holds.", Records, Query
    ),
    Described(
        "POST", "/stores/query", "The same, as the older products have it.", Records, StoreQuery
    ),
    Described("GET", "/", "The live page.", content=HTML),
    Described("GET", "/apps/{app}", "The live page of an app.", content=HTML),
    Described("GET", "/assets/{name}", "What the live page consists of.", content=TEXT),
    Described("GET", "/v1/live", "What the live page shows first.", Overview),
    Described("GET", "/v1/live/{app}", "What there is to see of an app.", App),
    Described(
        "GET", "/v1/apps/{app}/live", "Rows and figures of an app as they come.", content=EVENTS
    ),
    *GRAFANA,
)
