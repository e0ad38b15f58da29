"""A UDP proxy that can swallow what passes: a network that fails on purpose."""

from __future__ import annotations

import asyncio
from typing import Any

from lockstep.embedded.server import HOST


class DatagramProxy(asyncio.DatagramProtocol):
    """Forwards to one port, and the answers back; use as an async context manager. While `refuse`
    is set, nothing passes."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._front: Any = None
        self._backs: dict[Any, _Back] = {}
        self.refuse = False

    async def __aenter__(self) -> DatagramProxy:
        loop = asyncio.get_running_loop()
        self._front, _ = await loop.create_datagram_endpoint(lambda: self, local_addr=(HOST, 0))
        return self

    async def __aexit__(self, *_: object) -> None:
        self.cut()
        self._front.close()

    @property
    def port(self) -> int:
        """Where it listens."""
        port: int = self._front.get_extra_info("sockname")[1]
        return port

    def cut(self) -> None:
        """Answers that are under way do not arrive."""
        for back in self._backs.values():
            back.close()
        self._backs.clear()

    def datagram_received(self, data: bytes, addr: Any) -> None:
        """From a client."""
        if self.refuse:
            return
        if addr not in self._backs:
            self._backs[addr] = _Back(self._target, lambda data: self._front.sendto(data, addr))
        self._backs[addr].send(data)


class _Back(asyncio.DatagramProtocol):
    """The side of one client at the server."""

    def __init__(self, port: int, answer: Any) -> None:
        self._answer = answer
        self._transport: Any = None
        self._waiting: list[bytes] = []
        loop = asyncio.get_running_loop()
        self._opening = loop.create_task(
            loop.create_datagram_endpoint(lambda: self, remote_addr=(HOST, port))
        )

    def send(self, data: bytes) -> None:
        """As soon as there is a way."""
        if self._transport is None:
            self._waiting.append(data)
        else:
            self._transport.sendto(data)

    def close(self) -> None:
        """No more answers."""
        self._opening.cancel()
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: Any) -> None:
        """What waited goes."""
        self._transport = transport
        for data in self._waiting:
            transport.sendto(data)

    def datagram_received(self, data: bytes, addr: Any) -> None:
        """An answer."""
        self._answer(data)
