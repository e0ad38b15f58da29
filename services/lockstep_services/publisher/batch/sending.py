"""Rows of a run as events of a stream: by a receiver, under ids that are the run's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from lockstep.batch.model import Run
from lockstep.batch.outputs import ToStream
from lockstep.batch.rows_out import plain
from lockstep.client import EventClient
from lockstep.clock import Clock, Randomness
from lockstep.events import UnavailableError

CHUNK_ROWS: Final = 500
"""Sent as one chunk. Never to be changed: with other chunks a run that is sent again would be
other sends."""


class Sender:
    """To the apps of this suite. `receivers`: the addresses of those that live."""

    def __init__(
        self,
        receivers: Callable[[], Sequence[str]],
        token: str | None,
        clock: Clock,
        randomness: Randomness,
    ) -> None:
        self._receivers = receivers
        self._token = token
        self._clock = clock
        self._randomness = randomness

    async def send(self, rows: pa.Table, run: Run, output: ToStream) -> None:
        """All rows; sent again they are the same sends, which an app has once. UnavailableError,
        NotAcceptedError, EventRefusedError."""
        receivers = self._receivers()
        if not receivers:
            raise UnavailableError("no receiver is there")
        client = EventClient(
            receivers, output.app, token=self._token, clock=self._clock,
            randomness=self._randomness,
        )  # fmt: skip
        async with client:
            for number, chunk in enumerate(chunks(rows)):
                key = f"batch/{run.identity}/{number}"
                await client.send_chunk(output.stream, chunk, key=key)


def chunks(rows: pa.Table) -> Iterator[Sequence[Mapping[str, Any]]]:
    """Events by attribute name."""
    for start in range(0, len(rows), CHUNK_ROWS):
        part = rows.slice(start, CHUNK_ROWS).to_pylist()
        yield [{name: plain(value) for name, value in row.items()} for row in part]
