"""The demo's inputs on their way to the receiver's HTTP door: batches of lines that name their
streams."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from lockstep.cli.client import Client
from lockstep.cli.replay import send_retrying
from lockstep.cli.replay_files import TIMESTAMP_FIELD
from lockstep.clock import SystemClock

BATCH_EVENTS = 4_000

_ENCODER = msgspec.json.Encoder()

TimedEvent = tuple[str, int, dict[str, Any]]
"""(stream, event time in ms, values by attribute name)."""


@dataclass(frozen=True, slots=True)
class Fed:
    """What the receiver said: events accepted, and the input log's position of the last."""

    accepted: int
    last_position: int


async def feed(
    client: Client,
    app: str,
    events: Iterable[TimedEvent],
    *,
    key: str,
    advance: Callable[[int], object],
    batch_events: int = BATCH_EVENTS,
    rate: int | None = None,
) -> Fed:
    """Sends events in order, one request after the other; each is repeated until it is durable.

    `key` makes repetitions harmless. While one request is on its way the next is being written.
    `rate`: no more events per second than that, in requests of a fifth of a second.
    """
    accepted, last_position = 0, 0
    clock = SystemClock()
    started_ms, sent = clock.monotonic_ms(), 0
    if rate is not None:
        batch_events = max(1, min(batch_events, rate // 5))
    async for number, count, body in _bodies(events, batch_events):
        if rate is not None:
            due_ms = started_ms + sent * 1_000 // rate
            await clock.sleep_ms(max(0, due_ms - clock.monotonic_ms()))
            sent += count
        answer = await send_retrying(
            lambda body=body, number=number: client.send_mixed(  # type: ignore[misc]
                app, body, idempotency_key=f"{key}-{number}"
            )
        )
        accepted += answer["accepted"]
        last_position = max(last_position, answer["last_position"])
        advance(count)
    return Fed(accepted, last_position)


async def _bodies(events: Iterable[TimedEvent], size: int) -> AsyncIterator[tuple[int, int, bytes]]:
    remaining = iter(events)
    batches = iter(lambda: list(itertools.islice(remaining, size)), [])
    upcoming: asyncio.Future[tuple[int, bytes] | None] = asyncio.ensure_future(
        asyncio.to_thread(_next_body, batches)
    )
    for number in itertools.count():
        written = await upcoming
        if written is None:
            return
        upcoming = asyncio.ensure_future(asyncio.to_thread(_next_body, batches))
        yield number, *written


def _next_body(batches: Iterator[list[TimedEvent]]) -> tuple[int, bytes] | None:
    batch = next(batches, None)
    if batch is None:
        return None
    # Quickly, since the loop that this thread is beside waits for the interpreter meanwhile.
    lines = [{"stream": stream, TIMESTAMP_FIELD: ts, "event": row} for stream, ts, row in batch]
    return len(batch), _ENCODER.encode_lines(lines)
