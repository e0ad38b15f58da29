"""Sends a drawn request over a connection of its own, byte for byte, and reads what comes back."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final

from tests.fuzz.drawing import Shot
from tests.fuzz.judging import Answer

ANSWER_S: Final = 60.0
SILENCE_S: Final = 3.0
"""So long is waited for a door that may close without a word."""
PART_BYTES: Final = 65_536
MAX_BODY_BYTES: Final = 4_000_000
ENDS_EARLY: Final = frozenset({"short body", "chunks"})
STREAMS: Final = ("text/event-stream",)


async def fire(host: str, shot: Shot) -> Answer:
    """The door's answer; status 0: it closed without one; -1: it said nothing in time."""
    name, _, port = host.rpartition(":")
    reader, writer = await asyncio.open_connection(name, int(port), limit=1_000_000)
    try:
        async with asyncio.timeout(SILENCE_S if shot.may_hang_up and not shot.filler else ANSWER_S):
            with contextlib.suppress(ConnectionError):  # it may answer before it has read all
                await _send(writer, shot)
            return await _read(reader)
    except TimeoutError:
        return Answer(-1)
    except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return Answer(0)
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def _send(writer: asyncio.StreamWriter, shot: Shot) -> None:
    writer.write(shot.head + shot.body)
    await writer.drain()
    left = shot.filler
    while left > 0:
        writer.write(b" " * min(PART_BYTES, left))
        await writer.drain()
        left -= PART_BYTES
    if shot.kind in ENDS_EARLY:
        writer.write_eof()


async def _read(reader: asyncio.StreamReader) -> Answer:
    while True:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.splitlines()
        status = int(first.split(" ")[1])
        if status != 100:
            break
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        if name:
            headers[name.lower()] = value.strip()
    if status == 101 or headers.get("content-type", "").startswith(STREAMS):
        return Answer(status, headers)
    body = b""
    with contextlib.suppress(ConnectionError):
        while len(body) < MAX_BODY_BYTES and (part := await reader.read(PART_BYTES)):
            body += part
    return Answer(status, headers, body.decode(errors="replace"))
