"""Why PostgreSQL cannot be had just now, in words for people."""

from __future__ import annotations

import os
import ssl
from typing import Final

import asyncpg

from lockstep.events.unreached import why_unreached

STATEMENT_LOST: Final = (
    asyncpg.InvalidSQLStatementNameError,
    asyncpg.DuplicatePreparedStatementError,
)
"""A session that was given another server connection, where its prepared statement is not there, or
another session's of that name: no fault of what was sent."""


def why_away(error: BaseException) -> str:
    """`no answer in time`, `connection refused`, or what the server says; never empty."""
    if isinstance(error, TimeoutError):  # also an OSError, and mostly without a text
        return "no answer in time"
    if isinstance(error, ssl.SSLError):  # an OSError, whose number is none of the system's
        return why_unreached(error)
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno).lower()
    if isinstance(error, STATEMENT_LOST):  # the driver's own text tells programmers what to do
        return (
            f"{error.args[0].partition(chr(10))[0]}: a pooler in between gives a session other"
            " server connections and hides it; let it pool sessions, or keep prepared statements"
        )
    return str(error) or type(error).__name__
