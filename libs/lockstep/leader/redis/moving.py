"""After a fail-over: open connections may stay with a server that takes no writes any more, while
its name or address leads to the new one."""

from __future__ import annotations

import contextlib
from typing import Final

from redis.asyncio import ConnectionPool
from redis.exceptions import MasterDownError, ReadOnlyError, RedisError

from lockstep.clock import Clock
from lockstep.telemetry import Seldom, get_logger

MOVE_EVERY_MS: Final = 2_000
"""No more often: until the name leads elsewhere, new connections reach the same server."""
_READ_ONLY: Final = "READONLY"


class Moving:
    """Of one pool of connections; `shown`: where they lead to, for people."""

    def __init__(self, pool: ConnectionPool, clock: Clock, shown: str) -> None:
        self._pool = pool
        self._clock = clock
        self._shown = shown
        self._log = get_logger()
        self._moves = Seldom(MOVE_EVERY_MS)
        self._seldom = Seldom()

    async def heed(self, error: RedisError) -> None:
        """Closes all connections, those in use as well, if a replica says that. Who is asked next
        is whoever is there now."""
        now_ms = self._clock.monotonic_ms()
        if not _is_of_replica(error) or not self._moves.is_due(_READ_ONLY, now_ms):
            return
        if self._seldom.is_due(_READ_ONLY, now_ms):
            self._log.warning(
                "the Redis server takes no writes: connecting anew", where=self._shown,
                error=str(error),
            )  # fmt: skip
        with contextlib.suppress(RedisError, OSError, TimeoutError):
            await self._pool.disconnect(inuse_connections=True)


def _is_of_replica(error: RedisError) -> bool:
    """Older servers tell only within the text what stopped a script."""
    return isinstance(error, ReadOnlyError | MasterDownError) or _READ_ONLY in str(error)
