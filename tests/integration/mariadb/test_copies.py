"""Copies of tables of a real MariaDB: the load, what follows, and what has a table loaded anew."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiomysql
import pytest

from lockstep.clock import SystemClock
from lockstep.databases import (
    ChangeBatch,
    DatabaseError,
    Datasource,
    RowChange,
    TableShape,
    datasource_of_url,
)
from lockstep.databases.mysql.connections import parameters_of
from lockstep.databases.mysql.following import MysqlFollowing
from lockstep.databases.mysql.loading import Load
from lockstep.databases.mysql.table import look_at
from lockstep.events import AttributeType, UnavailableError
from tests.mariadb.server import LOGGED, MariadbServer, start_mariadb

TABLE = "CREATE TABLE customers (id int PRIMARY KEY, name varchar(20), credit decimal(9, 2))"
SHAPE = TableShape(
    "customers",
    ("id", "Name", "credit"),
    (AttributeType.INT, AttributeType.STRING, AttributeType.DOUBLE),
    ("id",),
)
PATIENCE_S = 20
Rows = dict[Any, tuple[Any, ...]]


@dataclass
class Remembered:
    """What outlives a follower."""

    values: dict[str, int] = field(default_factory=dict)

    async def get(self, name: str) -> int:
        return self.values.get(name, 0)

    async def put(self, name: str, value: int) -> None:
        self.values[name] = max(value, self.values.get(name, 0))


class Copy:
    """What an app would have of the table, by the log of all batches: each id counts once."""

    def __init__(self, datasource: Datasource, shape: TableShape = SHAPE) -> None:
        self.memory = Remembered()
        self.rows: Rows = {}
        self.batches: dict[str, ChangeBatch] = {}
        self.again = 0
        self._datasource = datasource
        self._shape = shape
        self._following: MysqlFollowing | None = None
        self._changes: Any = None

    @property
    def loads(self) -> int:
        """How often all rows were read."""
        found = [one for one in self.batches.values() if one.position is None]
        return sum(one.kinds[0] is RowChange.ALL_GONE for one in found)

    @property
    def counted(self) -> int:
        """All credit there is."""
        return int(sum(row[2] for row in self.rows.values()))

    async def next(self) -> ChangeBatch | None:
        """What comes next, and is durable when it is asked for again."""
        if self._following is None:
            self._following = MysqlFollowing(
                self._datasource, self._shape, "lockstep_copy", self.memory, SystemClock(),
                poll_ms=20, life=1,
            )  # fmt: skip
            self._changes = self._following.changes()
        batch: ChangeBatch | None = await anext(self._changes)
        if batch is not None:
            if batch.id in self.batches:
                assert self.batches[batch.id] == batch
                self.again += 1
            else:
                self.batches[batch.id] = batch
                self._apply(batch)
        return batch

    def _apply(self, batch: ChangeBatch) -> None:
        assert sum(batch.chunks) == len(batch.kinds)
        places = self._shape.key_places
        for kind, row in zip(batch.kinds, zip(*batch.columns, strict=True), strict=True):
            key = tuple(row[place] for place in places)
            if kind is RowChange.ALL_GONE:
                self.rows.clear()
            elif kind is RowChange.GONE:
                self.rows.pop(key, None)
            else:
                self.rows[key] = row

    async def until(self, reached: Callable[[], bool]) -> None:
        """Goes on until then."""
        async with asyncio.timeout(PATIENCE_S):
            while not reached():
                await self.next()

    async def dies(self) -> None:
        """Whatever was under way."""
        following, self._following, self._changes = self._following, None, None
        if following is not None:
            await following.close()


@dataclass
class Place:
    """A server of the test's own, with the table."""

    server: MariadbServer
    datasource: Datasource
    copy: Copy

    async def run(self, *statements: str, commit: bool = True) -> list[tuple[Any, ...]]:
        """In one transaction; what the last statement gives."""
        async with self.session() as cursor:
            for statement in statements:
                await cursor.execute(statement)
            found = list(await cursor.fetchall())
            await (cursor.connection.commit() if commit else cursor.connection.rollback())
        return found

    @contextlib.asynccontextmanager
    async def session(self) -> AsyncIterator[Any]:
        """A cursor of a connection of its own."""
        connection = await aiomysql.connect(**parameters_of(self.datasource))
        try:
            yield await connection.cursor()
        finally:
            connection.close()

    async def agrees(self, loads: int | None = None) -> None:
        """Until the copy is what the table is."""
        found = await self.run("SELECT id, name, credit + 0E0 FROM customers")
        wanted = {(row[0],): row for row in found}
        await self.copy.until(lambda: self.copy.rows == wanted)
        assert loads is None or self.copy.loads == loads


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    """With two rows."""
    server = await start_mariadb(tmp_path / "mariadb", *LOGGED)
    datasource = datasource_of_url("shop", server.url)
    made = Place(server, datasource, Copy(datasource))
    await made.run(TABLE, "INSERT INTO customers VALUES (1, 'ann', 10.50), (2, NULL, 0)")
    try:
        yield made
    finally:
        await made.copy.dies()
        await server.kill()


