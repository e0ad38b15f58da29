"""What source and sink share: how a connection is lost, and how it ends."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final

from aio_pika.abc import AbstractConnection
from aio_pika.exceptions import AMQPError, ChannelInvalidStateError

TIMEOUT_S: Final = 10.0
LOST: Final = (AMQPError, ChannelInvalidStateError, StopAsyncIteration)
"""What the client raises when the broker goes: in the midst of a call the second one, and while a
connection is opened the third one. OSError beside them."""


async def closed(connection: AbstractConnection) -> None:
    """Returns in any case: a broker that is gone says no goodbye."""
    with contextlib.suppress(*LOST, OSError):
        async with asyncio.timeout(TIMEOUT_S):
            await connection.close()
