"""A TCP connection to NATS that ends soon after the server's host has stopped answering.

Without it the kernel goes on for a quarter of an hour, and the client library, which wants to send
what it holds before it lets go of a connection, waits with it.
"""

from __future__ import annotations

import contextlib
import socket
from typing import Final
from urllib.parse import ParseResult

from nats.aio.transport import TcpTransport

_PROBES: Final = 3
_MS_PER_S: Final = 1_000


class WatchedTransport(TcpTransport):
    """Ends when sent bytes, or probes of an idle connection, are not acknowledged by the other
    *host* for `user_timeout_ms` (RFC 5482); a server that is merely slow acknowledges."""

    def __init__(self, user_timeout_ms: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._user_timeout_ms = user_timeout_ms

    def __bool__(self) -> bool:
        """Always: the client library puts one of its own in the place of one that is not."""
        return True

    async def connect(self, uri: ParseResult, buffer_size: int, connect_timeout: int) -> None:
        await super().connect(uri, buffer_size, connect_timeout)
        connected = None if self._io_writer is None else self._io_writer.get_extra_info("socket")
        if connected is not None:
            for level, option, value in _options(self._user_timeout_ms):
                # A kernel without one of them still has the client's own pings.
                with contextlib.suppress(OSError):
                    connected.setsockopt(level, option, value)


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
