"""Rows of a real SQLite file: what is told, what is refused, and a file that is locked or away."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lockstep.clock import VirtualClock
from lockstep.databases import (
    Asking,
    DatabaseError,
    Datasource,
    DatasourceError,
    TableShape,
    check_datasource,
    datasource_of_url,
    open_asking,
    open_following,
    open_listening,
    open_polling,
    read_datasource,
)
from lockstep.events import AttributeType, UnavailableError

NAME = 'odd "100%" `t`'
TABLE = """CREATE TABLE "odd ""100%"" `t`"
(id integer PRIMARY KEY, region text COLLATE NOCASE, big integer, fine boolean, exact double, at)"""
ROWS = (
    (1, "eu", 2**53 + 1, 1, 0.1, "2026-03-01"),
    (2, "EU", -1, 0, 7, None),
    (4_000_000_000, "us", None, None, float("inf"), b"\xff"),
)
KINDS = {
    "id": AttributeType.LONG,
    "region": AttributeType.STRING,
    "big": AttributeType.LONG,
    "fine": AttributeType.BOOL,
    "exact": AttributeType.DOUBLE,
    "at": AttributeType.STRING,
}
ONE = (1, "eu", 2**53 + 1, True, 0.1, "2026-03-01")
TWO = (2, "EU", -1, False, 7.0, None)
LAST = (4_000_000_000, "us", None, None, float("inf"), "\ufffd")


def shape(**other: AttributeType) -> TableShape:
    """Of the table, with other types for some columns."""
    kinds = KINDS | other
    return TableShape(NAME, tuple(kinds), tuple(kinds.values()), ("id",))


class Place:
    """A file with the table."""

    def __init__(self, file: Path, datasource: Datasource, asking: Asking) -> None:
        self.file = file
        self.datasource = datasource
        self.asking = asking
        self.db = sqlite3.connect(file, isolation_level=None)

    async def rows(self, equal: tuple[str, ...], *keys: tuple[Any, ...], **other: Any) -> Any:
        """Sorted by the id."""
        return sorted(await self.asking.rows(shape(**other), equal, keys))


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    """The test's own, at a path that a url has to quote."""
    file = tmp_path / "a %41?#.db"
    datasource = replace(
        datasource_of_url("shop", f"jdbc:sqlite:{tmp_path}/x.db", statement_timeout_ms=300),
        database=str(file),
    )
    asking = open_asking(datasource)
    made = Place(file, datasource, asking)
    made.db.execute(TABLE)
    made.db.executemany('INSERT INTO "odd ""100%"" `t`" VALUES (?, ?, ?, ?, ?, ?)', ROWS)
    yield made
    made.db.close()
    await asking.close()


async def test_rows_come_with_their_exact_values(place: Place) -> None:
    """By one column and by several; a question sees what was committed before it."""
    assert await place.rows(("id",), (1,), (2,), (3,), (4_000_000_000,)) == [ONE, TWO, LAST]
    assert await place.rows(("region", "id"), ("eu", 1), ("us", 1)) == [ONE]
    assert await place.rows(("exact",), (0.1,), (float("nan"),)) == [ONE]
    assert await place.rows(("region",), ("' OR 1=1 --",)) == []
    many = [(number, "eu") for number in range(1_000)]
    assert await place.rows(("id", "region"), *many) == [ONE, TWO]  # who asks compares texts
    place.db.execute('UPDATE "odd ""100%"" `t`" SET big = 7 WHERE id = 1')
    assert (await place.rows(("id",), (1,)))[0][2] == 7


UNFIT = (
    ("region", AttributeType.LONG, "'region' holds the str 'us', which is no long"),
    ("id", AttributeType.INT, "'id' holds the int 4000000000, which is no int"),
    ("at", AttributeType.DOUBLE, "'at' holds the bytes"),
    ("id", AttributeType.BOOL, "which is no bool"),
    ("exact", AttributeType.LONG, "'exact' holds the float inf"),
    ("gone", AttributeType.INT, "no such column: t.gone"),
)


async def test_what_does_not_fit_is_refused(place: Place) -> None:
    """With the column, and what it holds."""
    for column, wanted, said in UNFIT:
        with pytest.raises(DatabaseError, match=said):
            await place.rows(("id",), (4_000_000_000,), **{column: wanted})


async def test_a_lock_is_waited_for_and_given_up(place: Place) -> None:
    """As long as the datasource says; afterwards it answers again, to many at once."""
    place.db.execute("BEGIN EXCLUSIVE")
    with pytest.raises(UnavailableError, match="away"):
        await place.rows(("id",), (1,))
    place.db.execute("COMMIT")
    found = await asyncio.gather(*(place.rows(("id",), (1,)) for _ in range(20)))
    assert found == [[ONE]] * 20


async def test_what_takes_too_long_is_broken_off(place: Place) -> None:
    """Its thread is free again for the next question."""
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    short = replace(place.datasource, max_connections=1)
    with pytest.raises(UnavailableError, match="300 ms"):
        await read_datasource(short, table="", select=endless, max_rows=1)
    assert (await read_datasource(short, table=NAME, select="", max_rows=1)).is_cut


