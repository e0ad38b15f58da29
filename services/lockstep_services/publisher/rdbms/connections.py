"""Connection pools of the database sinks: one per database, opened at first use."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote, urlsplit

import asyncpg

from lockstep.events import UnavailableError
from lockstep.siddhiql import ast
from lockstep.store.postgres import session_settings, why_away
from lockstep_services.publisher.contract import SinkSetupError

PREFIX: Final = "jdbc:postgresql://"
CONNECT_TIMEOUT_S: Final = 5.0


class Connections:
    """A lazily opened pool of one database."""

    def __init__(self, dsn: str, *, max_connections: int, statement_timeout_ms: int) -> None:
        self._dsn = dsn
        self._max_connections = max_connections
        self._statement_timeout_ms = statement_timeout_ms
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
                )
            except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError) as error:
                raise UnavailableError(f"the database is away: {why_away(error)}") from error
        return self._pool

    async def close(self) -> None:
        """Ends all connections; idempotent."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.terminate()


def dsn_of(annotation: ast.Annotation, default_dsn: str) -> str:
    """The database that an annotation names by jdbc.url, or the suite's own."""
    url = annotation.get("jdbc.url")
    if not url:
        return default_dsn
    if not url.startswith(PREFIX):
        raise SinkSetupError(
            f"jdbc.url '{url}' is not supported",
            hint=f"PostgreSQL only: {PREFIX}host:port/database",
        )
    parts = urlsplit("postgresql://" + url.removeprefix(PREFIX))
    user = annotation.get("username")
    password = annotation.get("password")
    login = ""
    if user:
        login = quote(user, safe="") + (f":{quote(password, safe='')}" if password else "") + "@"
    query = f"?{parts.query}" if parts.query else ""
    return f"postgresql://{login}{parts.netloc}{parts.path}{query}"
