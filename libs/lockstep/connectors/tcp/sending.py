"""Bytes to somebody who may read nothing: neither what is sent nor the end waits for ever."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any, Final

TAKEN_S: Final = 30.0
"""A side that takes nothing for so long is left."""
END_S: Final = 1.0
"""So long the other side has to read what was sent before the end."""


LOOKS: Final = 10
"""So often it is looked in that time whether the other side takes anything."""


async def while_taken(
    transport: asyncio.WriteTransport, sending: Coroutine[Any, Any, None], limit_s: float
) -> None:
    """Until that is sent, however slowly it is read. TimeoutError when nothing at all was taken for
    so long."""
    loop, task = asyncio.get_running_loop(), asyncio.ensure_future(sending)
    waiting_bytes, moved_s = transport.get_write_buffer_size(), loop.time()
    try:
        while not (await asyncio.wait([task], timeout=limit_s / LOOKS))[0]:
            now_bytes = transport.get_write_buffer_size()
            if now_bytes != waiting_bytes:
                waiting_bytes, moved_s = now_bytes, loop.time()
            elif loop.time() - moved_s >= limit_s:
                raise TimeoutError
        task.result()
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait([task])


async def send(writer: asyncio.StreamWriter, data: bytes) -> None:
    """Returns when the socket has taken it. OSError; the connection is of no use then."""
    writer.write(data)
    try:
        await while_taken(writer.transport, writer.drain(), TAKEN_S)
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
