"""Times as people type them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from lockstep.events import Fault, LockstepError

_AGO: Final = re.compile(r"(\d{1,6})(s|m|min|h|d)")
_UNITS_MS: Final = {"s": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


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


def since_ms(text: str, now_ms: int) -> int:
    """A time, or how long ago it was: 90s, 15m, 1h, 7d; TimeError."""
    ago = _AGO.fullmatch(text)
    if ago is not None:
        return max(0, now_ms - int(ago[1]) * _UNITS_MS[ago[2]])
    try:
        return parsed_ms(text)
    except TimeError as error:
        raise TimeError(
            f"'{text}' is no time, and not how long ago it was",
            hint="for example 15m, 1h, 7d or 2026-03-01T14:05:00+01:00",
        ) from error


def shown_ms(epoch_ms: int | None) -> str:
    """The same the other way round, in UTC to the second; nothing for none."""
    if epoch_ms is None:
        return ""
    return datetime.fromtimestamp(epoch_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def shown_exactly(epoch_ms: int) -> str:
    """In UTC to the millisecond."""
    found = datetime.fromtimestamp(epoch_ms / 1000, UTC)
    return found.isoformat(timespec="milliseconds").replace("+00:00", "Z")
