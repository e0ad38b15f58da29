"""Connections to one Redis, and what tables need of it. The only module of the databases that
imports redis."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from redis import exceptions
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from lockstep.clock import SystemClock
from lockstep.databases.contract import DatabaseError, LoginRefusedError
from lockstep.databases.datasources import Datasource
from lockstep.events import UnavailableError
from lockstep.leader.redis.moving import Moving

SCANNED_AT_ONCE: Final = 1_000
"""Keys that the server looks through before it answers others again."""
_PASSING: Final = (
    "BUSY", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "MISCONF", "NOREPLICAS", "OOM", "READONLY",
    "TRYAGAIN", "UNKILLABLE", "max number of clients",
)  # fmt: skip

Fields = Mapping[bytes, bytes]


class RedisAwayError(Exception):
    """The server cannot be had just now, or lacks something for now."""


class RedisRefusedError(Exception):
    """The server does not let us do it."""


class RedisLoginError(RedisRefusedError):
    """It does not let us in."""


@contextmanager
def told(where: str) -> Iterator[None]:
    """These as errors of ours."""
    try:
        yield
    except RedisAwayError as error:
        raise UnavailableError(f"the database is away: {error}", where=where) from error
    except RedisLoginError as error:
        raise LoginRefusedError(str(error), where=where) from error
    except RedisRefusedError as error:
        raise DatabaseError(str(error), where=where) from error


class RedisConnections:
    """To one server; opened when first used."""

    def __init__(self, datasource: Datasource) -> None:
        self._datasource = datasource
        self._client: Any = None
        self._moving: Moving | None = None

    async def call(self, script: str, key: str, *arguments: str | bytes | int) -> Any:
        """A script over one key. RedisAwayError, RedisRefusedError."""
        return await self._done(lambda client: client.eval(script, 1, key, *arguments))

    async def hashes(self, keys: Sequence[str | bytes]) -> list[Fields]:
        """What lies at each key, each as of one moment; nothing where there is none.
        RedisAwayError, RedisRefusedError: also where something else lies there."""

        async def read(client: Any) -> list[Fields]:
            async with client.pipeline(transaction=False) as pipeline:
                for key in keys:
                    pipeline.hgetall(key)
                return list(await pipeline.execute())

        return list(await self._done(read))

    async def hash_keys(self, pattern: str, most: int) -> list[bytes]:
        """The keys of hashes that fit a pattern, each once, about so many at most. Those that come
        or go meanwhile are in it or not. RedisAwayError, RedisRefusedError."""

        async def scan(client: Any) -> list[bytes]:
            found: dict[bytes, None] = {}
            async for key in client.scan_iter(pattern, count=SCANNED_AT_ONCE, _type="hash"):
                found[key] = None
                if len(found) > most:
                    break
            return list(found)

        return list(await self._done(scan))

    async def close(self) -> None:
        """Ends all connections; idempotent."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _opened(self) -> tuple[Any, Moving]:
        """The client, and what leaves its connections after a fail-over."""
        if self._client is None or self._moving is None:
            place = self._datasource
            seconds = place.statement_timeout_ms / 1000
            self._client = Redis(
                host=place.host,
                port=place.port,
                password=place.password or None,
                socket_timeout=seconds,
                socket_connect_timeout=seconds,
                retry=Retry(NoBackoff(), 0),  # a step that may have been made is asked about first
            )
            pool, shown = self._client.connection_pool, f"{place.host}:{place.port}"
            self._moving = Moving(pool, SystemClock(), shown)
        return self._client, self._moving

    async def _done(self, do: Callable[[Any], Awaitable[Any]]) -> Any:
        client, moving = self._opened()
        try:
            return await do(client)
        except exceptions.AuthenticationError as error:
            raise RedisLoginError(str(error)) from error
        except (exceptions.ConnectionError, exceptions.TimeoutError) as error:
            raise RedisAwayError(str(error) or "no answer in time") from error
        except exceptions.RedisError as error:
            await moving.heed(error)
            if any(word in str(error) for word in _PASSING):
                raise RedisAwayError(str(error)) from error
            raise RedisRefusedError(str(error)) from error