async def test_a_datasource_says_what_there_is(place: Place) -> None:
    """Or that nothing is there; asking makes no file."""
    assert (await check_datasource(place.datasource)).endswith("journal_mode=delete, tables=1")
    missing = replace(place.datasource, database=f"{place.file}.not")
    with pytest.raises(UnavailableError, match="unable to open") as caught:
        await check_datasource(missing)
    assert "the file has to be there" in str(caught.value.hint)
    assert not Path(missing.database).exists()
    place.file.with_name("text").write_text("no database at all" * 100)
    with pytest.raises(DatabaseError, match="not a database"):
        await check_datasource(replace(missing, database=str(place.file.with_name("text"))))


async def test_some_rows_are_read_and_nothing_is_changed(place: Place) -> None:
    """Of a table, or of a SELECT that is one statement and nothing else."""
    shop = place.datasource
    found = await read_datasource(shop, table=NAME, select="", max_rows=2)
    assert (found.columns, len(found.rows), found.is_cut) == (tuple(KINDS), 2, True)
    table = '"odd ""100%"" `t`"'
    found = await read_datasource(
        shop, table="", select=f"SELECT at, id FROM {table} ORDER BY id DESC -- all;", max_rows=5
    )
    assert found.rows[0] == ["ff", 4_000_000_000]
    for evil in (
        f"SELECT 1; DELETE FROM {table}",
        f"SELECT 1) AS a; DELETE FROM {table}; --",
        f"DELETE FROM {table}",
        "PRAGMA user_version = 7",
        "SELECT load_extension('x')",
        "nonsense",
    ):
        with pytest.raises(DatabaseError):
            await read_datasource(shop, table="", select=evil, max_rows=5)
    [count] = place.db.execute(f"SELECT count(*) FROM {table}").fetchone()
    assert count == 3


class Nothing:
    """See `Memory`."""

    def __init__(self) -> None:
        self.kept: dict[str, int] = {}

    async def get(self, name: str) -> int:
        return self.kept.get(name, 0)

    async def put(self, name: str, value: int) -> None:
        self.kept[name] = value


async def test_new_rows_are_polled_by_a_number(place: Place) -> None:
    """As of other databases; texts that look like times are refused, as they have no one order."""
    clock, memory = VirtualClock(), Nothing()
    polling = open_polling(place.datasource, NAME, "id", "me", memory, clock, interval_ms=1_000)
    assert await polling.read(max_rows=10, wait_ms=0) == []
    place.db.execute('INSERT INTO "odd ""100%"" `t`" (id, region) VALUES (5000000000, \'x\')')
    await clock.advance_ms(1_000)
    [event] = await polling.read(max_rows=10, wait_ms=0)
    assert (event.entries["id"], event.entries["region"]) == (5_000_000_000, "x")
    times = open_polling(place.datasource, NAME, "at", "me", Nothing(), clock, interval_ms=1_000)
    place.db.execute('UPDATE "odd ""100%"" `t`" SET at = \'2026-03-01\'')
    with pytest.raises(DatabaseError, match=r"polling\.column='at' holds '2026-03-01'"):
        await times.read(max_rows=10, wait_ms=0)


def test_what_a_file_cannot_do_is_refused(tmp_path: Path) -> None:
    """With what to do instead."""
    shop = datasource_of_url("shop", f"sqlite://{tmp_path}/x.db")
    with pytest.raises(DatasourceError, match="no record of its changes"):
        open_listening(shop, "t", (), "n", Nothing(), VirtualClock(), server_id=1, publication=None)
    with pytest.raises(DatasourceError, match="no publications"):
        open_following(
            shop, shape(), "n", Nothing(), VirtualClock(), poll_ms=None, life=1, publication="p"
        )


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("jdbc:sqlite:/data/my shop%20.db", "/data/my shop%20.db"),
        ("sqlite:///data/my%20shop%3F.db", "/data/my shop?.db"),
        ("sqlite:/data/#1.db", "/data/#1.db"),
    ],
)
def test_urls_of_files(url: str, path: str) -> None:
    """As drivers of Java write them, and as others do."""
    found = datasource_of_url("shop", url)
    assert (found.kind, found.database) == ("sqlite", path)
    assert datasource_of_url("shop", found.dsn).database == path


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("jdbc:sqlite:shop.db", "whole path"),
        ("jdbc:sqlite::memory:", "whole path"),
        ("sqlite://host/shop.db", "whole path"),
        ("sqlite:///data/", "whole path"),
        ("jdbc:sqlite:/data/shop.db?cache=shared", "options"),
    ],
)
def test_urls_that_say_different_things_to_different_services(url: str, said: str) -> None:
    """Or that ask for what is not done."""
    with pytest.raises(DatasourceError, match=said):
        datasource_of_url("shop", url)
    with pytest.raises(DatasourceError, match="no username"):
        datasource_of_url("shop", "sqlite:///data/shop.db", "me")