async def test_a_table_is_loaded_and_followed(place: Place) -> None:
    """Every way to change rows, one transaction a chunk."""
    await place.agrees(loads=1)
    changes = (
        ["INSERT INTO customers VALUES (3, 'cid', 3)"],
        ["UPDATE customers SET credit = credit + 1"],
        ["UPDATE customers SET id = 20 WHERE id = 2"],
        ["DELETE FROM customers WHERE id = 1", "INSERT INTO customers VALUES (1, 'a', 0)"],
        ["REPLACE INTO customers VALUES (3, 'zoe', 1)"],
        ["INSERT INTO customers VALUES (3, 'x', 1) ON DUPLICATE KEY UPDATE name = 'y'"],
        ["ALTER TABLE customers ADD COLUMN later int", "UPDATE customers SET later = 1"],
        ["ALTER TABLE customers ADD INDEX (name)", "DELETE FROM customers WHERE id = 20"],
        ["TRUNCATE customers"],
        ["INSERT INTO customers SELECT seq, concat('c', seq), seq, 1 FROM seq_1_to_30000"],
        ["CREATE DATABASE other", "CREATE TABLE other.customers (id int PRIMARY KEY)",
         "INSERT INTO other.customers VALUES (1)"],
    )  # fmt: skip
    for change in changes:
        await place.run(*change)
        await place.agrees()
    await place.run("CREATE OR REPLACE TABLE other.customers (id int PRIMARY KEY)")
    await place.run(
        "UPDATE customers SET credit = 9 WHERE id = 1", "DELETE FROM customers WHERE id = 2"
    )
    await place.agrees()
    last = list(place.copy.batches.values())[-1]
    assert list(last.chunks) == [2]


async def test_what_was_undone_is_not_seen(place: Place) -> None:
    """Nor what is prepared; what an XA transaction did is, when it is committed. What the log tells
    in a way that no row follows from has the table loaded anew."""
    await place.agrees(loads=1)
    await place.run("INSERT INTO customers VALUES (7, 'never', 7)", commit=False)
    await place.run("CREATE TABLE old (id int) ENGINE=MyISAM")
    await place.run(
        "INSERT INTO customers VALUES (8, 'never', 8)", "INSERT INTO old VALUES (1)", commit=False
    )
    await place.run("INSERT INTO customers VALUES (9, 'there', 9)")
    await place.agrees(loads=1)
    async with place.session() as cursor:
        for statement in ("XA START 'x'", "UPDATE customers SET name = 'xa'", "XA END 'x'"):
            await cursor.execute(statement)
        await cursor.execute("XA PREPARE 'x'")
        await place.run("INSERT INTO customers VALUES (10, 'ten', 10)")
        await place.agrees(loads=1)
        await cursor.execute("XA COMMIT 'x'")
    await place.agrees(loads=2)
    await place.run("SET SESSION binlog_format = 'STATEMENT'", "UPDATE customers SET name = 'text'")
    await place.agrees(loads=3)
    assert not {(7,), (8,)} & place.copy.rows.keys()


