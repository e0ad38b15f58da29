"""The few clients that all readers of a process share.

One client reads all partitions. Readers that are near one another share what it has brought. Who
is far from the others in the same partition reads with a further client.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final
from weakref import WeakSet

from lockstep.bus.kafka.connection import ClosedError, Connection
from lockstep.bus.kafka.reading_client import ReadingClient
from lockstep.bus.kafka.window import Key, Window
from lockstep.events import UnavailableError

_LOOK_S: Final = 0.25


class Clients:
    """Those of a process. A partition that nobody reads for `quiet_after_ms` is given back, and a
    client that has none is closed; the first one is not where it `stays`."""

    def __init__(self, connection: Connection, wait_ms: int, *, stays: bool = False) -> None:
        self._connection = connection
        self._stays = stays
        self._wait_ms = wait_ms
        self._limit_s = connection.limits.publish_timeout_ms / 1000
        self._clients: list[ReadingClient] = []
        self._users: dict[Window, WeakSet[object]] = {}
        self._freed = asyncio.Event()
        self._sweeping: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def count(self) -> int:
        """How many there are now, each with its thread."""
        return len(self._clients)

    async def window(self, reader: object, key: Key, offset: int) -> Window:
        """One from which the reader can read from there on. UnavailableError: none in time."""
        until_s = asyncio.get_running_loop().time() + self._limit_s
        while True:
            if self._closed:
                raise ClosedError("the bus was closed", where=key[0])
            if (window := self._near(key, offset)) is not None:
                self._users[window].add(reader)
                return window
            client = self._free(key)
            if client is not None:
                window = client.add(key, offset)
                self._users[window] = WeakSet([reader])
                return window
            if asyncio.get_running_loop().time() > until_s:
                raise UnavailableError("no client is free to read this", where=key[0])
            self._freed.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_S):
                    await self._freed.wait()

    def leave(self, reader: object, window: Window) -> None:
        """It reads there no more; who leaves it last closes it."""
        users = self._users.get(window)
        if users is not None:
            users.discard(reader)
            if not users:
                self.release(window)

    def release(self, window: Window) -> None:
        """Nobody reads it any more."""
        self._users.pop(window, None)
        for client in self._clients:
            if client.windows.get(window.key) is window:
                client.release(window)

    def forget(self, topic: str) -> None:
        """It was removed; one of the same name is another one."""
        for window in [one for one in self._users if one.key[0] == topic]:
            self.release(window)

    async def close(self) -> None:
        """Closes all."""
        self._closed = True
        if self._sweeping is not None:
            self._sweeping.cancel()
        clients, self._clients = self._clients, []
        await asyncio.gather(*(client.close() for client in clients))

    def _near(self, key: Key, offset: int) -> Window | None:
        windows = (client.windows.get(key) for client in self._clients)
        return next((one for one in windows if one is not None and one.covers(offset)), None)

    def _free(self, key: Key) -> ReadingClient | None:
        """A client that can read it now; None: one will be able to, soon."""
        for client in self._clients:
            if key not in client.windows:
                return client
        windows = [client.windows[key] for client in self._clients]
        if any(window.is_closing for window in windows):
            return None
        limits = self._connection.limits
        if len(windows) < limits.readers_per_log:
            return self._make()
        resting = [window for window in windows if not window.reading]
        if resting:
            self.release(min(resting, key=lambda window: window.used_s))
        return None

    def _make(self) -> ReadingClient:
        client = ReadingClient(
            self._connection, self._connection.limits.read_ahead_bytes, self._wait_ms, self._freed
        )
        self._clients.append(client)
        if self._sweeping is None:
            self._sweeping = asyncio.create_task(self._sweep())
        return client

    async def _sweep(self) -> None:
        quiet_s = self._connection.limits.quiet_after_ms / 1000
        now_s = asyncio.get_running_loop().time
        while self._clients:
            await asyncio.sleep(max(_LOOK_S, quiet_s / 2))
            since_s = now_s() - quiet_s
            for client in list(self._clients):
                for window in list(client.windows.values()):
                    if not window.reading and window.used_s < since_s:
                        self.release(window)
                stays = self._stays and client is self._clients[0]
                if not client.windows and client.idle_since_s < since_s and not stays:
                    self._clients.remove(client)
                    await client.close()
        self._sweeping = None
