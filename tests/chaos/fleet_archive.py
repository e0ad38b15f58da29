"""The logs of a fleet, copied as they grow: its input log, and the output log of each unit of each
layout, from when there is one until it is removed."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from pathlib import Path

from lockstep.bus import Bus, LogGoneError, LogName
from lockstep.control import group_and_layout
from lockstep.events import UnavailableError
from tests.chaos.archive import Archive, patiently

LOOK_EVERY_S = 0.2


@dataclass
class FleetArchive:
    """Fed by `copy`. `units` grow with each layout."""

    directory: Path
    has_gaps: bool = False
    units: dict[LogName, Archive] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.source = Archive(self.directory, self.has_gaps)

    @property
    def came(self) -> int:
        """How many records with rows have arrived."""
        return sum(one.came for one in self.units.values())

    def unit(self, name: LogName) -> Archive:
        """Of one of the output logs."""
        group, layout = group_and_layout(name.group)
        directory = self.directory / f"{group}-{name.partition}-{layout}"
        return self.units.setdefault(name, Archive(directory))

    async def copy(self, bus: Bus, name: LogName) -> None:
        """Until cancelled, or one of the copies fails."""
        try:
            await self._copy_all(bus, name)
        except ExceptionGroup as group:
            raise group.exceptions[0] from group

    async def _copy_all(self, bus: Bus, name: LogName) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.source.copy_inputs(bus, name))
            copying: dict[LogName, asyncio.Task[None]] = {}
            while True:
                there = set(await patiently(lambda: bus.logs(name.app))) - {name}
                for one in there - copying.keys():
                    copying[one] = tasks.create_task(self.unit(one).copy_outputs(bus, one))
                for gone in copying.keys() - there:
                    await self._ended(bus, gone, copying)
                await asyncio.sleep(LOOK_EVERY_S)

    @staticmethod
    async def _ended(bus: Bus, name: LogName, copying: dict[LogName, asyncio.Task[None]]) -> None:
        """A list may leave out a log that was made just now, so it is asked whether it is there."""
        try:
            await bus.output_log(name, make=False)
        except LogGoneError:
            copying[name].cancel()
            await asyncio.wait([copying.pop(name)])
        except UnavailableError:
            pass  # it is looked for again

    async def ends(self, bus: Bus) -> dict[LogName, int]:
        """Of the logs that there are now: the last sequence."""
        there = await bus.logs(next(iter(self.units)).app)
        found = {}
        for one in there:
            if group_and_layout(one.group)[1]:
                with contextlib.suppress(LogGoneError):  # the list was older than its removal
                    log = await bus.output_log(one, make=False)
                    found[one] = (await log.tail()).sequence
        return found