async def test_a_table_that_is_made_otherwise_is_loaded_anew(place: Place) -> None:
    """As tools do that alter a large table: a new one takes its name. Without a column that the app
    uses it stops, and goes on when that is there again."""
    await place.agrees(loads=1)
    await place.run(
        "CREATE TABLE made LIKE customers", "INSERT INTO made VALUES (5, 'five', 5)",
        "RENAME TABLE customers TO gone, made TO customers",
    )  # fmt: skip
    await place.agrees(loads=2)
    await place.run("ALTER TABLE customers CHANGE name label varchar(20)")
    with pytest.raises(DatabaseError, match="has no column 'Name'"):
        await place.copy.until(lambda: False)
    await place.copy.dies()
    with pytest.raises(DatabaseError, match="has no column 'Name'"):
        await place.copy.next()
    await place.copy.dies()
    await place.run("ALTER TABLE customers CHANGE label name varchar(30)")
    await place.run("INSERT INTO customers VALUES (6, 'six', 6)")
    await place.agrees(loads=3)


async def test_a_second_look_gets_the_same(place: Place) -> None:
    """What was noted and not durable comes again, under the same id, whatever came behind it."""
    await place.agrees(loads=1)
    for number in range(3, 13):
        await place.run(f"INSERT INTO customers VALUES ({number}, 'n', 1)")
        batch = None
        while batch is None:
            batch = await place.copy.next()
        await place.copy.dies()
        await place.run(f"UPDATE customers SET credit = credit + 1 WHERE id <= {number}")
    await place.agrees(loads=1)
    assert place.copy.again == 10


async def test_a_load_that_is_cut_off_begins_again(place: Place) -> None:
    """With "all rows are gone"."""
    await place.run("INSERT INTO customers SELECT seq, 'c', seq FROM seq_3_to_20000")
    await place.copy.next()
    assert len(place.copy.rows) == 8_192
    await place.copy.dies()
    await place.run("DELETE FROM customers WHERE id < 100")
    await place.agrees(loads=2)


async def forget_the_log(place: Place) -> None:
    """Files that were not read yet are deleted."""
    await place.run("FLUSH BINARY LOGS", "INSERT INTO customers VALUES (4, 'd', 4)")
    await place.run("FLUSH BINARY LOGS", "PURGE BINARY LOGS TO 'log.000004'")


async def begin_the_log_anew(place: Place) -> None:
    """There is a file of that name again, and it is long enough."""
    await asyncio.sleep(1)  # files are told apart by the second in which they were made
    await place.run("RESET MASTER")
    for _ in range(40):
        await place.run("UPDATE customers SET credit = credit + 1")


async def become_another(place: Place) -> None:
    """As a replica that took over is."""
    await place.run("SET GLOBAL server_id = 77", "DELETE FROM customers WHERE id = 1")


@pytest.mark.parametrize("lose", [forget_the_log, begin_the_log_anew, become_another])
async def test_where_the_place_is_lost_the_table_is_loaded_anew(
    place: Place, lose: Callable[[Place], Any]
) -> None:
    """Also rows that were changed in between are right, and it follows again."""
    await place.agrees(loads=1)
    await place.run("INSERT INTO customers VALUES (3, 'c', 3)")
    await place.agrees(loads=1)
    await place.copy.dies()
    await place.server.kill()  # a server keeps what somebody reads, and hears late that nobody does
    await place.server.start()
    await lose(place)
    await place.agrees(loads=2)
    await place.run("UPDATE customers SET name = 'after'")
    await place.agrees(loads=2)


async def test_the_server_may_go_and_come_back(place: Place) -> None:
    """Nothing is lost and nothing is loaded again."""
    await place.agrees(loads=1)
    await place.run("INSERT INTO customers VALUES (3, 'c', 3)")
    await place.server.kill()
    with pytest.raises(UnavailableError):
        await place.copy.until(lambda: False)
    await place.copy.dies()
    await place.server.start()
    await place.run("UPDATE customers SET name = 'after' WHERE id = 3")
    await place.agrees(loads=1)


async def test_whoever_reads_second_has_the_log(place: Place) -> None:
    """The one before hears that it is over. What it had under way comes again under the same id."""
    await place.agrees(loads=1)
    await place.run("INSERT INTO customers VALUES (3, 'c', 3)")
    await place.agrees()
    second = Copy(place.datasource)
    second.memory = place.copy.memory
    await second.next()
    with pytest.raises(UnavailableError, match="another receiver reads on"):
        await place.copy.until(lambda: False)
    await place.run("INSERT INTO customers VALUES (4, 'd', 4)")
    await second.until(lambda: (4,) in second.rows)
    assert second.rows == {(3,): (3, "c", 3.0), (4,): (4, "d", 4.0)}
    assert next(iter(second.batches)) == list(place.copy.batches)[-1]
    await second.dies()


