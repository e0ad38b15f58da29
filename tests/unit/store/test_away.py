"""Why PostgreSQL cannot be had: the cause, never an empty one."""

from __future__ import annotations

import errno

import asyncpg
import pytest

from lockstep.events import UnavailableError
from lockstep.store.postgres import why_away
from lockstep.store.postgres.connection import available


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (TimeoutError(), "no answer in time"),
        (ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed"), "connection refused"),
        (asyncpg.TooManyConnectionsError("sorry, too many clients already"), "sorry, too many"),
        (asyncpg.InterfaceError(""), "InterfaceError"),
    ],
)
async def test_what_people_read(error: Exception, said: str) -> None:
    """In the words of whoever knows."""
    assert said in why_away(error)
    with pytest.raises(UnavailableError, match=said):
        async with available():
            raise error


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (asyncpg.InvalidPasswordError("password authentication failed"), "pg_hba.conf"),
        (asyncpg.InsufficientPrivilegeError("permission denied for table"), "store.postgres_dsn"),
        (asyncpg.InvalidSchemaNameError('schema "lockstep" does not exist'), "its schema lockstep"),
        (asyncpg.IndexCorruptedError("unexpected zero page"), "own log"),
        (asyncpg.PostgresIOError("could not read block 1"), "own log"),
    ],
)
async def test_where_to_look_when_the_server_refuses(error: Exception, hint: str) -> None:
    """Who runs treats that as a server that is away; who starts need not try again."""
    with pytest.raises(UnavailableError, match=hint) as found:
        async with available():
            raise error
    assert str(error) in found.value.message
    assert not found.value.retryable


async def test_what_is_a_defect_passes() -> None:
    """Nobody would find one that looked like a server in trouble."""
    with pytest.raises(asyncpg.UndefinedColumnError):
        async with available():
            raise asyncpg.UndefinedColumnError('column "nonsense" does not exist')
