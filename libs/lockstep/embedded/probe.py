"""Speaks just enough of each protocol to know that a server serves; no vendor's client library."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import Awaitable, Callable

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[bool]]

_TIMEOUT_S = 1.0
_INBOX = "_INBOX.lockstep.probe"


async def nats_answers(host: str, port: int, user: str, password: str) -> bool:
    """True when the login is taken and JetStream answers."""
    login = json.dumps({"verbose": False, "user": user, "pass": password})
    ask = (
        f"CONNECT {login}\r\nSUB {_INBOX} 1\r\nPUB $JS.API.INFO {_INBOX} 0\r\n\r\nPING\r\n"
    ).encode()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        await reader.readuntil(b"\r\n")  # INFO
        writer.write(ask)
        await writer.drain()
        while not (line := await reader.readuntil(b"\r\n")).startswith((b"MSG", b"-ERR")):
            pass
        if line.startswith(b"-ERR"):
            return False
        answer = json.loads(await reader.readexactly(int(line.split()[-1])))
        return "error" not in answer

    return await _conversation(host, port, talk)


async def redis_answers(host: str, port: int, password: str) -> bool:
    """True when the login is taken and the data set is loaded."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        writer.write(f"AUTH {password}\r\nPING\r\n".encode())
        await writer.drain()
        answers = [await reader.readuntil(b"\r\n") for _ in range(2)]
        return answers == [b"+OK\r\n", b"+PONG\r\n"]

    return await _conversation(host, port, talk)


async def postgres_answers(host: str, port: int, user: str) -> bool:
    """True when the server asks for a password; while it starts or stops it sends an error."""
    body = struct.pack("!I", 196_608) + f"user\0{user}\0database\0postgres\0\0".encode()
    start = struct.pack("!I", len(body) + 4) + body

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        writer.write(start)
        await writer.drain()
        return await reader.readexactly(1) == b"R"

    return await _conversation(host, port, talk)


async def _conversation(host: str, port: int, talk: Talk) -> bool:
    """What `talk` finds; False for every way in which a server can be not there yet."""
    writer: asyncio.StreamWriter | None = None
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            reader, writer = await asyncio.open_connection(host, port)
            return await talk(reader, writer)
    except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return False
    finally:
        if writer is not None:
            writer.close()
