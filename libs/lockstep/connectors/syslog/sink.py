"""@sink(type='syslog'): each message one of syslog, over UDP, TCP or TLS.

Syslog knows no answer: a message counts as delivered when the socket has taken it.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from lockstep.connectors.endpoints import opening
from lockstep.connectors.syslog.framing import FrameError, Framing, framed
from lockstep.connectors.syslog.messages import (
    FACILITIES,
    SEVERITIES,
    Elements,
    Header,
    SyslogError,
    number_of,
    read_elements,
)
from lockstep.connectors.tcp import sending
from lockstep.connectors.tls import context_of
from lockstep.sinks import Message, MessageRefusedError, Sink

PORTS: Final = {"udp": 514, "tcp": 514, "tls": 6514}
MESSAGE_MAX_BYTES: Final = 8_192
CONNECT_TIMEOUT_S: Final = 5.0
APP: Final = "lockstep"


class SyslogSink(Sink):
    """Options: `url`, `format` (rfc5424), `framing` (octet.counting), `facility` (user),
    `severity` (info), `host.name`, `app.name` (lockstep), `proc.id`, `msg.id`,
    `structured.data` …"""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options
        url = urlsplit(options["url"])
        self._max_bytes = int(options.get("max.message.bytes", MESSAGE_MAX_BYTES))
        self._is_older = options.get("format", "").lower() == "rfc3164"
        self._host = socket.gethostname()
        self._elements: Elements = {}
        if "structured.data" in options:
            self._elements, _ = read_elements(options["structured.data"])
        address = (url.hostname or "", url.port or PORTS[url.scheme])
        self._way: _Datagrams | _Stream
        if url.scheme == "udp":
            self._way = _Datagrams(address)
        else:
            framing = Framing(options.get("framing", Framing.COUNTED).lower())
            self._way = _Stream(address, framing, options, is_tls=url.scheme == "tls")

    async def send(self, message: Message) -> None:
        try:
            written = self._written(message)
            if len(written) > self._max_bytes:
                raise SyslogError(f"it has {len(written)} bytes: max.message.bytes")
            await self._way.send(written)
        except (SyslogError, FrameError) as error:
            raise MessageRefusedError(f"no message of syslog: {error}") from error
        except OSError:
            await self.close()
            raise

    def _written(self, message: Message) -> bytes:
        def given(name: str, default: str = "") -> str:
            return message.fill(self._options.get(name, default)).strip()

        header = Header(
            number_of(given("facility", "user"), FACILITIES),
            number_of(given("severity", "info"), SEVERITIES),
            message.timestamp_ms,
            given("host.name", self._host),
            given("app.name", APP),
            given("proc.id"),
            given("msg.id"),
        )
        if self._is_older:
            return header.write_older(message.payload)
        elements = {
            id_: {name: message.fill(value) for name, value in parameters.items()}
            for id_, parameters in self._elements.items()
        }
        if "identity.sd.id" in self._options:
            elements[self._options["identity.sd.id"]] = {"id": message.id}
        return header.write(elements, message.payload)

    async def close(self) -> None:
        await self._way.close()


class _Stream:
    """Over one connection that is kept open."""

    def __init__(
        self,
        address: tuple[str, int],
        framing: Framing,
        options: Mapping[str, str],
        *,
        is_tls: bool,
    ) -> None:
        self._address = address
        self._framing = framing
        self._options = options
        self._is_tls = is_tls
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, message: bytes) -> None:
        data = framed(message, self._framing)
        if self._streams is not None and self._streams[0].at_eof():
            await self.close()  # the other side has gone: it would never read what is written
        if self._streams is None:
            tls = (context_of(self._options) or True) if self._is_tls else None
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                with opening(f"{self._address[0]}:{self._address[1]}"):
                    self._streams = await asyncio.open_connection(*self._address, ssl=tls)
        await sending.send(self._streams[1], data)

    async def close(self) -> None:
        streams, self._streams = self._streams, None
        if streams is not None:
            await sending.end(streams[1])


class _Datagrams(asyncio.DatagramProtocol):
    """Each message a datagram."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address
        self._transport: asyncio.DatagramTransport | None = None
        self._error: OSError | None = None
        self._may_write = asyncio.Event()
        self._may_write.set()

    async def send(self, message: bytes) -> None:
        if self._transport is None:
            loop = asyncio.get_running_loop()
            with opening(f"{self._address[0]}:{self._address[1]}"):
                self._transport, _ = await loop.create_datagram_endpoint(
                    lambda: self, remote_addr=self._address
                )
        await self._may_write.wait()
        self._transport.sendto(message)
        await asyncio.sleep(0)
        error, self._error = self._error, None
        if error is not None:
            raise error

    def error_received(self, exc: Exception) -> None:
        self._error = exc if isinstance(exc, OSError) else OSError(str(exc))

    def pause_writing(self) -> None:
        self._may_write.clear()

    def resume_writing(self) -> None:
        self._may_write.set()

    async def close(self) -> None:
        transport, self._transport = self._transport, None
        self._error = None
        self._may_write.set()
        if transport is not None:
            transport.close()
