"""A TCP proxy that can hold, delay, swallow or refuse: a network that fails on purpose."""

from __future__ import annotations

import asyncio
import contextlib

from tests.contract.patience import PATIENCE_S

_BLOCK_BYTES = 65_536


class Proxy:
    """Forwards to one address; use as an async context manager.

    While `requests_pass` or `answers_pass` is clear, that direction stands still: connections stay
    open and what was sent arrives later, as it does when a cut network is mended. `delay_ms` is
    added to every block of either direction. `damage` is what a first answer with it gets instead.
    """

    def __init__(self, port: int) -> None:
        self._target = port
        self._server: asyncio.Server | None = None
        self._pairs: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.swallow_answers = False
        self.refuse = False
        self.damage = (b"", b"")
        self.damaged = 0
        self.delay_ms = 0
        self.requests_pass = asyncio.Event()
        self.answers_pass = asyncio.Event()
        self.requests_pass.set()
        self.answers_pass.set()
        self._swallowed = bytearray()
        self._more = asyncio.Event()

    async def __aenter__(self) -> Proxy:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def port(self) -> int:
        """Where it listens."""
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def swallowed(self, words: bytes = b"") -> None:
        """Returns once an answer with these words has been swallowed: others may come first, those
        to a client's pings for example."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not self._swallowed or words not in self._swallowed:
                    self._more.clear()
                    await self._more.wait()
        except TimeoutError as error:
            raise AssertionError(
                f"no {words!r} in what was swallowed: {bytes(self._swallowed)!r}"
            ) from error

    def lead_to(self, port: int) -> None:
        """Connections that are made from now on: as a name does whose address changes."""
        self._target = port

    def cut(self) -> None:
        """Closes every connection that goes through it."""
        for writer in self._pairs:
            writer.close()
        self._pairs.clear()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.refuse:
            writer.close()
            return
        try:
            up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:  # nobody listens there now
            writer.close()
            return
        self._pairs |= {writer, up_writer}
        for source, target, answers in (
            (reader, up_writer, False),
            (up_reader, writer, True),
        ):
            task = asyncio.create_task(self._forward(source, target, answers))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _forward(
        self, source: asyncio.StreamReader, target: asyncio.StreamWriter, answers: bool
    ) -> None:
        passing = self.answers_pass if answers else self.requests_pass
        with contextlib.suppress(OSError):
            while block := await source.read(_BLOCK_BYTES):
                if answers and self.swallow_answers:
                    self._swallowed += block
                    self._more.set()
                    continue
                if answers and self.damage[0] and self.damage[0] in block and not self.damaged:
                    block = block.replace(*self.damage)
                    self.damaged += 1
                if self.delay_ms:
                    await asyncio.sleep(self.delay_ms / 1000)
                await passing.wait()
                target.write(block)
                await target.drain()
        target.close()
