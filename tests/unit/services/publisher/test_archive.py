"""The archive is written behind the logs: once, whoever writes, and whatever breaks in between."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lockstep.archive.keeping import SideArchive
from lockstep.archive.naming import INPUT, OUTPUT, Logs
from lockstep.archive.place import Place
from lockstep.archive.reading import InputReader
from lockstep.bus import LogName
from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.clock import SystemClock
from lockstep.control import archive_cursor, archived_to
from lockstep.events import ClaimRecord, EventsRecord, InputEvent, OutputRecord
from lockstep.frame import InlineOffload
from lockstep.settings import load_settings
from lockstep.store.memory import MemoryStore
from lockstep.telemetry import Metrics, get_logger
from lockstep_services.publisher.archive.following import Following
from lockstep_services.publisher.archive.sources import InputSource, OutputSource
from tests.fleets import row, single_view

NAME = LogName("A")


class World:
    """An app's logs, a folder, and publishers that follow the one into the other."""

    def __init__(self, folder: Path) -> None:
        self.clock = SystemClock()
        self.bus = MemoryBus(MemoryCarrier(self.clock))
        self.store = MemoryStore()
        self.folder = folder
        self.settings = load_settings(
            {
                "LOCKSTEP_ARCHIVE__FOLDER": str(folder),
                "LOCKSTEP_ARCHIVE__INTERVAL_MS": "1",
                "LOCKSTEP_PUBLISHER__RETRY_BACKOFF_MS": "1",
                "LOCKSTEP_PUBLISHER__RETRY_BACKOFF_MAX_MS": "1",
            }
        )

    def side(self, side: str) -> SideArchive:
        """The tables of one log."""
        return SideArchive(Place(str(self.folder)), Logs("A"), side)

    def following(self, side: str) -> Following:
        """As a publisher that has just started makes it."""
        keeper: Any = SimpleNamespace(held=True)
        return Following(
            self.side(side), "A", f"A/archive.{side}", self.store.cursors, keeper, self.clock,
            self.settings, Metrics(), get_logger(), InlineOffload(),
        )  # fmt: skip

    @asynccontextmanager
    async def writing(self, side: str) -> AsyncIterator[Following]:
        """For as long as the block lasts."""
        one = self.following(side)
        source: Any = InputSource(await self.bus.input_log(NAME), lambda _: True)
        if side == OUTPUT:
            source = OutputSource(await self.bus.output_log(NAME), lambda _: True)
        task = asyncio.create_task(one.while_held(source))
        try:
            yield one
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def send(self, *values: int) -> None:
        """One record each."""
        log = await self.bus.input_log(NAME)
        for value in values:
            await log.append(EventsRecord("In", 5, ((InputEvent(5, (value,)),),)))

    def kept(self) -> list[int]:
        """The values that the archive gives back, in order."""
        reader = InputReader(Place(str(self.folder)), Logs("A"))
        entries = [one.entry for part in reader.slices(reader.bounds()) for one in part]
        records: list[Any] = [one.record() for one in entries]
        return [event.data[0] for one in records for chunk in one.chunks for event in chunk]


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Empty."""
    return World(tmp_path / "archive")


async def until(is_so: Callable[[], bool]) -> None:
    """Waits for it; the test's own limit ends what never comes."""
    while not is_so():
        await asyncio.sleep(0.001)


async def test_it_goes_on_where_the_tables_are(world: World) -> None:
    """Also when the store has not heard of the last append."""
    await world.send(1, 2, 3)
    async with world.writing(INPUT) as one:
        await until(lambda: one.cursor == 3)
    assert await world.store.cursors.get("A/archive.input") == 3
    world.store = MemoryStore()  # as if the publisher had died behind the append
    await world.send(4)
    async with world.writing(INPUT) as one:
        await until(lambda: one.cursor == 4)
    assert world.kept() == [1, 2, 3, 4]


async def test_two_writers(world: World) -> None:
    """Both believe in their lease: one of them is refused, and nothing stands there twice."""
    await world.send(*range(20))
    async with world.writing(INPUT) as one, world.writing(INPUT) as two:
        await until(lambda: max(one.cursor, two.cursor) == 20)
        await world.send(*range(20, 40))
        await until(lambda: max(one.cursor, two.cursor) == 40)
    assert world.kept() == list(range(40))


async def test_a_store_that_is_away(world: World) -> None:
    """It says so, keeps the cursor back, and loses nothing."""
    world.folder.parent.mkdir(exist_ok=True)
    world.folder.write_text("in the way")
    await world.send(1, 2)
    async with world.writing(INPUT) as one:
        await until(lambda: one.trouble is not None)
        assert one.cursor == 0
        assert "archive" in str(one.status().trouble)
        assert await world.store.cursors.get("A/archive.input") == 0
        world.folder.unlink()
        await until(lambda: one.cursor == 2)
        assert one.trouble is None
    assert world.kept() == [1, 2]


async def test_another_folder_is_no_archive(world: World) -> None:
    """What was archived is gone: nothing is written, as the log may have been trimmed."""
    await world.send(1)
    async with world.writing(INPUT) as one:
        await until(lambda: one.cursor == 1)
    shutil.rmtree(world.folder)
    async with world.writing(INPUT) as one:
        await until(lambda: one.trouble is not None)
        assert "all publishers need the same folder" in str(one.trouble)
    assert not world.folder.exists()


async def test_a_gap_is_told(world: World) -> None:
    """Records that were forgotten before anybody archived them."""
    await world.send(1, 2, 3)
    await (await world.bus.input_log(NAME)).trim(2)
    async with world.writing(INPUT) as one:
        await until(lambda: one.cursor == 3)
    reader = InputReader(Place(str(world.folder)), Logs("A"))
    assert reader.holes(reader.bounds()) == [("", 2)]
    assert world.kept() == [3]


async def test_what_was_published(world: World) -> None:
    """Rows by stream with their identities, and who claimed."""
    log = await world.bus.output_log(NAME)
    await log.append(ClaimRecord(1, "n", 5), expected_sequence=0)
    rows = (row(1), row(1, 1, "Two"), row(2))
    await log.append(OutputRecord(1, rows), expected_sequence=1)
    async with world.writing(OUTPUT) as one:
        await until(lambda: one.cursor == 2)
    found = {name.stream: table for name, table in world.side(OUTPUT).tables()}
    assert sorted(found) == ["One", "Two"]
    assert [sum(len(one) for one in table.scan()) for table in found.values()] == [2, 1]
    records = [one for batch in world.side(OUTPUT).records.scan() for one in batch.to_pylist()]
    assert sorted(one["kind"] for one in records) == ["claim", "rows"]


@pytest.mark.parametrize(
    ("sink", "default", "expected"),
    [
        ("", "false", None),
        ("", "true", 7),
        ("@archive(retention='90 days')", "false", 7),
        ("@archive(enable='false')", "false", None),
    ],
)
async def test_how_far_the_log_may_go(
    world: World, sink: str, default: str, expected: int | None
) -> None:
    """Only behind what the archive has, where there is one."""
    settings = load_settings(
        {"LOCKSTEP_ARCHIVE__FOLDER": "/a", "LOCKSTEP_ARCHIVE__BY_DEFAULT": default}
    ).archive
    view = single_view(sink)
    await world.store.cursors.put(archive_cursor(view, settings, INPUT), 7)
    assert await archived_to(view, settings, world.store.cursors) == expected
    assert await archived_to(view, load_settings({}).archive, world.store.cursors) is None
