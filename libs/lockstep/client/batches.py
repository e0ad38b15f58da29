"""Events on their way: what is handed over, and how it is cut into requests. Pure."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from lockstep.client.limits import Limits
from lockstep.client.receipts import Receipt
from lockstep.events import Fault, LockstepError
from lockstep.events.paths import app_path, stream_path

NDJSON = "application/x-ndjson"
JSON = "application/json"


class UnwritableEventError(LockstepError):
    """A value that JSON cannot say."""

    fault = Fault.USER


@dataclass(eq=False, slots=True)
class Item:
    """One event, or events that stay together (`chunk_of` names their stream) under a `key`."""

    body: bytes
    events: int
    done: asyncio.Future[Receipt]
    watched: bool
    chunk_of: str | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """One request: NDJSON lines that name their streams, or a single chunk."""

    items: Sequence[Item]
    key: str

    def path(self, app: str) -> str:
        """Where an app takes it."""
        stream = self.items[0].chunk_of
        return f"{app_path(app) if stream is None else stream_path(app, stream)}/events"

    @property
    def content_type(self) -> str:
        """Of the body."""
        return NDJSON if self.items[0].chunk_of is None else JSON

    @property
    def body(self) -> bytes:
        """As it travels."""
        return b"\n".join(item.body for item in self.items)


def line_of(stream: str, event: Any, timestamp_ms: int | None) -> bytes:
    """An event as a line; UnwritableEventError."""
    line: dict[str, Any] = {"stream": stream, "event": event}
    if timestamp_ms is not None:
        line["_timestamp"] = timestamp_ms
    return encoded(line, stream)


def encoded(value: Any, stream: str) -> bytes:
    """JSON; UnwritableEventError."""
    try:
        body = msgspec.json.encode(value)
        # What is not finite is written as null, which would be another event.
        if b"null" in body and _has_no_number(msgspec.to_builtins(value)):
            raise UnwritableEventError("JSON has no NaN and no infinity", where=stream)
    except (TypeError, ValueError, msgspec.MsgspecError) as error:
        raise UnwritableEventError(str(error), where=stream) from error
    return body


def _has_no_number(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_no_number, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_has_no_number, value))
    return isinstance(value, float) and not math.isfinite(value)


class Waiting:
    """What waits to be sent, in order."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._items: deque[Item] = deque()
        self._events = self._bytes = 0

    def __len__(self) -> int:
        return len(self._items)

    @property
    def is_due(self) -> bool:
        """A batch is full, or something waits that goes alone."""
        limits = self._limits
        return (
            self._events >= limits.batch_events
            or self._bytes >= limits.batch_bytes
            or (len(self._items) > 0 and self._items[-1].chunk_of is not None)
        )

    def add(self, item: Item) -> None:
        """Behind all others."""
        self._items.append(item)
        self._events += item.events
        self._bytes += len(item.body)

    def take(self) -> list[Item]:
        """The next request's items: within the limits, or one that is over them alone."""
        taken = [self._items.popleft()]
        events, size = taken[0].events, len(taken[0].body)
        while taken[0].chunk_of is None and self._items:
            following = self._items[0]
            events += following.events
            size += len(following.body) + 1
            over = events > self._limits.batch_events or size > self._limits.batch_bytes
            if over or following.chunk_of is not None:
                break
            taken.append(self._items.popleft())
        self._events -= sum(item.events for item in taken)
        self._bytes -= sum(len(item.body) for item in taken)
        return taken
