"""Why PostgreSQL cannot be had just now, in words for people."""

from __future__ import annotations

import os
import ssl

from lockstep.events.unreached import why_unreached


def why_away(error: BaseException) -> str:
    """`no answer in time`, `connection refused`, or what the server says; never empty."""
    if isinstance(error, TimeoutError):  # also an OSError, and mostly without a text
        return "no answer in time"
    if isinstance(error, ssl.SSLError):  # an OSError, whose number is none of the system's
        return why_unreached(error)
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno).lower()
    return str(error) or type(error).__name__