REFUSED = (
    ("ALTER TABLE customers ENGINE=MyISAM", "is kept by MyISAM"),
    ("ALTER TABLE customers ADD SYSTEM VERSIONING", "keeps versions"),
    ("ALTER TABLE customers MODIFY name text COMPRESSED", "cannot be read"),
    ("ALTER TABLE customers ADD CONSTRAINT c FOREIGN KEY (id) REFERENCES other (id)"
     " ON DELETE CASCADE", "foreign keys"),
    ("RENAME TABLE customers TO made; CREATE VIEW customers AS SELECT * FROM made", "no table"),
    ("ALTER TABLE customers MODIFY credit bigint", "is bigint"),
    ("ALTER TABLE customers MODIFY name varchar(20) CHARACTER SET cp1251", "cp1251"),
    ("SET GLOBAL binlog_row_image = 'MINIMAL'", "binlog_row_image=MINIMAL"),
    ("SET GLOBAL log_bin_compress = 'ON'", "log_bin_compress=ON"),
)  # fmt: skip


@pytest.mark.parametrize(("statements", "why"), REFUSED)
async def test_what_the_log_would_not_tell_is_refused(
    place: Place, statements: str, why: str
) -> None:
    """With the reason and what to do, before the load."""
    await place.run("CREATE TABLE other (id int PRIMARY KEY)", "INSERT INTO other VALUES (1), (2)")
    await place.run(*statements.split("; "))
    with pytest.raises(DatabaseError, match=why) as told:
        await place.copy.next()
    assert told.value.hint
    assert place.copy.batches == {}


KINDS = {
    "id": ("bigint unsigned PRIMARY KEY", AttributeType.LONG),
    "tiny": ("tinyint unsigned", AttributeType.INT),
    "big": ("bigint", AttributeType.STRING),
    "fine": ("tinyint(1)", AttributeType.BOOL),
    "bits": ("bit(9)", AttributeType.BOOL),
    "small": ("float", AttributeType.FLOAT),
    "exact": ("double", AttributeType.DOUBLE),
    "price": ("decimal(12, 6)", AttributeType.STRING),
    "amount": ("decimal(12, 6)", AttributeType.DOUBLE),
    "born": ("year", AttributeType.INT),
    "made": ("year", AttributeType.STRING),
    "day": ("date", AttributeType.STRING),
    "moment": ("datetime(3)", AttributeType.STRING),
    "second": ("datetime", AttributeType.STRING),
    "stamp": ("timestamp(1) NULL", AttributeType.STRING),
    "code": ("char(4)", AttributeType.STRING),
    "word": ("varchar(20) CHARACTER SET latin1", AttributeType.STRING),
    "long_text": ("text", AttributeType.STRING),
    "document": ("json", AttributeType.STRING),
    "choice": ("enum('a', 'é')", AttributeType.STRING),
    "raw": ("binary(4)", AttributeType.STRING),
    "blob_": ("blob", AttributeType.STRING),
    "twice": ("bigint AS (big * 2) VIRTUAL", AttributeType.LONG),
    "kept": ("bigint AS (big * 2) STORED", AttributeType.LONG),
}
VALUES = (
    "9223372036854775807, 255, -9223372036854775808 + 4611686018427387904, 2, b'100000000', 0.1,"
    " 1e300, -0.5, 123456.654321, 2026, 1999, '0987-01-02', '2026-03-01 10:00:00.7',"
    " '2026-03-01 10:00:00', '2026-03-01 10:00:00.7', 'a  ', 'Käse €', '🚀\\0', '{\"a\": [1]}',"
    " 'é', x'6100', x'00ff00'",
    "2, 0, 7, 0, b'0', 16777217, 0.1, 0.000001, 0, 0, 0, '0000-00-00', '2026-00-10 00:00:00',"
    " '0000-00-00 00:00:00', '0000-00-00 00:00:00', '', '', '', '1', 'none of them', x'', x''",
    ", ".join(["3", *["NULL"] * 21]),
)


