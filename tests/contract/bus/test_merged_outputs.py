"""The output logs of a fleet's units, read as one log on every carrier."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from lockstep.bus import OutputEntry
from lockstep.clock import SystemClock
from lockstep.control import AppView, MergedOutputs
from lockstep.events import OutputRecord, OutputRow
from tests.contract.bus.carriers import World
from tests.contract.patience import PATIENCE_S
from tests.fleets import Unit, announce, fleet_view, row, units_of


@asynccontextmanager
async def reading(world: World, view: AppView) -> AsyncIterator[MergedOutputs]:
    """By another participant."""
    reader = MergedOutputs(world.other, view, SystemClock())
    task = asyncio.create_task(reader.run())
    try:
        yield reader
    finally:
        task.cancel()
        await asyncio.wait({task})


async def read_to(
    reader: MergedOutputs, after: int, up_to: int, says: Sequence[Unit]
) -> list[OutputEntry]:
    """All entries up to the position, which these units say again and again that they settled."""
    found: list[OutputEntry] = []
    async with asyncio.timeout(PATIENCE_S):
        while after < up_to:
            for unit in says:
                await unit.settle(up_to)
            entries = await reader.read(after, max_records=10, max_bytes=10**6, wait_ms=50)
            found += entries
            after = entries[-1].sequence if entries else after
    return found


def rows_in(entries: Sequence[OutputEntry]) -> list[OutputRow]:
    """Of all of them."""
    records = [entry.record for entry in entries if isinstance(entry.record, OutputRecord)]
    return [each for record in records for each in record.rows]


async def test_units_of_two_layouts_are_read_as_one_log(world: World) -> None:
    """Through the end of one and the beginning of the next, and again from any position, also when
    the former logs were removed."""
    app = f"fleet.{uuid.uuid4().hex}"
    former = fleet_view({"up": 1, "down": 2}, 1, app=app)
    view = fleet_view({"up": 1, "down": 3}, 2, former, app=app)
    old, new = units_of(world.bus, former), units_of(world.bus, view)
    await announce(world.bus, view)
    for unit in old:
        await unit.begin(1, 0)
    async with reading(world, view) as reader:
        await old[2].publish([row(1, 0, "One", 1), row(2, 0, "Two", 2)])
        await old[0].publish([row(2, 0, "Mid", 0), row(2, 1, "One", 3)])
        found = await read_to(reader, 0, 2, old)
        wanted = [row(1, 0, "One", 1), row(2, 0, "One", 3), row(2, 1, "Two", 2)]
        assert rows_in(found) == wanted
        await old[1].publish([row(4, 0, "One", 4)])
        for unit in reversed(new):
            await unit.begin(2, 5)
        await new[3].publish([row(6, 0, "One", 5)])
        await new[1].publish([row(6, 0, "Two", 6), row(7, 0, "Two", 7)])
        found = await read_to(reader, 2, 7, new)
        wanted += [row(4, 0, "One", 4), row(6, 0, "Two", 6), row(6, 1, "One", 5)]
        wanted.append(row(7, 0, "Two", 7))
        assert rows_in(found) == wanted[3:]
    for after in range(7):
        async with reading(world, view) as reader:
            found = await read_to(reader, after, 7, new)
            assert rows_in(found) == [one for one in wanted if one.id.position > after]
    for unit in old:
        await world.bus.remove_logs(unit.name)
    async with reading(world, view) as reader:
        assert rows_in(await read_to(reader, 0, 7, new)) == wanted[4:]
        assert await reader.last() == 7
