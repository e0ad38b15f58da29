"""The routes of SCIM, for the OpenAPI document. Bodies and answers are those of RFC 7643."""

from __future__ import annotations

from typing import Any, Final

from lockstep.frame.openapi import Described
from lockstep_services.coordinator.scim.answers import CONTENT_TYPE
from lockstep_services.coordinator.scim.routes import ROOT

_PAGE: Final = ("filter", "startIndex", "count", "attributes", "excludedAttributes")
_PARTS: Final = ("attributes", "excludedAttributes")


def _of(method: str, path: str, summary: str, **more: Any) -> Described:
    return Described(method, ROOT + path, summary, dict[str, Any], content=CONTENT_TYPE, **more)


def _resource(kind: str) -> tuple[Described, ...]:
    many, one = f"/{kind}s", f"/{kind}s/{{{kind.lower()}}}"
    body = dict[str, Any]
    return (
        _of("GET", many, f"SCIM: {kind.lower()}s, by filter and page.", query=_PAGE),
        _of("POST", many, f"SCIM: makes a {kind.lower()}.", body=body, status=201),
        _of("GET", one, f"SCIM: a {kind.lower()} by its id.", query=_PARTS),
        _of("PUT", one, f"SCIM: replaces a {kind.lower()}.", body=body),
        _of("PATCH", one, f"SCIM: changes a {kind.lower()}.", body=body, others=(204,)),
        Described("DELETE", ROOT + one, f"SCIM: removes a {kind.lower()}.", status=204),
    )


SCIM: Final = (
    _of("GET", "/ServiceProviderConfig", "SCIM: what is supported."),
    _of("GET", "/ResourceTypes", "SCIM: that there are users and groups."),
    _of("GET", "/ResourceTypes/{kind}", "SCIM: one of them."),
    _of("GET", "/Schemas", "SCIM: what is kept of them."),
    _of("GET", "/Schemas/{schema}", "SCIM: what is kept of one of them."),
    *_resource("User"),
    *_resource("Group"),
)
