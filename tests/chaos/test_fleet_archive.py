"""The copies of a fleet's logs follow what there is, also where a list does not tell all."""

from __future__ import annotations

import asyncio
from pathlib import Path

from lockstep.bus import LogName
from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.clock import SystemClock
from lockstep.events import Operation, OutputId, OutputRecord, OutputRow
from tests.chaos.fleet_archive import FleetArchive
from tests.contract.patience import PATIENCE_S
from tests.fleets import OldLists

APP = LogName("Fleet", since_ms=5)


def unit(layout: int, partition: int) -> LogName:
    """Of the only group."""
    return LogName(APP.app, f"main~{layout}", partition, APP.since_ms)


async def publish(bus: MemoryBus, name: LogName, position: int) -> None:
    """One row behind the others."""
    log = await bus.output_log(name)
    row = OutputRow(OutputId(position, 0), "Out", position, (position,), Operation.EVENT)
    await log.append(OutputRecord(1, (row,)), expected_sequence=(await log.tail()).sequence)


async def test_copies_follow_logs_that_lists_leave_out_and_end_with_removed_ones(
    tmp_path: Path,
) -> None:
    """A log that is there is copied on; one that was removed does not hold up those made since."""
    bus = OldLists(MemoryCarrier(SystemClock()))
    await bus.input_log(APP)
    await publish(bus, unit(1, 0), 1)
    await publish(bus, unit(1, 1), 1)
    fleet = FleetArchive(tmp_path)
    copying = asyncio.create_task(fleet.copy(bus, APP))

    async def came(count: int) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while fleet.came < count:
                await asyncio.sleep(0.01)

    async def listed() -> None:
        seen = bus.lists
        async with asyncio.timeout(PATIENCE_S):
            while bus.lists < seen + 2:
                await asyncio.sleep(0.01)

    try:
        await came(2)
        bus.unheard = frozenset([unit(1, 0)])
        await listed()
        await publish(bus, unit(1, 0), 2)
        await came(3)
        await bus.remove_logs(unit(1, 1))
        await listed()
        await publish(bus, unit(2, 0), 3)
        await came(4)
        assert not copying.done()
    finally:
        copying.cancel()
        await asyncio.wait([copying])
    assert {name: one.came for name, one in fleet.units.items()} == {
        unit(1, 0): 2, unit(1, 1): 1, unit(2, 0): 1,
    }  # fmt: skip
