"""Answers of the suite's HTTP doors: what they hold, and what an error says to people."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urljoin

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


HINT_HEADER: Final = "see what the token, or the id, was read from"
HINT_MOVED: Final = "if the suite is there, give --url that address without /v1 and the rest"
HINT_ADDRESS: Final = "see what --url, or LOCKSTEP_CLIENT__URL, says"


class RefusedError(LockstepError):
    """A service answered with an error; `status` is the HTTP status, `problem` its body."""

    def __init__(
        self, status: int, problem: Mapping[str, Any], retry_after_s: float | None
    ) -> None:
        text = str(problem.get("detail") or problem.get("title") or f"HTTP {status}")
        errors = _objects(problem.get("errors"))
        alone = len(errors) == 1 and errors[0].get("message") == text and problem.get("where")
        details = "" if alone else "; ".join(filter(None, map(detail, errors)))
        text = f"{text}: {details}" if details else text
        said = problem.get("hint")
        hint = HINT_TOKEN if status == HTTPStatus.UNAUTHORIZED else said and str(said)
        where = problem.get("where") or next(filter(None, map(_position, errors)), None)
        super().__init__(text, where=where, hint=hint)
        self.status = status
        self.problem = problem
        self.retry_after_s = retry_after_s
        self.retryable = status in RETRYABLE
        self.fault = Fault.USER if status < 500 and status != 429 else Fault.EXTERNAL

    @property
    def refused_rows(self) -> Sequence[Mapping[str, Any]]:
        """What is wrong with each row that was sent, where all were refused and each is named."""
        found = self.problem.get("errors")
        if self.status != HTTPStatus.BAD_REQUEST or not isinstance(found, list):
            return ()
        named = all(isinstance(one, Mapping) and isinstance(one.get("line"), int) for one in found)
        return found if named else ()


class NotLockstepError(LockstepError):
    """Something else answers at the address, or sends elsewhere; it stays so when asked again."""

    fault = Fault.EXTERNAL


class Answer(dict[str, Any]):
    """What a service answered. A member that it lacks is a NotLockstepError."""

    def __init__(self, members: Mapping[str, Any], url: str) -> None:
        super().__init__(members)
        self._url = url

    def __missing__(self, name: str) -> Any:
        raise NotLockstepError(
            f"{_not_lockstep(self._url)}: its answer has no '{name}'", hint=HINT_ADDRESS
        )


class UnsendableError(LockstepError):
    """A header that HTTP cannot carry; its value may be a secret and is not told."""

    fault = Fault.USER


def sendable(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers; UnsendableError for one with a line end or another control character, and for
    one that is no text."""
    for name, value in headers.items():
        if has_halves(value):
            raise UnsendableError(
                f"the value of the header {name} is no text in UTF-8", hint=HINT_HEADER
            )
        if has_control(value):
            raise UnsendableError(
                f"the value of the header {name} has a line end or a control character in it",
                hint=HINT_HEADER,
            )
    return dict(headers)


def has_control(text: str) -> bool:
    """It holds what no header can."""
    return any(ord(one) < 0x20 or ord(one) == 0x7F for one in text)


def has_halves(text: str) -> bool:
    """It holds halves of characters, as Python reads bytes that are not UTF-8."""
    return any("\ud800" <= one <= "\udfff" for one in text)


def unreached(what: str, error: BaseException) -> UnavailableError:
    """No answer came: `what` says of what."""
    return UnavailableError(f"{what}: {why_unreached(error)}", hint=HINT_UNREACHED)


def answer_of(
    status: int, retry_after: str | None, payload: bytes, *, url: str = "", leads_to: str = ""
) -> Any:
    """What an answer holds: a JSON object, or None with status 204. `url`: who was asked;
    `leads_to`: the header Location. Raises RefusedError for an answer of an error, and
    NotLockstepError for one that no service of the suite gives."""
    answer = _decoded(payload)
    if status >= HTTPStatus.BAD_REQUEST:
        problem = answer if isinstance(answer, dict) else {"detail": answer and str(answer)}
        raise RefusedError(status, problem, _seconds(retry_after))
    if status >= HTTPStatus.MULTIPLE_CHOICES:
        place = _whole(url, leads_to) if leads_to else "nowhere"
        raise NotLockstepError(f"{url or 'it'} leads to {place}", hint=HINT_MOVED)
    if status == HTTPStatus.NO_CONTENT:
        return None
    if not isinstance(answer, dict):
        raise NotLockstepError(_not_lockstep(url), hint=HINT_ADDRESS)
    return Answer(answer, url)


def _whole(url: str, leads_to: str) -> str:
    """An address that may be relative, without what stands behind it: that may be a secret."""
    with suppress(ValueError):
        leads_to = urljoin(url, leads_to)
    return leads_to.partition("?")[0]


def _not_lockstep(url: str) -> str:
    return f"what answers at {url or 'this address'} is not Lockstep"


def detail(error: Mapping[str, Any]) -> str:
    """One entry of a problem's `errors`, which may hold those of a whole line; empty where it
    says no more than where."""
    inner = "; ".join(detail(one) for one in _objects(error.get("errors")))
    message = str(error.get("message") or inner)
    place = f"line {error['line']}" if error.get("line") else error.get("field")
    return f"{place}: {message}" if place and message else message


def _objects(found: Any) -> list[Mapping[str, Any]]:
    """A problem's entries. A proxy's answer may hold anything under that name."""
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


def _seconds(retry_after: str | None) -> float | None:
    """None for a date, too: the caller pauses as it would without."""
    text = retry_after or ""
    return float(text) if text.replace(".", "", 1).isdecimal() and text.isascii() else None


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
