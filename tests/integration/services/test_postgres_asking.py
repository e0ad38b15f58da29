"""A PostgreSQL that is asked for rows: for what it cannot hold it is not asked."""

from __future__ import annotations

import asyncpg

from lockstep.databases import TableShape, datasource_of_url, open_asking
from lockstep.embedded import PostgresServer
from lockstep.events import AttributeType
from tests.integration.services.test_postgres_sink import admin, server

__all__ = ["admin", "server"]

SHAPE = TableShape("known", ("k", "v"), (AttributeType.STRING, AttributeType.INT), ("k",))


async def test_a_text_with_a_nul_costs_no_other_key_its_answer(
    server: PostgresServer, admin: asyncpg.Connection
) -> None:
    """PostgreSQL keeps no such text, so no row has it."""
    await admin.execute("CREATE TABLE known (k text PRIMARY KEY, v integer)")
    await admin.execute("INSERT INTO known VALUES ('a', 1), ('b', 2)")
    asking = open_asking(datasource_of_url("shop", server.url))
    keys = [("a",), ("b\0",), ("\0",), ("c",)]
    assert await asking.rows(SHAPE, ["k"], keys) == [("a", 1)]
    assert await asking.rows(SHAPE, ["k"], [("b\0",)]) == []
    assert await asking.rows(SHAPE, ["k", "v"], [("b\0", 2), ("b", 2)]) == [("b", 2)]
    await asking.close()
