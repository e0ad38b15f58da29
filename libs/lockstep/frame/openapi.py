"""The OpenAPI document of a process: made from what each service says of its routes, and served.

A test compares the routes with what is said of them, and answers with the types that are named.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Final, NotRequired, TypedDict

import msgspec

from lockstep.frame.log_route import PATH as LOG
from lockstep.frame.log_route import WrittenLines

JSON: Final = "application/json"
TEXT: Final = "text/plain"
HTML: Final = "text/html"
PATH: Final = "/openapi.json"
_REF: Final = "#/components/schemas/{name}"


class ProblemAnswer(TypedDict):
    """What went wrong (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    hint: NotRequired[str]
    retry_after_ms: NotRequired[int]


class Health(TypedDict):
    """The process lives."""

    status: str


class Readiness(TypedDict):
    """Whether the process takes work, what each check says, and which process it is."""

    status: str
    checks: dict[str, str]
    node: str
    pid: int


@dataclass(frozen=True)
class Described:
    """A route. `answer` and `body`: types of JSON; `body` "text" and "bytes" are what they say.
    `content`: of an answer that is not plain JSON. `others`: further good statuses. `query`: the
    parameters behind the question mark, all of which may be left out."""

    method: str
    path: str
    summary: str
    answer: Any = None
    body: Any = None
    content: str = JSON
    status: int = 200
    others: tuple[int, ...] = ()
    query: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """What the path has in braces."""
        return re.findall(r"\{(\w+)", self.path)


DOOR: Final = (
    Described("GET", "/healthz", "Whether the process lives.", Health),
    Described("GET", "/health", "The same, as the older products call it.", Health),
    Described("GET", "/readyz", "Whether it takes work.", Readiness),
    Described("GET", "/metrics", "What it counts, for Prometheus.", content=TEXT),
    Described("GET", PATH, "This document.", dict[str, Any]),
    Described("GET", LOG, "Its last log lines.", WrittenLines, query=("lines", "level")),
)


def document(routes: Sequence[Described], services: Sequence[str]) -> dict[str, Any]:
    """OpenAPI 3.1 of all `routes`."""
    types = [ProblemAnswer]
    for route in routes:
        types += [each for each in (route.answer, route.body) if _is_type(each)]
    schemas, components = msgspec.json.schema_components(types, ref_template=_REF)
    by_type = {id(kind): schema for kind, schema in zip(types, schemas, strict=True)}
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        operations = paths.setdefault(route.path, {})
        operations[route.method.lower()] = _operation(route, by_type)
    names = ", ".join(services)
    return {
        "openapi": "3.1.0",
        "info": {"title": f"Lockstep: {names}", "version": version("lockstep")},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def _is_type(each: Any) -> bool:
    return each is not None and not isinstance(each, str)


def _operation(route: Described, schemas: dict[int, Any]) -> dict[str, Any]:
    content: dict[str, Any] = {route.content: {"schema": {"type": "string"}}}
    if route.answer is not None:
        content = {route.content: {"schema": schemas[id(route.answer)]}}
    good = {str(code): {"description": "Done."} for code in (route.status, *route.others)}
    if route.content != JSON or route.answer is not None:
        good[str(route.status)]["content"] = content  # type: ignore[assignment]
    problem = {"application/problem+json": {"schema": schemas[id(ProblemAnswer)]}}
    operation: dict[str, Any] = {
        "summary": route.summary,
        "parameters": [
            *(
                {"name": n, "in": "path", "required": True, "schema": {"type": "string"}}
                for n in route.names
            ),
            *({"name": n, "in": "query", "schema": {"type": "string"}} for n in route.query),
        ],
        "responses": {**good, "default": {"description": "A problem.", "content": problem}},
    }
    if route.body is not None:
        operation["requestBody"] = {"content": _request(route.body, schemas)}
    return operation


def _request(body: Any, schemas: dict[int, Any]) -> dict[str, Any]:
    if body == "text":
        return {TEXT: {"schema": {"type": "string"}}}
    if body == "bytes":
        return {"*/*": {"schema": {"type": "string", "format": "binary"}}}
    return {JSON: {"schema": schemas[id(body)]}}
