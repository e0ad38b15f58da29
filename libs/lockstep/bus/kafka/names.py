"""Names of topics. Letters, digits, `.` and `-` alone: brokers refuse a topic that differs from
another one in `.` against `_` only, so `_` is escaped, too."""

from __future__ import annotations

import re
from typing import Final

from lockstep.bus.subjects import InvalidNameError

_MAX_BYTES: Final = 249  # as Kafka has it
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9.%]")


def topic_of(prefix: str, subject: str) -> str:
    """The topic that holds the log of a subject. Errors: InvalidNameError."""
    # `%` begins an escape in a subject, or stands alone for the empty name.
    safe = _UNSAFE.sub(lambda found: f"%{ord(found[0]):02X}", subject).replace("%", "-")
    topic = f"{prefix}.{safe}"
    if len(topic) > _MAX_BYTES:
        raise InvalidNameError(
            f"a topic's name of {len(topic)} bytes; Kafka takes {_MAX_BYTES}", where=subject[:60]
        )
    return topic


def subject_of(prefix: str, topic: str) -> str:
    """The subject whose log a topic holds, which `topic_of` has named."""
    return topic.removeprefix(f"{prefix}.").replace("-", "%")
