"""Replication slots, looked at through plain SQL: looking takes nothing away."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import asyncpg

from lockstep.clock import Clock
from lockstep.databases.contract import DatabaseError
from lockstep.databases.postgres.pgoutput import Commit, Message, read_message
from lockstep.databases.postgres.values import quoted
from lockstep.events import UnavailableError

CHANGES_AT_ONCE: Final = 10_000
"""A look at the slot ends behind the transaction that reaches it."""
LOOK_BYTES: Final = 64 << 20
"""Of the server's log a look goes through so much at a time: it has to read what all tables have
written, and whoever is far behind would else never come to the end of one."""
LOOK_TIMEOUT_MS: Final = 120_000
"""So long a look, or moving a slot, may take, if the datasource does not give it more: the server
begins at the oldest transaction that was under way."""
PEEK: Final = """
SELECT data FROM pg_logical_slot_peek_binary_changes(
    $1, $2::text::pg_lsn, $3, 'proto_version', '1', 'publication_names', $4)"""
TAKEN: Final = """
SELECT confirmed_flush_lsn::text FROM pg_replication_slots WHERE slot_name = $1"""
DROP_TRIES: Final = 50
DROP_PAUSE_MS: Final = 100
OURS: Final = """
SELECT coalesce(array_agg(slot_name::text), '{}') FROM pg_replication_slots
WHERE starts_with(slot_name, $1)"""
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


async def drop_for_good(connection: asyncpg.Connection, name: str, clock: Clock) -> None:
    """No slot is left whose name begins so. A connection that was just ended may hold one for a
    moment, and others may drop them, too. UnavailableError when it is held for longer."""
    slots = await connection.fetchval(OURS, name)
    for _ in range(DROP_TRIES):
        with contextlib.suppress(asyncpg.UndefinedObjectError, asyncpg.ObjectInUseError):
            await drop_slots(connection, slots)
        slots = await connection.fetchval(OURS, name)
        if not slots:
            return
        await clock.sleep_ms(DROP_PAUSE_MS)
    raise UnavailableError(f"another connection still reads {' or '.join(slots)}")


async def flushed(connection: asyncpg.Connection) -> int:
    """Up to where the server has written."""
    return lsn_number(await connection.fetchval("SELECT pg_current_wal_flush_lsn()::text"))


async def taken_to(connection: asyncpg.Connection, slot: str) -> int:
    """What the slot gives comes behind that place; 0 where it has gone meanwhile."""
    return lsn_number(await connection.fetchval(TAKEN, slot) or "0/0")


@dataclass(frozen=True, slots=True)
class Seen:
    """What a look has found, whole transactions; `end`: it has seen all up to there."""

    messages: Sequence[Message | None]
    end: int


async def peek(connection: asyncpg.Connection, slot: str, up_to: int, publication: str) -> Seen:
    """What the slot has up to there, about CHANGES_AT_ONCE messages."""
    rows = await connection.fetch(PEEK, slot, lsn_text(up_to), CHANGES_AT_ONCE, publication)
    # On a thread: a large transaction takes seconds.
    messages = await asyncio.to_thread(_messages, rows) if rows else []
    ends = (one.end for one in reversed(messages) if isinstance(one, Commit))
    return Seen(messages, next(ends, up_to))


def _messages(rows: Sequence[Any]) -> list[Message | None]:
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
