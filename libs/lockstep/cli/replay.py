"""Replaying a file of events: pacing it, sending it in batches, telling what became of each row."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

import stamina

from lockstep.cli.client import Client
from lockstep.cli.refusals import RefusedError, detail
from lockstep.cli.replay_files import ReplayFile
from lockstep.clock import SystemClock
from lockstep.events import LockstepError

stamina.instrumentation.set_on_retry_hooks([])  # a progress bar tells enough

SEND_ATTEMPTS = 8
SEND_BACKOFF_MAX_S = 10.0
SHOWN_REASONS: Final = 20
"""So many refused rows are told of, each with what is wrong with it."""

SendRows = Callable[[Sequence[Mapping[str, Any]], int, int], Awaitable[Any]]
"""Rows, the first one's number from 0 and what size their key says, to the receiver's answer."""


@dataclass(slots=True)
class Replayed:
    """What the receiver said of a file's rows. `duplicates`: so many of the accepted ones were
    there already. `left`: so many got no answer, as the replay ended before. `reasons`: of the
    first refused ones."""

    accepted: int = 0
    refused: int = 0
    duplicates: int = 0
    left: int = 0
    reasons: list[str] = field(default_factory=list)

    def add(self, answer: Mapping[str, Any], source: ReplayFile, start: int) -> None:
        """An answer for the rows from that one on."""
        self.accepted += answer["accepted"]
        self.duplicates += answer["accepted"] if answer.get("duplicate") else 0
        self.refused += answer.get("refused_count", 0)
        for one in answer.get("refused") or ():
            if len(self.reasons) < SHOWN_REASONS:
                why = detail({"errors": one.get("errors")})
                self.reasons.append(f"row {source.place(start + one['line'] - 1)}: {why}")

    def leave_out(self, source: ReplayFile) -> None:
        """Rows that nobody can send."""
        self.refused += len(source.unreadable)
        shown = source.unreadable[: SHOWN_REASONS - len(self.reasons)]
        self.reasons += [f"row {place}: {why}" for place, why in shown]


async def replay_file(
    client: Client,
    app: str,
    stream: str,
    source: ReplayFile,
    *,
    speed: float,
    batch: int,
    advance: Callable[[int], object],
    total: Replayed,
) -> None:
    """Sends the file; at a speed above 0 each batch waits for its time. `total` says how far it
    came, also when an error ends it: RefusedError (of no row), UnavailableError."""

    async def send(rows: Sequence[Mapping[str, Any]], start: int, size: int) -> Any:
        return await client.send(
            app,
            stream,
            "\n".join(json.dumps(row, default=str) for row in rows).encode(),
            content_type="application/x-ndjson",
            idempotency_key=source.key(stream, size, start),
        )

    clock = SystemClock()
    started_ms = clock.monotonic_ms()
    first_ms: int | None = None
    total.left = source.rows
    total.leave_out(source)
    for start, ts, rows in source.batches(batch):
        first_ms = ts if first_ms is None else first_ms
        if speed > 0:
            wait_ms = started_ms + (ts - first_ms) / speed - clock.monotonic_ms()
            await asyncio.sleep(max(0.0, wait_ms / 1000))
        await _send_rows(send, source, rows, start, batch, total)
        advance(len(rows))


async def _send_rows(
    send: SendRows,
    source: ReplayFile,
    rows: Sequence[Mapping[str, Any]],
    start: int,
    size: int,
    total: Replayed,
) -> None:
    """Until the receiver has said of each row what it makes of it. Rows that it refuses as a whole,
    as it does not name more than so many or takes no body so large, go again in halves. `size`:
    what the key says of them."""
    try:
        answer = await send_retrying(lambda: send(rows, start, size))
    except RefusedError as error:
        refused = _refused_rows(error, len(rows))
        if refused is None:
            middle = (len(rows) + 1) // 2
            for part, at in ((rows[:middle], start), (rows[middle:], start + middle)):
                await _send_rows(send, source, part, at, len(part), total)
            return
        answer = {"accepted": 0, "refused_count": len(rows), "refused": refused}
    total.add(answer, source, start)
    total.left -= len(rows)


def _refused_rows(error: RefusedError, sent: int) -> Sequence[Mapping[str, Any]] | None:
    """The reasons row by row, if it refuses all; None where it does not say which ones. The error
    itself where it is not about rows."""
    if error.refused_rows:
        return error.refused_rows
    if error.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return [{"line": 1, "errors": [{"message": error.message}]}] if sent == 1 else None
    found = error.problem.get("errors")
    if error.status != HTTPStatus.BAD_REQUEST or not found or not isinstance(found, list):
        raise error
    if not all(isinstance(one, Mapping) for one in found):
        raise error
    return [{"line": 1, "errors": found}] if sent == 1 else None


async def send_retrying(send: Callable[[], Any], *, limit_ms: int | None = None) -> Any:
    """Repeats a send while the suite says that it may be repeated, with growing pauses: for
    `limit_ms`, or SEND_ATTEMPTS times."""
    async for attempt in stamina.retry_context(
        on=lambda error: isinstance(error, LockstepError) and error.retryable,
        attempts=SEND_ATTEMPTS if limit_ms is None else None,
        timeout=None if limit_ms is None else limit_ms / 1000,
        wait_max=SEND_BACKOFF_MAX_S,
    ):
        with attempt:
            return await send()
    raise AssertionError("stamina either returns or raises")
