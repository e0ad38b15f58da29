"""Timestamps of a MariaDB whose machine is in a zone where clocks go back: told in UTC to all
that read. What is written there is written in the server's zone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiomysql
import pytest

from lockstep.clock import SystemClock, VirtualClock
from lockstep.databases import (
    Datasource,
    RowChange,
    TableShape,
    datasource_of_url,
    open_asking,
    open_following,
    open_polling,
)
from lockstep.databases.listening import AT, BEGUN
from lockstep.databases.mysql.connections import parameters_of
from lockstep.databases.polling import place_of
from lockstep.events import Attribute, AttributeType, OutputId, OutputRow, StreamSchema
from lockstep_services.publisher.contract import Batch, SinkBinding
from lockstep_services.publisher.mysql.statements import MysqlStatements
from lockstep_services.publisher.mysql.table import MysqlConnections, MysqlTable
from lockstep_services.publisher.rdbms.table_sink import TableSink
from tests.mariadb.server import LOGGED, start_mariadb

BERLIN = "CET-1CEST,M3.5.0,M10.5.0/3"
NEW_YORK = "EST5EDT,M3.2.0,M11.1.0"
NIGHT = ("00:10", "00:50", "01:10", "01:50", "02:10")
"""In UTC. On 25 October 2026 clocks in Berlin go back at 01:00, from 03:00 to 02:00."""
SHAPE = TableShape("t", ("id", "seen"), (AttributeType.INT, AttributeType.STRING), ("id",))


@dataclass
class Remembered:
    """Like the store's cursors."""

    values: dict[str, int] = field(default_factory=dict)

    async def get(self, name: str) -> int:
        """See Memory."""
        return self.values.get(name, 0)

    async def put(self, name: str, value: int) -> None:
        """See Memory."""
        self.values[name] = max(value, self.values.get(name, 0))


class Place:
    """A server with a table of times."""

    def __init__(self, datasource: Datasource) -> None:
        self.datasource = datasource

    async def run(self, *statements: str) -> Sequence[Any]:
        """In UTC; gives the last one's rows."""
        connection = await aiomysql.connect(**parameters_of(self.datasource), autocommit=True)
        cursor = await connection.cursor()
        for statement in ("SET time_zone = '+00:00'", *statements):
            await cursor.execute(statement)
        found = await cursor.fetchall()
        connection.close()
        return list(found)

    async def polled(self, memory: Remembered) -> list[int]:
        """The ids of what is new, up to the newest, by another reader each time."""
        clock = VirtualClock()
        polling = open_polling(self.datasource, "t", "seen", "me", memory, clock, interval_ms=1_000)
        found = []
        for _ in range(3):
            rows = await polling.read(max_rows=99, wait_ms=0)
            found += [row.entries["id"] for row in rows]
            await polling.settle()
            await clock.advance_ms(1_000)
        return found


async def place_in(directory: Path, zone: str) -> AsyncIterator[Place]:
    """The test's own, on a machine in this zone."""
    server = await start_mariadb(directory / "mariadb", *LOGGED, zone=zone)
    place = Place(datasource_of_url("shop", server.url))
    await place.run("CREATE TABLE t (id int PRIMARY KEY, seen timestamp NOT NULL)")
    yield place
    await server.kill()


@pytest.fixture
async def berlin(tmp_path: Path) -> AsyncIterator[Place]:
    """One hour in front of UTC, two in summer."""
    async for place in place_in(tmp_path, BERLIN):
        yield place


@pytest.fixture(params=[BERLIN, NEW_YORK])
async def anywhere(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Place]:
    """In front of UTC and behind it."""
    async for place in place_in(tmp_path, request.param):
        yield place


@pytest.fixture
async def new_york(tmp_path: Path) -> AsyncIterator[Place]:
    """Five hours behind UTC, four in summer."""
    async for place in place_in(tmp_path, NEW_YORK):
        yield place


def row(number: int, minute: str) -> str:
    """An INSERT of that night."""
    return f"INSERT INTO t VALUES ({number}, '2026-10-25 {minute}:00')"


def sink_of(connections: MysqlConnections, *attributes: Attribute) -> TableSink:
    """To the table, by its id."""
    schema = StreamSchema("T", (Attribute("id", AttributeType.INT), *attributes))
    binding = SinkBinding("Shop", schema, "T.0.rdbms")
    return TableSink(binding, MysqlTable(binding, "t", ("id",), connections))


