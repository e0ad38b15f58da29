"""Answers of SCIM (RFC 7644): resources, pages of them, and errors in its own form."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

import msgspec
from aiohttp import web

from lockstep.events import Fault, LockstepError
from lockstep.events.typed import converted
from lockstep.frame import Problem
from lockstep.frame.bodies import read_body, whole_number
from lockstep.rights.accounts import AccountError
from lockstep_services.coordinator.scim.announced import MAX_PAGE
from lockstep_services.coordinator.scim.errors import ScimError
from lockstep_services.coordinator.scim.filters import Filter, parsed
from lockstep_services.coordinator.scim.patches import Operation

CONTENT_TYPE: Final = "application/scim+json"
DEFAULT_PAGE: Final = 100
_LIST: Final = "urn:ietf:params:scim:api:messages:2.0:ListResponse"
_ERROR: Final = "urn:ietf:params:scim:api:messages:2.0:Error"
_ALWAYS: Final = frozenset({"schemas", "id"})
_HIGHEST: Final = 1_000_000_000
Handler = Callable[[web.Request], Awaitable[web.Response]]
Body = dict[str, Any]


def answering(handler: Handler) -> Handler:
    """Errors in SCIM's form. What is wrong inside goes on to the door, which logs it."""

    async def answer(request: web.Request) -> web.Response:
        try:
            return await handler(request)
        except LockstepError as error:
            if error.fault is Fault.INTERNAL:
                raise
            return _refused(error)

    return answer


def told(body: Mapping[str, Any]) -> Handler:
    """Always the same."""

    async def tell(request: web.Request) -> web.Response:
        if "filter" in request.query:
            raise ScimError("", "nothing is filtered here", status=HTTPStatus.FORBIDDEN)
        return _json(body)

    return tell


def one_of(bodies: Sequence[Mapping[str, Any]], key: str) -> Handler:
    """Always the same, by the id that stands in the address under that name."""

    async def tell(request: web.Request) -> web.Response:
        identity = request.match_info[key]
        found = next((one for one in bodies if one["id"] == identity), None)
        if found is None:
            raise ScimError("", f"there is no '{identity}'", status=HTTPStatus.NOT_FOUND)
        return _json(found)

    return tell


def wanted(request: web.Request, attributes: frozenset[str]) -> Filter | None:
    """The filter in the address. ScimError invalidFilter."""
    text = request.query.get("filter", "").strip()
    return parsed(text, attributes) if text else None


def resource(request: web.Request, body: Body, status: int = 200) -> web.Response:
    """One, with the attributes that were asked for."""
    response = _json(_narrowed(request, body), status)
    if status == HTTPStatus.CREATED:
        response.headers["Location"] = body["meta"]["location"]
    return response


def listed(request: web.Request, total: int, body: Callable[[int], Body]) -> web.Response:
    """A page; `body` gives the resource at a place. ScimError."""
    start = max(1, _number(request, "startIndex", 1))
    count = min(MAX_PAGE, _number(request, "count", DEFAULT_PAGE))
    places = range(start - 1, min(total, start - 1 + count))
    return _json(page([_narrowed(request, body(at)) for at in places], total, start))


def page(found: Sequence[Mapping[str, Any]], total: int, start: int = 1) -> Body:
    """A list as SCIM has it."""
    return {
        "schemas": [_LIST],
        "totalResults": total,
        "startIndex": start,
        "itemsPerPage": len(found),
        "Resources": list(found),
    }


async def read_operations(request: web.Request) -> list[Operation]:
    """Of a PATCH; its word `Operations` in any case, and of each the words too. Problem,
    ScimError."""
    body: Body = await read_body(request, Body)
    given = next((one for name, one in body.items() if name.lower() == "operations"), None)
    if isinstance(given, list):
        given = [
            {name.lower(): value for name, value in one.items()} if isinstance(one, dict) else one
            for one in given
        ]
    try:
        return converted(given, list[Operation])
    except msgspec.ValidationError as error:
        raise ScimError("invalidSyntax", f"the body is no PATCH: {error}") from error


def _number(request: web.Request, name: str, otherwise: int) -> int:
    """Negative ones are 0, as the RFC has it."""
    text = request.query.get(name, "")
    if not text:
        return otherwise
    number = whole_number(text.removeprefix("-"), _HIGHEST)
    if number is None:
        raise ScimError("invalidValue", f"{name} is a whole number up to {_HIGHEST}")
    return 0 if text.startswith("-") else number


def _narrowed(request: web.Request, body: Body) -> Body:
    """`attributes` and `excludedAttributes`, of whole attributes."""
    return {name: value for name, value in body.items() if is_shown(request, name)}


def is_shown(request: web.Request, attribute: str) -> bool:
    """Whether it is answered."""
    only, without = _names(request, "attributes"), _names(request, "excludedAttributes")
    name = attribute.lower()
    return attribute in _ALWAYS or ((not only or name in only) and name not in without)


def _names(request: web.Request, parameter: str) -> set[str]:
    given = request.query.get(parameter, "").lower().split(",")
    return {one.strip().rpartition(":")[2].partition(".")[0] for one in given if one.strip()}


def _refused(error: LockstepError) -> web.Response:
    kind, status = "", HTTPStatus.SERVICE_UNAVAILABLE
    if isinstance(error, ScimError):
        kind, status = error.kind, error.status
    elif isinstance(error, Problem):
        status = error.status
        kind = "invalidSyntax" if status == HTTPStatus.BAD_REQUEST else ""
    elif isinstance(error, AccountError):
        kind, status = "invalidValue", HTTPStatus.BAD_REQUEST
    elif error.fault is Fault.USER:
        status = HTTPStatus.BAD_REQUEST
    said = error.message if error.hint is None else f"{error.message} ({error.hint})"
    body = {"schemas": [_ERROR], "status": str(int(status)), "detail": said}
    response = _json(body | ({"scimType": kind} if kind else {}), int(status))
    if error.retryable:
        response.headers["Retry-After"] = "1"
    return response


def _json(body: Mapping[str, Any], status: int = 200) -> web.Response:
    return web.json_response(body, status=status, content_type=CONTENT_TYPE)
