"""What PostgreSQL and its driver say, as errors of ours."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import asyncpg

from lockstep.databases.contract import DatabaseError, LoginRefusedError
from lockstep.events import UnavailableError
from lockstep.store.postgres import why_away
from lockstep.store.postgres.connection import AWAY as STORE_AWAY

PASSING: Final = STORE_AWAY
"""The server is away, too slow, not yet promoted, or lacks something for now: the same statement
may go well later."""

AWAY: Final = (*PASSING, asyncpg.ObjectInUseError)
"""For those who follow a slot: another connection may still hold it."""


@asynccontextmanager
async def told(where: str) -> AsyncIterator[None]:
    """Errors of the driver as ours."""
    try:
        yield
    except asyncpg.ConfigurationLimitExceededError as error:
        raise DatabaseError(
            str(error), where=where, hint="each followed table needs one of max_replication_slots"
        ) from error
    except AWAY as error:
        raise UnavailableError(f"the database is away: {why_away(error)}", where=where) from error
    except asyncpg.InvalidAuthorizationSpecificationError as error:  # a wrong password as well
        raise LoginRefusedError(str(error), where=where) from error
    except asyncpg.InsufficientPrivilegeError as error:
        raise DatabaseError(
            str(error),
            where=where,
            hint="the role needs SELECT on the table, REPLICATION, and a publication:"
            " name yours with publication='…'",
        ) from error
    except asyncpg.ObjectNotInPrerequisiteStateError as error:
        raise DatabaseError(str(error), where=where, hint="set wal_level=logical") from error
    except asyncpg.PostgresError as error:
        raise DatabaseError(str(error), where=where) from error
