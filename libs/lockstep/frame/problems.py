"""Errors as HTTP answers: problem+json (RFC 9457), by whose fault it is; never a stack trace."""

from __future__ import annotations

import json
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Final

from aiohttp import web

from lockstep.events import Fault, InvalidEventError, LockstepError
from lockstep.rights import ForbiddenError, StrangerError
from lockstep.siddhiql.errors import SiddhiQLError

CONTENT_TYPE: Final = "application/problem+json"
DEFAULT_RETRY_AFTER_MS: Final = 1_000
_STATUS: Final = {
    Fault.USER: HTTPStatus.BAD_REQUEST,
    Fault.EXTERNAL: HTTPStatus.SERVICE_UNAVAILABLE,
    Fault.INTERNAL: HTTPStatus.INTERNAL_SERVER_ERROR,
}


class Problem(LockstepError):
    """An answer with a status of its own; `errors` lists single mistakes."""

    def __init__(
        self,
        status: HTTPStatus,
        message: str,
        *,
        hint: str | None = None,
        errors: Sequence[Any] = (),
        retry_after_ms: int | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.errors = tuple(errors)
        self.retry_after_ms = retry_after_ms
        self.fault = Fault.USER if status < HTTPStatus.INTERNAL_SERVER_ERROR else Fault.EXTERNAL


def respond(error: LockstepError) -> web.Response:
    """The answer for an error."""
    if isinstance(error, Problem):
        return problem_response(
            error.status,
            error.message,
            hint=error.hint,
            errors=error.errors,
            retry_after_ms=error.retry_after_ms,
        )
    if isinstance(error, StrangerError):
        response = problem_response(HTTPStatus.UNAUTHORIZED, error.message, hint=error.hint)
        response.headers["WWW-Authenticate"] = "Bearer"
        return response
    if isinstance(error, ForbiddenError):
        return problem_response(HTTPStatus.FORBIDDEN, error.message, hint=error.hint)
    status = _STATUS[error.fault]
    if error.fault is Fault.INTERNAL:
        return problem_response(status, "something went wrong inside; the log has the details")
    extra: dict[str, Any] = {}
    if isinstance(error, SiddhiQLError):
        extra = {"line": error.line, "column": error.column}
    if isinstance(error, InvalidEventError) and error.field is not None:
        extra = {"field": error.field}
    return problem_response(
        status,
        error.message,
        hint=error.hint,
        # Of what is outside it is a folder or an address: nobody's business out there.
        where=error.where if error.fault is Fault.USER else None,
        errors=getattr(error, "errors", ()),
        retry_after_ms=DEFAULT_RETRY_AFTER_MS if error.retryable else None,
        **extra,
    )


def problem_response(
    status: int,
    detail: str,
    *,
    hint: str | None = None,
    where: str | None = None,
    errors: Sequence[Any] = (),
    retry_after_ms: int | None = None,
    **extra: Any,
) -> web.Response:
    """A problem+json answer; Retry-After in whole seconds, rounded up."""
    body: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": int(status),
        "detail": detail,
        **extra,
    }
    if hint is not None:
        body["hint"] = hint
    if where is not None:
        body["where"] = where
    if errors:
        body["errors"] = [_plain(error) for error in errors]
    headers = {}
    if retry_after_ms is not None:
        headers["Retry-After"] = str(max(1, -(-retry_after_ms // 1000)))
        body["retry_after_ms"] = retry_after_ms
    text = json.dumps(body, ensure_ascii=False)
    return web.Response(status=status, text=text, content_type=CONTENT_TYPE, headers=headers)


def _plain(error: Any) -> Any:
    as_json = getattr(error, "as_json", None)
    return as_json() if as_json is not None else error
