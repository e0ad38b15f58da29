"""Connection pools of databases that apps name: one per database, opened at first use."""

from __future__ import annotations

from typing import Any, Final

import asyncpg

from lockstep.events import UnavailableError
from lockstep.store.postgres import Connecting, session_settings, why_away

CONNECT_TIMEOUT_S: Final = 5.0


class Connections:
    """A lazily opened pool of one database."""

    def __init__(self, dsn: str, *, max_connections: int, statement_timeout_ms: int) -> None:
        self._dsn = dsn
        self._max_connections = max_connections
        self._statement_timeout_ms = statement_timeout_ms
        self._connecting = Connecting()
        self._pool: Any = None

    async def pool(self) -> Any:
        """The open pool; UnavailableError when the database cannot be reached."""
        if self._pool is None:
            try:
                self._pool = await asyncpg.create_pool(
                    self._dsn,
                    min_size=0,
                    max_size=self._max_connections,
                    timeout=CONNECT_TIMEOUT_S,
                    command_timeout=self._statement_timeout_ms / 1000,
                    server_settings=session_settings(self._statement_timeout_ms),
                    connect=self._connecting,
                )
            except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError) as error:
                raise UnavailableError(f"the database is away: {why_away(error)}") from error
        return self._pool

    async def close(self) -> None:
        """Ends all connections; idempotent."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.terminate()
