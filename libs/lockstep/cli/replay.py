"""Replaying a file of events: reading it in time order, pacing it, sending it in batches."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.json as pa_json
import pyarrow.parquet as pa_parquet
import stamina

from lockstep.cli.client import Client
from lockstep.clock import SystemClock
from lockstep.events import Fault, LockstepError

stamina.instrumentation.set_on_retry_hooks([])  # a progress bar tells enough

SEND_ATTEMPTS = 8
SEND_BACKOFF_MAX_S = 10.0
TIMESTAMP_FIELD = "_timestamp"


class ReplayFileError(LockstepError):
    """The file is not what replay can read: the caller's fault."""

    fault = Fault.USER


@dataclass(frozen=True, slots=True)
class ReplayFile:
    """A file's rows in time order; `times` in epoch ms, or None when no time column was named.

    `fingerprint` makes the batches' idempotency keys: sending the same file again adds nothing
    within the receiver's deduplication window.
    """

    table: pa.Table
    times: pa.ChunkedArray | None
    fingerprint: str

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return int(self.table.num_rows)

    @classmethod
    def open(cls, path: Path, time_column: str | None) -> Self:
        """Reads CSV, NDJSON or Parquet by its ending; raises ReplayFileError."""
        table = _read(path)
        fingerprint = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        if time_column is None:
            return cls(table, None, fingerprint)
        if time_column not in table.column_names:
            raise ReplayFileError(
                f"no column {time_column!r}",
                where=str(path),
                hint=f"columns are {', '.join(table.column_names)}",
            )
        table = table.sort_by(time_column)
        times = _epoch_ms(table[time_column], path)
        return cls(table, times, fingerprint)

    def batches(self, size: int) -> Iterator[tuple[int, list[dict[str, Any]]]]:
        """(first event time or 0, rows as the receiver's JSON) for up to `size` rows each."""
        for start in range(0, self.rows, size):
            rows = self.table.slice(start, size).to_pylist()
            first = 0
            if self.times is not None:
                times = self.times.slice(start, size).to_pylist()
                first = times[0]
                rows = [{**row, TIMESTAMP_FIELD: ts} for row, ts in zip(rows, times, strict=True)]
            yield first, rows


def _read(path: Path) -> pa.Table:
    ending = path.suffix.lower()
    try:
        if ending == ".csv":
            return pa_csv.read_csv(path)
        if ending in (".ndjson", ".jsonl", ".json"):
            return pa_json.read_json(path)
        if ending == ".parquet":
            return pa_parquet.read_table(path)
    except pa.ArrowInvalid as error:
        raise ReplayFileError(str(error), where=str(path)) from error
    raise ReplayFileError(
        f"cannot tell the format of {ending or 'a file without ending'}",
        where=str(path),
        hint="name it .csv, .ndjson or .parquet",
    )


def _epoch_ms(column: pa.ChunkedArray, path: Path) -> pa.ChunkedArray:
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.timestamp("ms", tz=column.type.tz), safe=False).cast(pa.int64())
    if pa.types.is_integer(column.type):
        return column.cast(pa.int64())
    try:
        return pc.cast(column, pa.timestamp("ms")).cast(pa.int64())
    except pa.ArrowInvalid as error:
        raise ReplayFileError(
            f"the time column is neither epoch milliseconds nor a timestamp: {error}",
            where=str(path),
        ) from error


async def replay_file(
    client: Client,
    app: str,
    stream: str,
    source: ReplayFile,
    *,
    speed: float,
    batch: int,
    advance: Callable[[int], object],
) -> dict[str, int]:
    """Sends the file; at a speed above 0 each batch waits for its time. Gives accepted, refused."""
    clock = SystemClock()
    started_ms = clock.monotonic_ms()
    first_ms: int | None = None
    total = {"accepted": 0, "refused": 0}
    for number, (ts, rows) in enumerate(source.batches(batch)):
        first_ms = ts if first_ms is None else first_ms
        if speed > 0:
            wait_ms = started_ms + (ts - first_ms) / speed - clock.monotonic_ms()
            await asyncio.sleep(max(0.0, wait_ms / 1000))
        body = "\n".join(json.dumps(row, default=str) for row in rows).encode()
        answer = await send_retrying(
            lambda body=body, number=number: client.send(  # type: ignore[misc]
                app,
                stream,
                body,
                content_type="application/x-ndjson",
                idempotency_key=f"{source.fingerprint}-{number}",
            )
        )
        total["accepted"] += answer["accepted"]
        total["refused"] += answer.get("refused_count", 0)
        advance(len(rows))
    return total


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
