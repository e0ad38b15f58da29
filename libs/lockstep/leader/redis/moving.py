"""After a fail-over: open connections may stay with a server that takes no writes any more, while
its name or address leads to the new one."""

from __future__ import annotations

import contextlib
from typing import Final

from redis.asyncio import ConnectionPool
from redis.exceptions import MasterDownError, ReadOnlyError, RedisError

from lockstep.clock import Clock
from lockstep.telemetry import get_logger

MOVE_EVERY_MS: Final = 2_000
"""No more often: until the name leads elsewhere, new connections reach the same server."""
TELL_EVERY_MS: Final = 60_000
_READ_ONLY: Final = "READONLY"


class Moving:
    """Of one pool of connections; `shown`: where they lead to, for people."""

    def __init__(self, pool: ConnectionPool, clock: Clock, shown: str) -> None:
        self._pool = pool
        self._clock = clock
        self._shown = shown
        self._log = get_logger()
        self._moved_ms: int | None = None
        self._told_ms: int | None = None

    async def heed(self, error: RedisError) -> None:
        """Closes all connections, those in use as well, if a replica says that. Who is asked next
        is whoever is there now."""
        now_ms = self._clock.monotonic_ms()
        if not _is_of_replica(error) or not _is_due(self._moved_ms, now_ms, MOVE_EVERY_MS):
            return
        self._moved_ms = now_ms
        if _is_due(self._told_ms, now_ms, TELL_EVERY_MS):
            self._told_ms = now_ms
            self._log.warning(
                "the Redis server takes no writes: connecting anew", where=self._shown,
                error=str(error),
            )  # fmt: skip
        with contextlib.suppress(RedisError, OSError, TimeoutError):
            await self._pool.disconnect(inuse_connections=True)


def _is_of_replica(error: RedisError) -> bool:
    """Older servers tell only within the text what stopped a script."""
    return isinstance(error, ReadOnlyError | MasterDownError) or _READ_ONLY in str(error)


def _is_due(last_ms: int | None, now_ms: int, every_ms: int) -> bool:
    return last_ms is None or now_ms - last_ms >= every_ms
