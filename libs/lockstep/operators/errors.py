"""What may go wrong while an event is processed, and how it is told."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Protocol

from lockstep.events import Fault, LockstepError
from lockstep.operators.contract import StreamEvent


class EventError(LockstepError):
    """An event that a function or operator cannot process: its chunk is dropped (semantics 18)."""

    fault = Fault.USER


class LeavingError(EventError):
    """An event that came without trouble and that an aggregator cannot let go of."""


class SnapshotError(LockstepError):
    """A snapshot that does not fit: of another version, another app, or damaged."""

    fault = Fault.EXTERNAL


EVENT_ERRORS = (
    ArithmeticError,
    AttributeError,
    LockstepError,
    LookupError,
    TypeError,
    ValueError,
    struct.error,
)
"""What one event, or a part of a chunk, may fail of by itself, while the others go on."""

PROCESSING_ERRORS = (*EVENT_ERRORS, RecursionError)
"""What a junction contains: the errors that values, not programs, can cause. Everything else
escapes. What goes too deep is a limit of the whole chunk (limits.too_deep).
"""


class FaultListener(Protocol):
    """Hears of dropped chunks."""

    def __call__(
        self, stream: str, events: Sequence[StreamEvent], query: str | None, error: BaseException
    ) -> None:
        """`events` of `stream` were dropped because of `error`."""