async def test_the_log_tells_what_a_query_gives(place: Place) -> None:
    """Every kind of column: the load and the change of a row give the same values."""
    columns = ", ".join(f"{name} {kind}" for name, (kind, _) in KINDS.items())
    plain = ", ".join(list(KINDS)[:-2])
    await place.run(
        "SET sql_mode = ''", "SET time_zone = '+05:00'",
        f"CREATE TABLE kinds ({columns}, touched int DEFAULT 0) CHARACTER SET utf8mb4",
        *(f"INSERT INTO kinds ({plain}) VALUES ({values})" for values in VALUES),
    )  # fmt: skip
    shape = TableShape("kinds", tuple(KINDS), tuple(kind for _, kind in KINDS.values()), ("id",))
    copy = Copy(place.datasource, shape)
    await copy.until(lambda: len(copy.rows) == len(VALUES))
    loaded, batches = dict(copy.rows), len(copy.batches)
    await place.run("SET sql_mode = ''", "UPDATE kinds SET touched = 1")
    copy.rows.clear()
    await copy.until(lambda: len(copy.batches) > batches)
    await copy.dies()
    assert copy.rows == loaded
    first = dict(zip(KINDS, loaded[(2**63 - 1,)], strict=True))
    assert first["stamp"] == "2026-03-01 05:00:00.7"
    assert (first["word"], first["choice"], first["raw"]) == ("Käse €", "é", "61000000")
    assert (first["price"], first["small"], first["bits"]) == (
        "-0.500000",
        0.10000000149011612,
        True,
    )
    none = dict(zip(KINDS, loaded[(2,)], strict=True))
    assert [none[one] for one in ("day", "moment", "second", "stamp")] == [None] * 4
    assert set(loaded[(3,)][1:]) == {None}


@pytest.mark.parametrize("locks", [False, True])
async def test_a_load_is_of_one_place(place: Place, locks: bool) -> None:
    """While programs change rows all the time: what the log tells behind the load's place is newer
    than what was loaded, and nothing of it is missing. By the snapshot, as in MariaDB, and by a
    lock, as MySQL needs it."""
    await place.run("INSERT INTO customers SELECT seq, 'c', 0 FROM seq_3_to_2000")
    await place.run("UPDATE customers SET credit = 0")
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as together:
        programs = [together.create_task(keep_counting(place, n, stop)) for n in range(4)]
        for turn in range(5):
            load = Load(place.datasource, "customers", locks=locks)
            at = await asyncio.to_thread(load.begin)
            look = await look_at(place.datasource, SHAPE)
            await asyncio.to_thread(load.ask, look.fields)
            rows = await asyncio.to_thread(load.rows, 10_000)
            await asyncio.to_thread(load.close)
            copy = Copy(place.datasource)
            copy.memory.values = {
                "load": 1, "life": 1, "at.1": at, "server.1": look.server,
            }  # fmt: skip
            copy.rows = {(row[0],): row for row in rows}
            seen = {key: row[2] for key, row in copy.rows.items()}
            enough = copy.counted + 500
            async with asyncio.timeout(PATIENCE_S):
                while copy.counted < enough:
                    before = dict(copy.rows)
                    await copy.next()
                    for key, row in copy.rows.items():
                        if row is not before[key]:
                            assert row[2] > seen[key], f"{key} goes back in turn {turn}"
                            seen[key] = row[2]
            if turn < 4:
                await copy.dies()
        stop.set()
        counted = sum([await one for one in programs])
        await copy.until(lambda: copy.counted >= counted)
    assert copy.counted == counted
    await copy.dies()


async def keep_counting(place: Place, number: int, stop: asyncio.Event) -> int:
    """Adds one to rows of its own, a transaction each; how often."""
    done = 0
    async with place.session() as cursor:
        while not stop.is_set():
            id_ = (done * 7 % 500) * 4 + number + 1
            await cursor.execute("UPDATE customers SET credit = credit + 1 WHERE id = %s", (id_,))
            done += cursor.rowcount
            await cursor.connection.commit()
    return done
