"""Answers of the suite's HTTP doors: what they hold, and what an error says to people."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from lockstep.events import Fault, LockstepError, UnavailableError
from lockstep.events.unreached import why_unreached

HINT_UNREACHED: Final = "is it running there? `lockstep run` and `lockstep up` start a suite"
RETRYABLE: Final = frozenset(
    {
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.SERVICE_UNAVAILABLE,
        HTTPStatus.BAD_GATEWAY,  # a proxy in front of the services says these two
        HTTPStatus.GATEWAY_TIMEOUT,
    }
)
HINT_TOKEN: Final = (
    "log in with `lockstep login <user>`, or give a token with --token or LOCKSTEP_CLIENT__TOKEN"
)


class RefusedError(LockstepError):
    """A service answered with an error; `status` is the HTTP status, `problem` its body."""

    def __init__(
        self, status: int, problem: Mapping[str, Any], retry_after_s: float | None
    ) -> None:
        text = str(problem.get("detail") or problem.get("title") or f"HTTP {status}")
        errors: Sequence[Mapping[str, Any]] = problem.get("errors") or ()
        alone = len(errors) == 1 and errors[0].get("message") == text and problem.get("where")
        details = "" if alone else "; ".join(filter(None, map(detail, errors)))
        text = f"{text}: {details}" if details else text
        hint = HINT_TOKEN if status == HTTPStatus.UNAUTHORIZED else problem.get("hint")
        where = problem.get("where") or next(filter(None, map(_position, errors)), None)
        super().__init__(text, where=where, hint=hint)
        self.status = status
        self.problem = problem
        self.retry_after_s = retry_after_s
        self.retryable = status in RETRYABLE
        self.fault = Fault.USER if status < 500 and status != 429 else Fault.EXTERNAL


def unreached(what: str, error: BaseException) -> UnavailableError:
    """No answer came: `what` says of what."""
    return UnavailableError(f"{what}: {why_unreached(error)}", hint=HINT_UNREACHED)


def answer_of(status: int, retry_after: str | None, payload: bytes) -> Any:
    """The decoded JSON of an answer (None when empty). Raises RefusedError for one of an error."""
    answer = _decoded(payload)
    if status >= HTTPStatus.BAD_REQUEST:
        problem = answer if isinstance(answer, dict) else {"detail": str(answer)}
        raise RefusedError(status, problem, float(retry_after) if retry_after else None)
    return answer


def detail(error: Mapping[str, Any]) -> str:
    """One entry of a problem's `errors`, which may hold those of a whole line; empty where it
    says no more than where."""
    inner = "; ".join(detail(one) for one in error.get("errors") or ())
    message = str(error.get("message") or inner)
    place = f"line {error['line']}" if error.get("line") else error.get("field")
    return f"{place}: {message}" if place and message else message


def _position(error: Mapping[str, Any]) -> str | None:
    """Of a text's mistake whose words stand beside `errors`: where in the text it is."""
    if error.get("message") or not (error.get("line") and error.get("column")):
        return None
    return f"line {error['line']}:{error['column']}"


def _decoded(payload: bytes) -> Any:
    if not payload:
        return None
    try:
        return json.loads(payload)
    except ValueError:
        return payload.decode(errors="replace")
