"""The receiver's routes, for its OpenAPI document."""

from __future__ import annotations

from typing import Any, Final, NotRequired, TypedDict

from lockstep.frame.openapi import Described


class Taken(TypedDict):
    """What was accepted, and where it stands in the input log."""

    accepted: int
    chunks: int
    first_position: int
    last_position: int
    duplicate: bool
    refused: list[Any]
    refused_count: int


class WantedRows(TypedDict):
    """Of a table, or what a SELECT gives; one of the two."""

    table: NotRequired[str]
    select: NotRequired[str]
    max_rows: NotRequired[int]


class DatasourceName(TypedDict):
    """`kind`: postgresql or mysql."""

    name: str
    kind: str


class DatasourceNames(TypedDict):
    """All that the settings name."""

    datasources: list[DatasourceName]


class DatasourceRows(TypedDict):
    """`is_cut`: there are more than one answer holds."""

    columns: list[str]
    rows: list[list[Any]]
    is_cut: bool


_QUERY: Final = ("timestamp_ms", "chunk")
ROUTES: Final = (
    Described(
        "POST", "/v1/apps/{app}/streams/{stream}/events",
        "Takes events of a stream: JSON, NDJSON or Arrow. Answers when they are durable.",
        Taken, "bytes", others=(207,), query=_QUERY,
    ),
    Described(
        "POST", "/v1/apps/{app}/events",
        "Takes NDJSON lines that name their streams.", Taken, "bytes", others=(207,), query=_QUERY,
    ),
    Described(
        "GET", "/v1/datasources", "The named datasources: names and kinds alone.", DatasourceNames
    ),
    Described(
        "POST", "/v1/datasources/{datasource}/rows",
        "Reads rows of a named datasource, to feed an app with them. Changes nothing there.",
        DatasourceRows, WantedRows,
    ),
    Described(
        "POST", "/{path}",
        "Takes messages at the path that an app's own http source names. Of an http-service the"
        " answer is the app's, in its form; 504 when it says nothing in time.", Taken, "bytes",
        others=(207,), query=_QUERY,
    ),
    Described(
        "POST", "/{app}/{stream}", "Takes events at the older products' address.", Taken, "bytes",
        others=(207,), query=_QUERY,
    ),
)  # fmt: skip
