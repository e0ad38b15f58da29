"""A pooler of PostgreSQL's sessions, as pgbouncer is with `pool_mode = transaction` and without
prepared statements: a session has a server connection for a transaction, then the next one."""

from __future__ import annotations

import asyncio
import contextlib
import random
import struct
from collections.abc import AsyncIterator
from typing import Final
from urllib.parse import urlsplit

import asyncpg

from lockstep.embedded import PostgresServer
from tests.contract.patience import eventually

USER: Final = "pooled"
_DATABASE: Final = "postgres"
_CONNECTIONS: Final = 2
_PROTOCOL: Final = 196_608
_ASKS_FOR_TLS: Final = (80_877_103, 80_877_104)
_NUMBER: Final = 1  # no server process has it

Message = tuple[bytes, bytes]
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@contextlib.asynccontextmanager
async def pooled(server: PostgresServer) -> AsyncIterator[str]:
    """The address of a pooler before that server, for a user whom the server asks nothing."""
    rules = server.directory / "data" / "pg_hba.conf"
    operator = await asyncpg.connect(server.url)
    if not await operator.fetchval("select true from pg_roles where rolname = $1", USER):
        await operator.execute(f"create role {USER} login superuser")
        rules.write_text(f"host all {USER} 127.0.0.1/32 trust\n{rules.read_text()}")
    await operator.execute("select pg_reload_conf()")
    await operator.close()
    direct = f"postgresql://{USER}@127.0.0.1:{urlsplit(server.url).port}/{_DATABASE}"

    async def lets_in() -> bool:
        with contextlib.suppress(asyncpg.InvalidAuthorizationSpecificationError):
            await (await asyncpg.connect(direct)).close()
            return True
        return False

    await eventually(lets_in)
    pooler = _Pooler(server.port)
    listening = await asyncio.start_server(pooler.serve, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    try:
        yield f"postgresql://{USER}@127.0.0.1:{port}/{_DATABASE}"
    finally:
        listening.close()
        await pooler.close()


class _Pooler:
    def __init__(self, port: int) -> None:
        self._port = port
        self._servers: asyncio.Queue[Streams] = asyncio.Queue()
        self._opened: list[asyncio.StreamWriter] = []
        self._sessions: list[asyncio.StreamWriter] = []
        self._opening = asyncio.Lock()
        self._hello = b""
        self._random = random.Random(7)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A session."""
        self._sessions.append(writer)
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            if await _asks_for_session(reader, writer):
                await self._open_all()
                writer.write(self._hello)
                await self._transact(reader, writer)
        writer.close()

    async def close(self) -> None:
        """All connections; sessions end by that."""
        for writer in (*self._sessions, *self._opened):
            writer.close()
        for writer in (*self._sessions, *self._opened):
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _open_all(self) -> None:
        async with self._opening:
            while len(self._opened) < _CONNECTIONS:
                self._servers.put_nowait(await self._open())

    async def _open(self) -> Streams:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        self._opened.append(writer)
        named = f"user\0{USER}\0database\0{_DATABASE}\0\0".encode()
        writer.write(struct.pack("!II", len(named) + 8, _PROTOCOL) + named)
        said = [(b"R", bytes(4))]
        while (message := await _read(reader))[0] != b"Z":
            assert message[0] != b"E", message
            said += [message] if message[0] == b"S" else []
        said += [(b"K", struct.pack("!II", _NUMBER, 0)), message]
        self._hello = b"".join(map(_written, said))
        return reader, writer

    async def _transact(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One transaction after the other, each with a server connection that is free."""
        said: asyncio.Queue[Message] = asyncio.Queue()
        listening = asyncio.create_task(_read_all(reader, said))
        try:
            while (first := await said.get())[0] != b"X":
                answers, server = await self._any_server()
                server.write(_written(first))
                passing = asyncio.create_task(_pass_on(said, server))
                is_over = False
                while not is_over:
                    answer = await _read(answers)
                    writer.write(_written(answer))
                    is_over = answer == (b"Z", b"I")
                passing.cancel()
                self._servers.put_nowait((answers, server))
        finally:
            listening.cancel()

    async def _any_server(self) -> Streams:
        """In turns, but not always: what takes turns itself would have the same one each time."""
        found = await self._servers.get()
        if self._random.random() < 0.5 and not self._servers.empty():
            self._servers.put_nowait(found)
            found = self._servers.get_nowait()
        return found


async def _asks_for_session(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Not for an end of another one's request."""
    while True:
        (length,) = struct.unpack("!I", await reader.readexactly(4))
        (code,) = struct.unpack("!I", (await reader.readexactly(length - 4))[:4])
        if code not in _ASKS_FOR_TLS:
            return bool(code == _PROTOCOL)
        writer.write(b"N")


async def _read(reader: asyncio.StreamReader) -> Message:
    kind, length = struct.unpack("!cI", await reader.readexactly(5))
    return kind, await reader.readexactly(length - 4)


async def _read_all(reader: asyncio.StreamReader, said: asyncio.Queue[Message]) -> None:
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            said.put_nowait(await _read(reader))
    said.put_nowait((b"X", b""))


async def _pass_on(said: asyncio.Queue[Message], server: asyncio.StreamWriter) -> None:
    while True:
        server.write(_written(await said.get()))


def _written(message: Message) -> bytes:
    kind, body = message
    return kind + struct.pack("!I", len(body) + 4) + body
