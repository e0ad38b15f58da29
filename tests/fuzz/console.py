"""The console's routes, in the form of an OpenAPI document: it serves pages, and has none."""

from __future__ import annotations

from typing import Any, Final

_FORM: Final = "application/x-www-form-urlencoded"
_TEXT: Final = {"type": "string"}


def _form(*names: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": dict.fromkeys(names, _TEXT)}
    return {"requestBody": {"content": {_FORM: {"schema": schema}}}}


PAGES: Final = ("/", "/apps/{app}", "/write", "/try", "/watch", "/errors", "/nodes", "/history")
DOCUMENT: Final[dict[str, Any]] = {
    "paths": {
        **{path: {"get": {}} for path in PAGES},
        "/healthz": {"get": {}},
        "/readyz": {"get": {}},
        "/metrics": {"get": {}},
        "/login": {"get": {}, "post": _form("user", "password", "token", "to")},
        "/invitation": {"get": {}, "post": _form("invitation", "password", "again")},
        "/logout": {"post": {}},
        "/assets/{name}": {"get": {}},
        "/_nicegui/{path}": {"get": {}},
    }
}
OPENS: Final = frozenset(
    {
        "GET /healthz", "GET /readyz", "GET /metrics", "GET /login", "GET /invitation",
        "POST /login", "POST /invitation",
    }
)  # fmt: skip
