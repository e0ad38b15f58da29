"""An app's logs in memory, a place for its archive, and publishers that follow the one into the
other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

from lockstep.archive.keeping import SideArchive
from lockstep.archive.naming import OUTPUT, Logs
from lockstep.archive.place import place_of_settings
from lockstep.archive.reading import InputReader
from lockstep.bus import LogName
from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.clock import SystemClock
from lockstep.events import EventsRecord, InputEvent
from lockstep.frame import InlineOffload, Offload
from lockstep.settings import load_settings
from lockstep.store.memory import MemoryStore
from lockstep.telemetry import Metrics, get_logger
from lockstep_services.publisher.archive.following import Following
from lockstep_services.publisher.archive.sources import InputSource, OutputSource

NAME = LogName("A")


class Archiving:
    """Settings say where; `offload` makes what touches the tables run elsewhere."""

    def __init__(
        self,
        settings: Mapping[str, str],
        offload: Callable[[], Offload] = InlineOffload,
    ) -> None:
        self.clock = SystemClock()
        self.bus = MemoryBus(MemoryCarrier(self.clock))
        self.store = MemoryStore()
        self.settings = load_settings(
            {
                "LOCKSTEP_ARCHIVE__INTERVAL_MS": "1",
                "LOCKSTEP_PUBLISHER__RETRY_BACKOFF_MS": "1",
                "LOCKSTEP_PUBLISHER__RETRY_BACKOFF_MAX_MS": "1",
                **settings,
            }
        )
        place = place_of_settings(self.settings.archive)
        assert place is not None
        self.place = place
        self._offload = offload

    def side(self, side: str) -> SideArchive:
        """The tables of one log."""
        return SideArchive(self.place, Logs("A"), side)

    def following(self, side: str, offload: Offload) -> Following:
        """As a publisher that has just started makes it."""
        keeper: Any = SimpleNamespace(held=True)
        return Following(
            self.side(side), "A", f"A/archive.{side}", self.store.cursors, keeper, self.clock,
            self.settings, Metrics(), get_logger(), offload,
        )  # fmt: skip

    @asynccontextmanager
    async def writing(self, side: str) -> AsyncIterator[Following]:
        """For as long as the block lasts."""
        offload = self._offload()
        one = self.following(side, offload)
        source: Any = InputSource(await self.bus.input_log(NAME), lambda _: True)
        if side == OUTPUT:
            source = OutputSource(await self.bus.output_log(NAME), lambda _: True)
        task = asyncio.create_task(one.while_held(source))
        try:
            yield one
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            offload.close()

    async def send(self, *values: int) -> None:
        """One record each."""
        log = await self.bus.input_log(NAME)
        for value in values:
            await log.append(EventsRecord("In", 5, ((InputEvent(5, (value,)),),)))

    def kept(self) -> list[int]:
        """The values that the archive gives back, in order."""
        reader = InputReader(self.place, Logs("A"))
        entries = [one.entry for part in reader.slices(reader.bounds()) for one in part]
        records: list[Any] = [one.record() for one in entries]
        chunks = [chunk for one in records for chunk in getattr(one, "chunks", ())]
        return [event.data[0] for chunk in chunks for event in chunk]


async def until(is_so: Callable[[], bool]) -> None:
    """Waits for it; the test's own limit ends what never comes."""
    while not is_so():
        await asyncio.sleep(0.001)