def by_older(text: str) -> Remembered:
    """What a Lockstep has noted that was told times in the server's zone."""
    return Remembered({BEGUN: 1, AT: place_of(text, "seen")})


async def test_polling_passes_over_no_row_when_clocks_go_back(berlin: Place) -> None:
    """The hour that comes twice is two hours."""
    memory = Remembered()
    assert await berlin.polled(memory) == []
    for number, minute in enumerate(NIGHT):
        await berlin.run(row(number, minute))
        assert await berlin.polled(memory) == [number]


async def test_what_a_server_fills_in_for_lockstep_is_its_own_time(anywhere: Place) -> None:
    """So who polls a DATETIME finds what a sink, a statement and other programs write there."""
    now = "datetime(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)"
    await anywhere.run(f"ALTER TABLE t MODIFY seen {now}")
    others = "SET time_zone = DEFAULT"
    memory = Remembered()
    assert await anywhere.polled(memory) == []
    await anywhere.run(others, "INSERT INTO t (id) VALUES (1)")
    assert await anywhere.polled(memory) == [1]
    connections = MysqlConnections(anywhere.datasource)
    sink = sink_of(connections)
    await sink.open()
    await sink.deliver(Batch(1, [OutputRow(OutputId(1, 0), "T", 0, (2,))]))
    assert await anywhere.polled(memory) == [2]
    statements = MysqlStatements("Shop.asks", connections)
    await statements.take_over(forget=False)
    assert await statements.change("c", ["INSERT INTO t VALUES (3, NOW(6))"], [], []) == 1
    await connections.close()
    assert await anywhere.polled(memory) == [3]
    await anywhere.run(others, "INSERT INTO t (id) VALUES (4)")
    assert await anywhere.polled(memory) == [4]


async def test_a_lookup_and_a_copy_tell_the_same_time(berlin: Place) -> None:
    """In UTC, of what a sink has written in the server's zone."""
    given, told = "2026-07-01 14:00:00", "2026-07-01 12:00:00"
    connections = MysqlConnections(berlin.datasource)
    sink = sink_of(connections, Attribute("seen", AttributeType.STRING))
    await sink.open()
    await sink.deliver(Batch(1, [OutputRow(OutputId(1, 0), "T", 0, (1, given))]))
    await connections.close()
    moment = int(datetime(2026, 7, 1, 12, tzinfo=UTC).timestamp())
    assert await berlin.run("SELECT UNIX_TIMESTAMP(seen) FROM t") == [(moment,)]
    asking = open_asking(berlin.datasource)
    assert await asking.rows(SHAPE, ["id"], [(1,)]) == [(1, told)]
    await asking.close()
    following = open_following(
        berlin.datasource, SHAPE, "lockstep_x", Remembered(), SystemClock(),
        life=1, poll_ms=100, publication=None,
    )  # fmt: skip
    copied = []
    async for batch in following.changes():
        if batch is None:
            break
        copied += list(zip(batch.kinds, *batch.columns, strict=True))
        following.told(was_there=False)
    await following.close()
    assert copied[-1] == (RowChange.ROW, 1, told)


@pytest.mark.parametrize(
    ("noted", "found"),
    [
        ("2026-10-25T02:10:00", [1, 2, 3, 4]),  # it was the first or the second 02:10
        ("2026-10-25T03:10:00", []),
    ],
)
async def test_a_place_of_an_older_version_is_gone_on_from(
    berlin: Place, noted: str, found: list[int]
) -> None:
    """It named the server's own time. Where that could be two moments, it is the earlier one."""
    await berlin.run(*map(row, range(5), NIGHT))
    memory = by_older(noted)
    assert await berlin.polled(memory) == found
    await berlin.run(row(5, "02:40"))
    assert await berlin.polled(memory) == [5]


async def test_a_place_behind_utc_is_gone_on_from(new_york: Place) -> None:
    """No row comes again. A DATETIME has no zone, and its place stays."""
    await new_york.run(*map(row, range(5), NIGHT))
    assert await new_york.polled(by_older("2026-10-24T21:10:00")) == [3, 4]
    await new_york.run("ALTER TABLE t MODIFY seen datetime NOT NULL")
    assert await new_york.polled(by_older("2026-10-25T01:10:00")) == [3, 4]
