"""A TCP connection to NATS that ends soon after the server's host has stopped answering.

Without it the kernel goes on for a quarter of an hour, and the client library, which wants to send
what it holds before it lets go of a connection, waits with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from typing import Final
from urllib.parse import ParseResult

import nats.errors
from nats.aio.transport import TcpTransport

_PROBES: Final = 3
_READ_BYTES: Final = 1_048_576
"""At once, at most; the library's 32,768 cut each batch of rows into pieces. Over twice as much the
connection waits until it has been read."""
_MS_PER_S: Final = 1_000


class WatchedTransport(TcpTransport):
    """Ends when sent bytes, or probes of an idle connection, are not acknowledged by the other
    *host* for `user_timeout_ms` (RFC 5482); a server that is merely slow acknowledges.

    Where `wants_tls`, nothing is written before the connection is encrypted: whoever stands between
    could otherwise say that the server does not ask for TLS, and would be told the password.
    """

    def __init__(self, user_timeout_ms: int, wants_tls: bool = False) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._user_timeout_ms = user_timeout_ms
        self._wants_tls = wants_tls
        self._is_encrypted = False

    def __bool__(self) -> bool:
        """Always: the client library puts one of its own in the place of one that is not."""
        return True

    async def connect(self, uri: ParseResult, buffer_size: int, connect_timeout: int) -> None:
        self._is_encrypted = False
        await super().connect(uri, _READ_BYTES, connect_timeout)
        connected = None if self._io_writer is None else self._io_writer.get_extra_info("socket")
        if connected is not None:
            for level, option, value in _options(self._user_timeout_ms):
                # A kernel without one of them still has the client's own pings.
                with contextlib.suppress(OSError):
                    connected.setsockopt(level, option, value)

    async def connect_tls(
        self,
        uri: str | ParseResult,
        ssl_context: ssl.SSLContext,
        buffer_size: int,
        connect_timeout: int,
    ) -> None:
        """The connection goes on, encrypted. The library's own way makes a reader that takes what
        comes without a limit."""
        assert self._io_writer is not None, "connect comes first"
        loop = asyncio.get_running_loop()
        # A new reader: what was said before the connection was encrypted is not listened to.
        reader = asyncio.StreamReader(limit=_READ_BYTES)
        protocol = asyncio.StreamReaderProtocol(reader)
        host = uri if isinstance(uri, str) else uri.hostname
        async with asyncio.timeout(connect_timeout):
            transport = await loop.start_tls(
                self._io_writer.transport, protocol, ssl_context, server_hostname=host
            )
        if transport is None:
            raise ConnectionError("the connection ended while it was being encrypted")
        protocol.connection_made(transport)  # nobody else tells it
        self._io_reader = reader
        self._io_writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        self._is_encrypted = True

    async def read(self, buffer_size: int) -> bytes:
        assert self._io_reader is not None, "connect comes first"
        return await self._io_reader.read(_READ_BYTES)

    def write(self, payload: bytes) -> None:
        self._check()
        super().write(payload)  # type: ignore[no-untyped-call]

    def writelines(self, payload: list[bytes]) -> None:
        self._check()
        super().writelines(payload)  # type: ignore[no-untyped-call]

    def _check(self) -> None:
        if self._wants_tls and not self._is_encrypted:
            raise nats.errors.Error("the server speaks no TLS")


def _options(user_timeout_ms: int) -> list[tuple[int, int, int]]:
    every_s = max(1, user_timeout_ms // _MS_PER_S)
    wanted = {
        "TCP_USER_TIMEOUT": user_timeout_ms,
        "TCP_KEEPIDLE": every_s,
        "TCP_KEEPINTVL": every_s,
        "TCP_KEEPCNT": _PROBES,
    }
    options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    for name, value in wanted.items():
        if hasattr(socket, name):  # names differ between systems
            options.append((socket.IPPROTO_TCP, getattr(socket, name), value))
    return options
