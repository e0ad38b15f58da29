"""What source and sink share: how a connection is made, how it is lost, and how it ends."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Final

import aio_pika
from aio_pika.abc import AbstractConnection
from aio_pika.connection import make_url
from aio_pika.exceptions import AMQPError, ChannelInvalidStateError

from lockstep.connectors.endpoints import address_of
from lockstep.connectors.rabbitmq import PORTS
from lockstep.connectors.tls import context_of
from lockstep.secrets.closed import refuse_closed

TIMEOUT_S: Final = 10.0
LOST: Final = (AMQPError, ChannelInvalidStateError, StopAsyncIteration)
"""What the client raises when the broker goes: in the midst of a call the second one, and while a
connection is opened the third one. OSError beside them."""


def check_uri(options: Mapping[str, str]) -> None:
    """ValueError for an address that the client cannot read."""
    address_of("uri", options["uri"], PORTS)
    make_url(options["uri"])


async def connected(options: Mapping[str, str]) -> AbstractConnection:
    """To the broker that options name. OSError, also for a key of the suite itself, which the
    address may name, too; LOST."""
    named = make_url(options["uri"]).query
    refuse_closed(named.get("certfile", ""), named.get("keyfile", ""))
    return await aio_pika.connect(
        options["uri"], timeout=TIMEOUT_S, ssl_context=context_of(options)
    )


async def closed(connection: AbstractConnection) -> None:
    """Returns in any case: a broker that is gone says no goodbye."""
    with contextlib.suppress(*LOST, OSError):
        async with asyncio.timeout(TIMEOUT_S):
            await connection.close()
