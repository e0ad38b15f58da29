"""Bytes to somebody who may read nothing: neither what is sent nor the end waits for ever."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final

TAKEN_S: Final = 30.0
"""A side that takes nothing for so long is left."""
END_S: Final = 1.0
"""So long the other side has to read what was sent before the end."""


async def send(writer: asyncio.StreamWriter, data: bytes) -> None:
    """Returns when the socket has taken it. OSError; the connection is of no use then."""
    writer.write(data)
    try:
        async with asyncio.timeout(TAKEN_S):
            await writer.drain()
    except TimeoutError as error:
        writer.transport.abort()
        raise OSError(f"the other side has read nothing for {TAKEN_S:g} s") from error


async def end(writer: asyncio.StreamWriter) -> None:
    """What was sent arrives, if the other side reads it in time; the rest is dropped."""
    writer.close()
    try:
        async with asyncio.timeout(END_S):
            with contextlib.suppress(ConnectionError):  # it is lost already
                await writer.wait_closed()
    except OSError:  # the time is over, or the end of TLS was none
        _drop(writer)
    except asyncio.CancelledError:
        _drop(writer)
        raise


def _drop(writer: asyncio.StreamWriter) -> None:
    if writer.transport.get_write_buffer_size():
        writer.transport.abort()
