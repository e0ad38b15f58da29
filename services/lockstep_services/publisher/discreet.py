"""A sink whose options hold secrets: what it says of errors is without them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from lockstep.events import LockstepError, OutputRow
from lockstep.secrets import Hidden
from lockstep_services.publisher.contract import Batch, RowsRefusedError, Sink, SinkBinding


class DiscreetSink(Sink):
    """Another sink, whose errors go to logs, the status and the error store."""

    def __init__(self, sink: Sink, hidden: Hidden) -> None:
        self._sink = sink
        self._hidden = hidden

    @property
    def binding(self) -> SinkBinding:
        return self._sink.binding

    @property
    def waits_for_ever(self) -> bool:
        return self._sink.waits_for_ever

    @property
    def takes_again(self) -> bool:
        return self._sink.takes_again

    @property
    def at_once(self) -> int | None:
        return self._sink.at_once

    async def open(self) -> int:
        with self._discreet():
            return await self._sink.open()

    async def deliver(self, batch: Batch) -> None:
        with self._discreet():
            await self._sink.deliver(batch)

    def pending(self, batch: Batch) -> Sequence[OutputRow]:
        return self._sink.pending(batch)

    async def begin_again(self) -> None:
        with self._discreet():
            await self._sink.begin_again()

    async def close(self) -> None:
        with self._discreet():
            await self._sink.close()

    @contextmanager
    def _discreet(self) -> Iterator[None]:
        try:
            yield
        except LockstepError as error:
            self._hidden.error(error)
            if isinstance(error, RowsRefusedError):
                error.refused = tuple(
                    replace(one, reason=self._hidden.text(one.reason)) for one in error.refused
                )
            raise error from None  # what it came from would say it again
