"""The servers that the suite stands on, as supervised children in one data folder."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping
from pathlib import Path
from typing import IO, Literal, Self

from lockstep.clock import Clock, Randomness, SystemClock, SystemRandomness
from lockstep.embedded.credentials import write_private
from lockstep.embedded.errors import DirectoryInUseError
from lockstep.embedded.nats_server import NatsServer
from lockstep.embedded.postgres_server import PostgresServer
from lockstep.embedded.process import THIS_MACHINE, Machine
from lockstep.embedded.redis_server import RedisServer
from lockstep.embedded.server import Server
from lockstep.events.errors import LockstepError
from lockstep.telemetry import get_logger

ServerName = Literal["nats", "redis", "postgres"]
ALL_SERVERS: tuple[ServerName, ...] = ("nats", "redis", "postgres")

_VARIABLES: dict[ServerName, str] = {
    "nats": "LOCKSTEP_BUS__URL_FILE",
    "redis": "LOCKSTEP_LEADER__URL_FILE",
    "postgres": "LOCKSTEP_STORE__POSTGRES_DSN_FILE",
}

_WATCH_EVERY_MS = 200
_RESTARTS_MAX = 5
_RESTARTS_WITHIN_MS = 60_000


class EmbeddedServers:
    """NATS, Redis and PostgreSQL for one machine.

    `nats`, `redis` and `postgres` are the servers themselves (None when not wanted or given by
    URL); their data, ports and credentials stay with `directory`. A server that ends by itself is
    started again, each at most 5 times a minute; one that was stopped or killed through its object
    stays down.
    """

    def __init__(
        self,
        directory: Path,
        *,
        want: Iterable[ServerName] = ALL_SERVERS,
        urls: Mapping[ServerName, str] | None = None,
        sync_interval: str = "always",
        machines: Mapping[ServerName, Machine] | None = None,
        clock: Clock | None = None,
        randomness: Randomness | None = None,
    ) -> None:
        self.directory = directory.resolve()
        self._clock = clock or SystemClock()
        self._randomness = randomness or SystemRandomness()
        self._sync_interval = sync_interval
        self._machines = dict(machines or {})
        self._urls = dict(urls or {})
        self._lock: IO[str] | None = None
        self._restarts: dict[ServerName, deque[int]] = {
            name: deque(maxlen=_RESTARTS_MAX) for name in ALL_SERVERS
        }
        self._servers: dict[ServerName, Server] = {
            name: self._make(name) for name in ALL_SERVERS if name in set(want) - set(self._urls)
        }

    @classmethod
    @contextlib.asynccontextmanager
    async def start(
        cls,
        directory: Path,
        want: Iterable[ServerName] = ALL_SERVERS,
        *,
        urls: Mapping[ServerName, str] | None = None,
        sync_interval: str = "always",
        machines: Mapping[ServerName, Machine] | None = None,
        clock: Clock | None = None,
        randomness: Randomness | None = None,
    ) -> AsyncIterator[Self]:
        """Started and watched within the block, stopped in good order after it.

        `urls` names servers that run elsewhere and are used instead. `sync_interval` is
        JetStream's; any but "always" also lets PostgreSQL skip forcing files to disk. `machines`
        puts servers elsewhere than on the loopback.
        """
        servers = cls(
            directory,
            want=want,
            urls=urls,
            sync_interval=sync_interval,
            machines=machines,
            clock=clock,
            randomness=randomness,
        )
        await servers.open()
        watching = asyncio.create_task(servers.watch())
        try:
            yield servers
        finally:
            watching.cancel()
            try:
                with contextlib.suppress(asyncio.CancelledError):
                    await watching
            finally:
                await servers.close()

    @property
    def nats(self) -> NatsServer | None:
        """The NATS server of ours."""
        server = self._servers.get("nats")
        return server if isinstance(server, NatsServer) else None

    @property
    def redis(self) -> RedisServer | None:
        """The Redis server of ours."""
        server = self._servers.get("redis")
        return server if isinstance(server, RedisServer) else None

    @property
    def postgres(self) -> PostgresServer | None:
        """The PostgreSQL server of ours."""
        server = self._servers.get("postgres")
        return server if isinstance(server, PostgresServer) else None

    @property
    def nats_url(self) -> str:
        """Where NATS is, credentials included; KeyError when it was not wanted."""
        return self.url("nats")

    @property
    def redis_url(self) -> str:
        """Where Redis is, credentials included; KeyError when it was not wanted."""
        return self.url("redis")

    @property
    def postgres_dsn(self) -> str:
        """Where PostgreSQL is, credentials included; KeyError when it was not wanted."""
        return self.url("postgres")

    def url(self, name: ServerName) -> str:
        """The address of one server, ours or given."""
        return self._urls[name] if name in self._urls else self._servers[name].url

    def environment(self) -> dict[str, str]:
        """LOCKSTEP_* variables that lead a service to these servers; secrets stay in files."""
        found: dict[str, str] = {}
        for name in [*self._urls, *self._servers]:
            path = self.directory / f"{name}.url"
            write_private(path, self.url(name))
            found[_VARIABLES[name]] = str(path)
        return found

    async def open(self) -> None:
        """Starts all, at the same time; when one fails, none stays. Raises LockstepError."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(self.directory)
        try:
            results = await asyncio.gather(
                *(server.start() for server in self._servers.values()), return_exceptions=True
            )
        except asyncio.CancelledError:
            await self.close()
            raise
        failures = [result for result in results if isinstance(result, BaseException)]
        if failures:
            await self.close()
            raise failures[0]

    async def close(self) -> None:
        """Stops all; idempotent."""
        await asyncio.gather(*(server.stop() for server in self._servers.values()))
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    async def watch(self) -> None:
        """Starts again what ends by itself; runs until cancelled or until that is hopeless."""
        logger = get_logger()
        while True:
            await self._clock.sleep_ms(_WATCH_EVERY_MS)
            for name, server in self._servers.items():
                if not server.wanted or server.running:
                    continue
                if not self._may_restart(name):
                    logger.error("embedded server keeps ending, left down", server=name)
                    server.wanted = False
                    continue
                logger.warning("embedded server ended, starting it again", server=name)
                try:
                    await server.start()
                # A full disk, or a file that somebody broke: the others are watched on.
                except (LockstepError, OSError, ValueError) as error:
                    logger.error("embedded server does not start", server=name, error=str(error))

    def _may_restart(self, name: ServerName) -> bool:
        now_ms, restarts = self._clock.monotonic_ms(), self._restarts[name]
        recent = [at_ms for at_ms in restarts if now_ms - at_ms < _RESTARTS_WITHIN_MS]
        restarts.append(now_ms)
        return len(recent) < _RESTARTS_MAX

    def _make(self, name: ServerName) -> Server:
        directory, machine = self.directory / name, self._machines.get(name, THIS_MACHINE)
        clock, randomness = self._clock, self._randomness
        match name:
            case "nats":
                return NatsServer(
                    directory,
                    clock=clock,
                    randomness=randomness,
                    machine=machine,
                    sync_interval=self._sync_interval,
                )
            case "redis":
                return RedisServer(directory, clock=clock, randomness=randomness, machine=machine)
            case "postgres":
                return PostgresServer(
                    directory,
                    clock=clock,
                    randomness=randomness,
                    machine=machine,
                    durable=self._sync_interval == "always",
                )


def _locked(directory: Path) -> IO[str]:
    """Holds the folder for this process until closed or dead. Raises DirectoryInUseError."""
    lock = (directory / "lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise DirectoryInUseError(
            "another process runs servers in this folder",
            where=str(directory),
            hint="stop it, or choose another folder",
        ) from None
    return lock
