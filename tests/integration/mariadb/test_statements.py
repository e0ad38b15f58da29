"""Statements of apps in a real MariaDB: a change is made once, whoever comes again."""

from __future__ import annotations

from lockstep_services.publisher.mysql.statements import MysqlStatements
from lockstep_services.publisher.mysql.table import MysqlConnections
from tests.integration.mariadb.test_tables import connections, mariadb
from tests.integration.services.statements_of import play

__all__ = ["connections", "mariadb"]


async def test_a_change_is_made_once(connections: MysqlConnections) -> None:
    """By its record, and by who took over last."""
    async with connections.transaction() as cursor:
        await cursor.execute("CREATE TABLE purses (id int PRIMARY KEY, balance decimal(9, 2))")
        await cursor.execute("INSERT INTO purses VALUES (1, 0), (2, 0), (3, 0)")

    async def balance() -> float:
        async with connections.transaction() as cursor:
            await cursor.execute("SELECT balance FROM purses WHERE id = 1")
            (found,) = await cursor.fetchone()
        return float(found)

    await play(lambda: MysqlStatements("Shop.make__asks.0", connections), balance)
