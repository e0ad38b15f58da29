"""Poolers between us and PostgreSQL, as pgbouncer, that give a session a server connection for each
transaction.

A prepared statement stays with the server connection it was prepared on. The next transaction may
have another one. There its name is unknown, or another process's statement answers to it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

import asyncpg

_OURS: Final = "select 1 where pg_backend_pid() = {pid}"
"""Sent without being prepared; its answer's tag tells how many rows there are."""
_ONE_ROW: Final = "SELECT 1"


class Connecting:
    """Makes the connections to one address; a pool's `connect`. Through a pooler nothing is
    prepared under a name, which costs each statement a round trip more."""

    def __init__(self, connect: Callable[..., Awaitable[Any]] = asyncpg.connect) -> None:
        self._connect = connect
        self._is_pooled = False

    async def __call__(self, dsn: str, **given: Any) -> Any:
        """Errors: those of `connect`."""
        if not self._is_pooled:
            connection = await self._connect(dsn, **given)
            try:
                if await _is_direct(connection):
                    return connection
            except BaseException:
                connection.terminate()
                raise
            connection.terminate()
            self._is_pooled = True
        return await self._connect(dsn, **given, statement_cache_size=0)


async def _is_direct(connection: Any) -> bool:
    """The process that said hello serves the session. A pooler says hello with a number of its own,
    as it has to find the right one when a request is called off. Where it may not be asked, nothing
    is prepared: that is right anywhere."""
    try:
        said = await connection.execute(_OURS.format(pid=connection.get_server_pid()))
    except (asyncpg.InsufficientPrivilegeError, asyncpg.SyntaxOrAccessError):
        return False
    return bool(said == _ONE_ROW)
