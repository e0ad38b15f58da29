"""Why a request got no answer, as people read it."""

from __future__ import annotations

import errno
import socket
from types import SimpleNamespace
from typing import Any, cast

import aiohttp
import pytest

from lockstep.events.unreached import why_unreached

KEY = cast(Any, SimpleNamespace(host="127.0.0.1", port=9911, ssl=True, is_ssl=False))


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            aiohttp.ClientConnectorError(
                KEY, OSError(errno.ECONNREFUSED, "Connect call failed ('127.0.0.1', 9911)")
            ),
            "connection refused",
        ),
        (
            aiohttp.ClientConnectorDNSError(
                KEY, socket.gaierror(socket.EAI_NONAME, "Name or service not known")
            ),
            "unknown host (Name or service not known)",
        ),
        (TimeoutError(), "no answer in time"),
        (aiohttp.ServerTimeoutError("Connection timeout to host"), "no answer in time"),
        (aiohttp.InvalidURL("127.0.0.1:1/v1"), "no address of the form http://host:port"),
        (aiohttp.ClientOSError(errno.ECONNRESET, "Cannot write"), "connection reset by peer"),
        (aiohttp.ServerDisconnectedError(), "Server disconnected"),
        (aiohttp.ClientError(), "ClientError"),
    ],
)
def test_what_people_read(error: BaseException, said: str) -> None:
    """The cause alone: no names of classes, no word of TLS where there is none."""
    assert why_unreached(error) == said
