"""Rows of a real MariaDB by the values of columns: what is told, and what is refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiomysql
import pytest

from lockstep.databases import (
    Asking,
    DatabaseError,
    Datasource,
    TableShape,
    datasource_of_url,
    open_asking,
)
from lockstep.databases.mysql.connections import parameters_of
from lockstep.events import AttributeType, UnavailableError
from tests.mariadb.server import start_mariadb

TABLE = """CREATE TABLE `odd 100% ``t```
(id int unsigned PRIMARY KEY, region varchar(9), big bigint, fine tinyint(1), bits bit(1),
 small float, exact double, price decimal(10, 2), at datetime)"""
ROWS = """INSERT INTO `odd 100% ``t``` VALUES
(1, 'eu', 9007199254740993, 1, b'1', 16777215, 0.1, 12.50, '2026-03-01 10:00:00'),
(2, 'EU', -1, 0, b'0', 0.1, 1e300, -0.01, NULL),
(4000000000, 'us', NULL, NULL, NULL, NULL, NULL, NULL, NULL)"""
KINDS = {
    "id": AttributeType.LONG,
    "region": AttributeType.STRING,
    "big": AttributeType.LONG,
    "fine": AttributeType.BOOL,
    "bits": AttributeType.BOOL,
    "small": AttributeType.FLOAT,
    "exact": AttributeType.DOUBLE,
    "price": AttributeType.DOUBLE,
    "at": AttributeType.STRING,
}
ONE = (1, "eu", 2**53 + 1, True, True, 16777215.0, 0.1, 12.5, "2026-03-01 10:00:00")
TWO = (2, "EU", -1, False, False, 0.10000000149011612, 1e300, -0.01, None)
NONE = (4_000_000_000, "us", *[None] * 7)


def shape(**other: AttributeType) -> TableShape:
    """Of the table, with other types for some columns."""
    kinds = KINDS | other
    return TableShape("odd 100% `t`", tuple(kinds), tuple(kinds.values()), ("id",))


class Place:
    """A server with the table."""

    def __init__(self, datasource: Datasource, asking: Asking) -> None:
        self.datasource = datasource
        self.asking = asking

    async def run(self, statement: str) -> None:
        """By a connection of its own."""
        connection = await aiomysql.connect(**parameters_of(self.datasource), autocommit=True)
        try:
            await (await connection.cursor()).execute(statement)
        finally:
            connection.close()

    async def rows(self, equal: tuple[str, ...], *keys: tuple[Any, ...], **other: Any) -> Any:
        """Sorted by the id."""
        return sorted(await self.asking.rows(shape(**other), equal, keys))


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    """The test's own."""
    server = await start_mariadb(tmp_path / "mariadb")
    datasource = datasource_of_url("shop", server.url, statement_timeout_ms=300)
    asking = open_asking(datasource)
    made = Place(datasource, asking)
    await made.run(TABLE)
    await made.run(ROWS)
    yield made
    await asking.close()
    await server.kill()


async def test_rows_come_with_their_exact_values(place: Place) -> None:
    """By one column and by several; a float is not rounded; a question sees what was committed
    before it."""
    assert await place.rows(("id",), (1,), (2,), (3,), (4_000_000_000,)) == [ONE, TWO, NONE]
    assert await place.rows(("region", "id"), ("eu", 1), ("us", 1)) == [ONE]
    assert await place.rows(("exact",), (0.1,), (float("nan"),), (float("inf"),)) == [ONE]
    assert await place.rows(("exact",), (float("nan"),)) == []
    assert await place.rows(("region",), ("' OR 1=1 -- \\' %s",)) == []
    await place.run("UPDATE `odd 100% ``t``` SET big = 7 WHERE id = 1")
    assert (await place.rows(("id",), (1,)))[0][2] == 7


UNFIT = (
    ("region", AttributeType.LONG, "'region' is no number, which is no long"),
    ("big", AttributeType.INT, "'big' is BIGINT, which is no int"),
    ("id", AttributeType.INT, "'id' has 4000000000, which is no int"),
    ("price", AttributeType.FLOAT, "'price' is DECIMAL, which is no float"),
    ("gone", AttributeType.INT, "gone"),
)


async def test_what_does_not_fit_is_refused(place: Place) -> None:
    """With the column, and what it is."""
    for column, wanted, said in UNFIT:
        with pytest.raises(DatabaseError, match=said):
            await place.rows(("id",), (4_000_000_000,), **{column: wanted})


@pytest.mark.parametrize(
    ("change", "back", "said"),
    [
        ("IDENTIFIED BY 'other'", "IDENTIFIED BY '{}'", "for user 'lockstep'"),
        ("ACCOUNT LOCK", "ACCOUNT UNLOCK", "locked"),
        ("PASSWORD EXPIRE", "IDENTIFIED BY '{}'", "expired"),
    ],
)
async def test_a_login_that_is_refused_is_waited_for(
    place: Place, change: str, back: str, said: str
) -> None:
    """As a server that is away is: somebody changes the password just now. The user's name stands
    beside the message, where senders do not see it."""
    connection = await aiomysql.connect(**parameters_of(place.datasource))
    cursor = await connection.cursor()
    await cursor.execute("SET GLOBAL disconnect_on_expired_password = ON")
    await cursor.execute(f"ALTER USER lockstep {change}")
    with pytest.raises(UnavailableError, match=said) as caught:
        await place.rows(("id",), (1,))
    assert caught.value.message == "the database refuses the login"
    assert "lockstep" not in str(caught.value.hint)
    await cursor.execute(f"ALTER USER lockstep {back.format(place.datasource.password)}")
    connection.close()
    assert await place.rows(("id",), (1,)) == [ONE]


async def test_what_is_locked_is_waited_for_and_given_up(place: Place) -> None:
    """As long as the datasource says; the pool answers again afterwards."""
    connection = await aiomysql.connect(**parameters_of(place.datasource))
    cursor = await connection.cursor()
    await cursor.execute("LOCK TABLES `odd 100% ``t``` WRITE")
    with pytest.raises(UnavailableError):
        await place.rows(("id",), (1,))
    await cursor.execute("UNLOCK TABLES")
    connection.close()
    found = await asyncio.gather(*(place.rows(("id",), (1,)) for _ in range(20)))
    assert found == [[ONE]] * 20
