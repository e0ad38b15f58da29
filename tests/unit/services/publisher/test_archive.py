"""The archive is written behind the logs: once, whoever writes, and whatever breaks in between."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lockstep.archive.naming import INPUT, OUTPUT, Logs
from lockstep.archive.place import Place
from lockstep.archive.reading import Gap, InputReader
from lockstep.control import archive_cursor, archived_to
from lockstep.events import ClaimRecord, OutputRecord
from lockstep.settings import load_settings
from lockstep.store.memory import MemoryStore
from tests.archiving import NAME, Archiving, until
from tests.fleets import row, single_view


class World(Archiving):
    """In a folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__({"LOCKSTEP_ARCHIVE__FOLDER": str(folder)})
        self.folder = folder


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Empty."""
    return World(tmp_path / "archive")


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


async def test_a_mount_that_goes_away(world: World) -> None:
    """The empty folder below it takes nothing, and no cursor moves, until it is back."""
    away = world.folder.with_name("away")
    await world.send(1)
    async with world.writing(INPUT) as one:
        await until(lambda: one.cursor == 1)
        world.folder.rename(away)
        world.folder.mkdir()
        await world.send(2)
        await until(lambda: one.trouble is not None)
        assert "this folder is at 0" in str(one.trouble)
        assert not list(world.folder.rglob("*.parquet"))
        assert await world.store.cursors.get("A/archive.input") == 1
        world.folder.rmdir()
        away.rename(world.folder)
        await until(lambda: one.cursor == 2)
    assert world.kept() == [1, 2]


async def test_a_gap_is_told(world: World) -> None:
    """Records that were forgotten before anybody archived them."""
    await world.send(1, 2, 3)
    await (await world.bus.input_log(NAME)).trim(2)
    async with world.writing(INPUT) as one:
        await until(lambda: one.cursor == 3)
    reader = InputReader(Place(str(world.folder)), Logs("A"))
    assert reader.gaps(reader.bounds()) == [Gap("", 2, 2)]
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
