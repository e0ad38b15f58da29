"""Times as people type them."""

from __future__ import annotations

from datetime import UTC, datetime

from lockstep.events import Fault, LockstepError


class TimeError(LockstepError):
    """Not a time: the caller's mistake."""

    fault = Fault.USER


def parsed_ms(text: str) -> int:
    """Epoch milliseconds of an ISO 8601 date or time (UTC where it names no zone); TimeError."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise TimeError(
            f"'{text}' is no time", hint="for example 2026-03-01 or 2026-03-01T14:05:00+01:00"
        ) from error
    return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000)
