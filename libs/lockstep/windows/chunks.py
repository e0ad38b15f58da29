"""What the windows share: where they emit to, and the default answers of those without timers or
content.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lockstep.operators.contract import CURRENT, EXPIRED, RESET, Emit, PlainState, StreamEvent
from lockstep.windows.registry import WindowCall


def nowhere(chunk: list[Any]) -> None:
    """The `emit` of a link that nobody has connected yet."""


class WindowBase:
    """A window without timers whose findable content is `held` (semantics 7)."""

    def __init__(self, call: WindowCall) -> None:
        self.context = call.context
        self.emit: Emit = nowhere

    def process(self, chunk: list[StreamEvent]) -> None:
        """See operators.contract.Window."""
        raise NotImplementedError

    def on_timer(self, due_ms: int) -> None:
        """No timers by default."""

    def content(self) -> Iterable[StreamEvent]:
        """Nothing to find by default."""
        return ()

    def snapshot(self) -> PlainState:
        """No state by default."""
        return None

    def restore(self, state: PlainState) -> None:
        """No state by default."""


def expired(event: StreamEvent, timestamp_ms: int) -> StreamEvent:
    """The event's expired copy."""
    return StreamEvent(timestamp_ms, event.data, EXPIRED)


def reset(timestamp_ms: int) -> StreamEvent:
    """The mark between two batches."""
    return StreamEvent(timestamp_ms, (), RESET)


def batch_chunk(
    previous: Iterable[StreamEvent], batch: list[StreamEvent], now: int, *, with_reset: bool = True
) -> list[StreamEvent]:
    """`[expired of the previous batch] [RESET] [current of this batch]` (semantics 7)."""
    chunk = [StreamEvent(now, event.data, EXPIRED) for event in previous]
    if with_reset and (chunk or batch):
        chunk.append(reset(now))
    chunk += batch
    return chunk


__all__ = [
    "CURRENT",
    "EXPIRED",
    "RESET",
    "WindowBase",
    "batch_chunk",
    "expired",
    "nowhere",
    "reset",
]
