"""What is around the data of a CloudEvent 1.0, and its times. The presenter writes it, too."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any, Final

SPECVERSION: Final = "1.0"
MEDIA_TYPE: Final = "application/cloudevents+json"
BATCH_MEDIA_TYPE: Final = "application/cloudevents-batch+json"

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TIME: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})T([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]+))?"
    r"(Z|[+-][0-9]{2}:[0-9]{2})",
    re.IGNORECASE,
)


def envelope(id_: str, kind: str, source: str, subject: str, at_ms: int) -> dict[str, Any]:
    """All of an event with JSON in it but `data`."""
    found = {"specversion": SPECVERSION, "id": id_, "type": kind, "source": source}
    if subject:
        found["subject"] = subject
    if (time := timestamp(at_ms)) is not None:
        found["time"] = time
    return {**found, "datacontenttype": "application/json"}


def timestamp(at_ms: int) -> str | None:
    """As RFC 3339 has it; None before the year 1 and behind 9999, which it cannot say."""
    try:
        text = (_EPOCH + timedelta(milliseconds=at_ms)).isoformat(timespec="milliseconds")
    except OverflowError:
        return None
    return text.replace("+00:00", "Z")


def milliseconds(text: str) -> int | None:
    """The time of a text of RFC 3339; None when it is none. What is finer is cut off."""
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    day, clock, fraction, zone = match.groups()
    try:
        at = datetime.fromisoformat(f"{day}T{clock}{zone.upper().replace('Z', '+00:00')}")
    except ValueError:
        return None
    whole = (at - _EPOCH) // timedelta(milliseconds=1)
    return whole + int((fraction or "")[:3].ljust(3, "0"))
