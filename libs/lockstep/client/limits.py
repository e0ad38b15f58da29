"""How much a client gathers, holds and waits."""

from __future__ import annotations

from dataclasses import dataclass, fields

from lockstep.events import Fault, LockstepError

MAX_BATCH_EVENTS = 1_000
"""A receiver names at most so many refused events in one answer."""


class LimitError(LockstepError):
    """A limit that cannot be: the caller's mistake."""

    fault = Fault.USER


@dataclass(frozen=True, slots=True)
class Limits:
    """A batch goes when it has `batch_events` events or `batch_bytes` bytes, or is `batch_wait_ms`
    old. Over `pending_events` or `pending_bytes` on their way, `put` waits.

    A batch that nobody has accepted for `give_up_after_ms` is given up. Keep that below the
    receivers' `dedup_window_ms`: a repetition is then always recognised where it arrives.
    """

    batch_events: int = 500
    batch_bytes: int = 1_000_000
    batch_wait_ms: int = 5
    pending_events: int = 10_000
    pending_bytes: int = 16_000_000
    request_timeout_ms: int = 10_000
    give_up_after_ms: int = 60_000
    backoff_ms: int = 100
    backoff_max_ms: int = 5_000
    avoid_failed_ms: int = 2_000
    """How long a receiver that failed is tried last."""

    def __post_init__(self) -> None:
        for one in fields(self):
            if getattr(self, one.name) < 1:
                raise LimitError(f"{one.name}: expected 1 or more, got {getattr(self, one.name)}")
        if self.batch_events > MAX_BATCH_EVENTS:
            raise LimitError(f"batch_events: expected at most {MAX_BATCH_EVENTS}")
