"""The archive in a store that speaks S3, on a real server: written, read, put together, expired and
erased; and a store that goes away, answers late, or whose answers get lost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import duckdb
import pytest

from lockstep.archive.erasing import erase
from lockstep.archive.keeping import SideArchive, Upkeep, keep_up
from lockstep.archive.listing import listed
from lockstep.archive.naming import INPUT, Logs
from lockstep.archive.place import place_of_settings
from lockstep.events import UnavailableError
from lockstep.frame import ThreadOffload
from lockstep.settings import load_settings
from lockstep_services.publisher.archive.following import Following
from tests.archiving import Archiving, until
from tests.s3.server import BUCKET, SECRET_KEY, S3Server, s3_server

HOUR_MS = 3_600_000


@pytest.fixture(scope="module")
def running() -> Iterator[S3Server]:
    """With a bucket."""
    with s3_server() as found:
        yield found


@pytest.fixture
def server(running: S3Server, request: pytest.FixtureRequest) -> S3Server:
    """Each test has a prefix of its own."""
    running.prefix = re.sub(r"\W", "-", request.node.name)
    return running


def objects(server: S3Server) -> dict[str, bytes]:
    """All that the store holds of the test, as another client sees it."""
    client = server.client()
    listing = client.list_objects_v2(Bucket=BUCKET, Prefix=f"{server.prefix}/")
    names = [one["Key"] for one in listing.get("Contents", [])]
    return {one: client.get_object(Bucket=BUCKET, Key=one)["Body"].read() for one in names}


def how_often(side: SideArchive) -> list[tuple[int, int]]:
    """How often each position stands there, as DuckDB counts it."""
    records = side.records.dataset()  # noqa: F841 - DuckDB takes it by its name
    sql = "select position, count(*) from records group by 1 order by 1"
    return duckdb.execute(sql).fetchall()


def reached(one: Following, cursor: int) -> bool:
    """Whether the writer is there."""
    return one.cursor == cursor


def once(last: int) -> list[tuple[int, int]]:
    """What `how_often` gives when all is well."""
    return [(position, 1) for position in range(1, last + 1)]


async def test_its_whole_life(server: S3Server) -> None:
    """What was written is read, listed, put together, expired and erased."""
    world = Archiving(server.settings)
    async with world.writing(INPUT) as one:
        for value in range(4):
            await world.send(value)
            await until(partial(reached, one, value + 1))
    side = world.side(INPUT)
    assert world.kept() == list(range(4))
    tables = {one.stream: (one.rows, one.first, one.last) for one in listed(world.place)}
    assert tables == {"In": (4, 1, 4), "": (4, 1, 4)}
    done = sum(keep_up(side, lambda _: None, None, 0, file_bytes=1_000_000, keep_ms=0), Upkeep())
    assert (done.expired, done.compacted) == (0, 8)
    assert done.swept == 8
    assert world.kept() == list(range(4))
    assert erase(side.place, side.logs.app, "In", "c0 = 2").rows == 1
    assert world.kept() == [0, 1, 3]
    files = [name for name in objects(server) if name.endswith(".parquet")]
    assert len(files) == 2  # one of the stream, one of the records
    gone = sum(
        keep_up(side, lambda _: 1, 1, 10 * 24 * HOUR_MS, file_bytes=1_000_000, keep_ms=0), Upkeep()
    )
    assert gone.expired == 7
    assert not [name for name in objects(server) if name.endswith(".parquet")]


async def test_two_writers(server: S3Server) -> None:
    """Both believe in their lease. The store's conditional writes refuse one of each pair."""
    world = Archiving(server.settings, lambda: ThreadOffload("archive"))
    await world.send(*range(10))
    async with world.writing(INPUT) as one, world.writing(INPUT) as two:
        await until(lambda: max(one.cursor, two.cursor) == 10)
        await world.send(*range(10, 20))
        await until(lambda: max(one.cursor, two.cursor) == 20)
    assert how_often(world.side(INPUT)) == once(20)
    assert world.kept() == list(range(20))


async def test_a_server_that_is_away(server: S3Server) -> None:
    """The writer says so, keeps its cursor, and goes on when the server is back."""
    world = Archiving(server.settings, lambda: ThreadOffload("archive"))
    await world.send(1)
    async with world.writing(INPUT) as one:
        await until(lambda: one.cursor == 1)
        server.stop()
        await world.send(2, 3)
        await until(lambda: one.trouble is not None)
        told = str(one.trouble)
        assert "the archive is away" in told
        assert "\x1b" not in told
        assert one.cursor == 1
        server.start()
        await until(lambda: one.cursor == 3)
        assert one.trouble is None
    assert how_often(world.side(INPUT)) == once(3)
    assert world.kept() == [1, 2, 3]


@pytest.mark.parametrize("what", ["/In/", "/records/"])
async def test_a_commit_whose_answer_is_lost(server: S3Server, what: str) -> None:
    """The store has it and the writer does not know: it finds out, and writes nothing twice."""
    world = Archiving(server.settings, lambda: ThreadOffload("archive"))
    await world.send(1)
    async with world.writing(INPUT) as one:
        await until(lambda: one.cursor == 1)
    lost = server.lost
    server.lose_answer(what)
    await world.send(2, 3)
    async with world.writing(INPUT) as one:
        await until(lambda: server.lost > lost)
        await until(lambda: one.cursor == 3 or not one.is_open)
    async with world.writing(INPUT) as one:  # as the supervisor does
        await world.send(4)
        await until(lambda: one.cursor == 4)
    assert how_often(world.side(INPUT)) == once(4)
    assert world.kept() == [1, 2, 3, 4]


def test_credentials(server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From files, or as the machine has them; a wrong one is told without its secret."""
    given = dict(server.settings)
    key, secret = (
        given.pop("LOCKSTEP_ARCHIVE__S3_ACCESS_KEY"),
        given.pop("LOCKSTEP_ARCHIVE__S3_SECRET_KEY"),
    )

    def read(more: dict[str, str]) -> int:
        place = place_of_settings(load_settings({**given, **more}).archive)
        assert place is not None
        assert SECRET_KEY not in repr(place)
        return SideArchive(place, Logs("A"), INPUT).reached()

    for name, value in (("key", key), ("secret", secret)):
        (tmp_path / name).write_text(f"{value}\n")
    files = {
        "LOCKSTEP_ARCHIVE__S3_ACCESS_KEY_FILE": str(tmp_path / "key"),
        "LOCKSTEP_ARCHIVE__S3_SECRET_KEY_FILE": str(tmp_path / "secret"),
    }
    refused = server.refused
    assert read(files) == 0
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secret)
    assert read({}) == 0
    assert server.refused == refused
    wrong = {
        "LOCKSTEP_ARCHIVE__S3_ACCESS_KEY": "nobody",
        "LOCKSTEP_ARCHIVE__S3_SECRET_KEY": SECRET_KEY,
    }
    with pytest.raises(UnavailableError) as told:
        read(wrong)
    assert SECRET_KEY not in str(told.value)
    assert server.refused > refused


async def test_the_log_has_no_secret(server: S3Server, capfd: pytest.CaptureFixture[str]) -> None:
    """Also while the store is away."""
    world = Archiving(server.settings, lambda: ThreadOffload("archive"))
    await world.send(1)
    server.stop()
    try:
        async with world.writing(INPUT) as one:
            await until(lambda: one.trouble is not None)
    finally:
        server.start()
    out, err = capfd.readouterr()
    assert "archive away" in out + err
    assert SECRET_KEY not in out + err + str(one.trouble)
