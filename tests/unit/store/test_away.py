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
