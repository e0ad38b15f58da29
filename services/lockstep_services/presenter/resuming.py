"""Where a listener goes on: the ids of server-sent events, which bear since when the app's logs
exist, so that one of a purged app says nothing about the next one's rows."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from lockstep.events import OutputId
from lockstep.frame import Problem
from lockstep.frame.bodies import whole_number
from lockstep_services.presenter.models import identity, parse_identity

MAX_SINCE_MS: Final = 10**18
BEGINNING = OutputId(0, 0)
"""Before every row: positions count from 1."""


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """Behind which row to go on; None: with what comes. `is_anew`: that row's log is gone."""

    seen: OutputId | None
    is_anew: bool = False


def event_id(row: OutputId, since_ms: int) -> str:
    """Of a row's event: `<since>.<position>.<ordinal>`, without the time where none was noted."""
    return f"{since_ms}.{identity(row)}" if since_ms else identity(row)


def resume_point(given: str | None, since_ms: int) -> ResumePoint:
    """Where who gives this goes on. An identity without a time is one of the present log's.
    Problem 400 when it is neither.
    """
    since, _, rest = (given or "").partition(".")
    noted_ms = whole_number(since, MAX_SINCE_MS)
    if rest.count(".") != 1 or noted_ms is None:
        return ResumePoint(identity_of(given))
    seen = identity_of(rest)
    return ResumePoint(seen) if noted_ms == since_ms else ResumePoint(BEGINNING, is_anew=True)


def identity_of(text: str | None) -> OutputId | None:
    """The identity given, None when none was; Problem 400 when it is malformed."""
    if text is None or text == "":
        return None
    found = parse_identity(text)
    if found is None:
        raise Problem(
            HTTPStatus.BAD_REQUEST, f"'{text[:40]}' is not an identity",
            hint="an identity looks like 12.0",
        )  # fmt: skip
    return found
