"""Gets one client of the library connected, or tells why not."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

import nats.errors
from nats.aio.client import Client

from lockstep.bus.errors import BusRefusedError
from lockstep.bus.limits import BusLimits
from lockstep.bus.nats.address import Address
from lockstep.bus.nats.errors import is_refusal
from lockstep.bus.nats.renewing import RenewingClient
from lockstep.bus.nats.transport import WatchedTransport
from lockstep.events import UnavailableError

RECONNECT_EVERY_MS: Final = 100
_PING_EVERY_S: Final = 1
_PINGS_UNANSWERED: Final = 4  # a server that is stopped, or too busy
_ATTEMPT_TIMEOUT_S: Final = 2  # for each server; one that is cut off must not hold up the others
_BUFFER_BYTES: Final = 33_554_432  # over it a sender waits until the socket has taken it all
_FLUSH_TIMEOUT_S: Final = 2
_CLOSE_TIMEOUT_S: Final = 3
_WEBSOCKET: Final = ("ws://", "wss://")

Callback = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Callbacks:
    """Whom a client tells about its connection."""

    disconnected: Callback
    reconnected: Callback
    closed: Callback
    failed: Callable[[Exception], None]
    """With the reason why an attempt to connect, or to come back, has failed; or with what else the
    server complains of."""


async def dial(address: Address, limits: BusLimits, name: str, callbacks: Callbacks) -> Client:
    """A connected client. Errors: UnavailableError, BusRefusedError."""
    client = RenewingClient()
    if not any(server.startswith(_WEBSOCKET) for server in address.servers):
        # The library keeps a transport that is there, over all its reconnects.
        client._transport = WatchedTransport(limits.tcp_user_timeout_ms, address.wants_tls)
    errors: list[Exception] = []
    refused = asyncio.Event()

    async def note(error: Exception) -> None:
        errors[:] = [error]
        if is_refusal(error):
            refused.set()
        callbacks.failed(error)

    connecting = asyncio.ensure_future(_connect(client, address, limits, name, callbacks, note))
    refusing = asyncio.ensure_future(refused.wait())
    try:
        # The client library tries for ever, also where the answer will never be another.
        done, _ = await asyncio.wait(
            {connecting, refusing},
            timeout=limits.connect_timeout_ms / 1000,
            return_when=asyncio.FIRST_COMPLETED,
        )
        if connecting in done and connecting.exception() is None:
            return client
    finally:
        refusing.cancel()
        connecting.cancel()
    await hang_up(client)
    if refused.is_set():
        raise BusRefusedError("the bus does not accept our user or token", where=address.shown)
    failed = connecting.exception() if connecting in done else None
    error = failed or (errors[0] if errors else None)
    text = "no answer" if error is None else str(error) or type(error).__name__
    raise UnavailableError(f"the bus cannot be reached: {text}", where=address.shown) from error


async def hang_up(client: Client) -> None:
    """Sends what is pending, as far as the server takes it, and disconnects; also a client that
    never began to connect."""
    if client._flush_queue is None:  # the library insists on it
        return
    # A server that does not read any more would hold us up for ever.
    with contextlib.suppress(nats.errors.Error, OSError, asyncio.TimeoutError):
        async with asyncio.timeout(_CLOSE_TIMEOUT_S):
            if client.is_connected:
                await client.flush(timeout=1)
            await client.close()


async def _connect(
    client: Client,
    address: Address,
    limits: BusLimits,
    name: str,
    callbacks: Callbacks,
    note: Callable[[Exception], Awaitable[None]],
) -> None:
    await client.connect(
        servers=list(address.servers),
        name=name,
        user_credentials=address.credentials,
        token=address.token,
        user=address.user,
        password=address.password,
        tls=address.tls,
        connect_timeout=min(_ATTEMPT_TIMEOUT_S, max(1, limits.connect_timeout_ms // 1000)),
        reconnect_time_wait=RECONNECT_EVERY_MS / 1000,  # type: ignore[arg-type]
        max_reconnect_attempts=-1,
        ping_interval=_PING_EVERY_S,
        max_outstanding_pings=_PINGS_UNANSWERED,
        pending_size=_BUFFER_BYTES,
        flush_timeout=_FLUSH_TIMEOUT_S,
        error_cb=note,
        disconnected_cb=callbacks.disconnected,
        reconnected_cb=callbacks.reconnected,
        closed_cb=callbacks.closed,
    )
