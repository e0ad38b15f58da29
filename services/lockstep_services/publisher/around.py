"""A sink around another one."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.events import OutputRow
from lockstep.sinks.objects import Gathering
from lockstep_services.publisher.contract import Batch, Sink, SinkBinding


class SinkAround(Sink):
    """Does what the other one does; who makes one of it changes what is to be different."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

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

    @property
    def gathering(self) -> Gathering | None:
        return self._sink.gathering

    async def open(self) -> int:
        return await self._sink.open()

    async def deliver(self, batch: Batch) -> None:
        await self._sink.deliver(batch)

    def pending(self, batch: Batch) -> Sequence[OutputRow]:
        return self._sink.pending(batch)

    async def begin_again(self) -> None:
        await self._sink.begin_again()

    async def close(self) -> None:
        await self._sink.close()
