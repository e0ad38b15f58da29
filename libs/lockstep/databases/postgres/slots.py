"""Replication slots, looked at through plain SQL: looking takes nothing away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import asyncpg

from lockstep.clock import Clock
from lockstep.databases.contract import DatabaseError
from lockstep.databases.postgres.pgoutput import Message, read_message
from lockstep.databases.postgres.values import quoted
from lockstep.events import UnavailableError

CHANGES_AT_ONCE: Final = 10_000
"""A look at the slot ends behind the transaction that reaches it."""
PEEK: Final = """
SELECT data FROM pg_logical_slot_peek_binary_changes(
    $1, $2::text::pg_lsn, $3, 'proto_version', '1', 'publication_names', $4)"""
DROP_TRIES: Final = 50
DROP_PAUSE_MS: Final = 100
LEFT: Final = "SELECT count(*) FROM pg_replication_slots WHERE slot_name = ANY($1::text[])"
DROP: Final = """
SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots
WHERE slot_name = ANY($1::text[]) AND NOT active"""


async def create_slot(connection: asyncpg.Connection, slot: str) -> str:
    """From here on the server keeps every change; gives the place."""
    return str(
        await connection.fetchval(
            "SELECT lsn::text FROM pg_create_logical_replication_slot($1, 'pgoutput')", slot
        )
    )


async def has_slot(connection: asyncpg.Connection, slot: str) -> bool:
    """Whether it is there, with all that it has to keep."""
    status = await connection.fetchrow(
        "SELECT wal_status FROM pg_replication_slots WHERE slot_name = $1", slot
    )
    return status is not None and status["wal_status"] != "lost"


async def drop_slots(connection: asyncpg.Connection, slots: Sequence[str]) -> None:
    """Those that are there and that nobody reads."""
    await connection.execute(DROP, list(slots))


async def drop_for_good(connection: asyncpg.Connection, slots: Sequence[str], clock: Clock) -> None:
    """None of them is left; a connection that was just ended may hold one for a moment.
    UnavailableError when it holds it for longer."""
    for _ in range(DROP_TRIES):
        await drop_slots(connection, slots)
        if not await connection.fetchval(LEFT, list(slots)):
            return
        await clock.sleep_ms(DROP_PAUSE_MS)
    raise UnavailableError(f"another connection still reads {' or '.join(slots)}")


async def flushed(connection: asyncpg.Connection) -> int:
    """Up to where the server has written."""
    return lsn_number(await connection.fetchval("SELECT pg_current_wal_flush_lsn()::text"))


async def peek(
    connection: asyncpg.Connection, slot: str, up_to: int, publication: str
) -> list[Message | None]:
    """What the slot has, whole transactions, about CHANGES_AT_ONCE messages."""
    rows = await connection.fetch(PEEK, slot, lsn_text(up_to), CHANGES_AT_ONCE, publication)
    return [read_message(row["data"]) for row in rows]


async def advance(connection: asyncpg.Connection, slot: str, to: int) -> None:
    """Up to there the database may forget."""
    await connection.execute(
        "SELECT pg_replication_slot_advance($1, $2::text::pg_lsn) FROM pg_replication_slots"
        " WHERE slot_name = $1 AND confirmed_flush_lsn < $2::text::pg_lsn",
        slot,
        lsn_text(to),
    )


async def publish(
    connection: asyncpg.Connection, table: str, own: str, given: str | None, where: str
) -> str:
    """The publication to read by: the one that was `given`, or our `own`, made if need be."""
    name = given or own
    if await connection.fetchval("SELECT true FROM pg_publication WHERE pubname = $1", name):
        return name
    if given is not None:
        raise DatabaseError(
            f"there is no publication {given!r}",
            where=where,
            hint=f"CREATE PUBLICATION {given} FOR TABLE {table}",
        )
    await connection.execute(
        f"CREATE PUBLICATION {quoted(own)} FOR TABLE {quoted(table)}"
        " WITH (publish_via_partition_root = true)"
    )
    return name


async def unpublish(connection: asyncpg.Connection, own: str) -> None:
    """Our own goes."""
    await connection.execute(f"DROP PUBLICATION IF EXISTS {quoted(own)}")


def lsn_number(lsn: str) -> int:
    """A place in the write-ahead log as a number."""
    high, _, low = lsn.partition("/")
    return (int(high, 16) << 32) + int(low, 16)


def lsn_text(number: int) -> str:
    """The same as PostgreSQL writes it."""
    return f"{number >> 32:X}/{number & 0xFFFFFFFF:X}"
