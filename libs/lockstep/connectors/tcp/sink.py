"""@sink(type='tcp'): a frame per message, over one connection kept open."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from lockstep.connectors.endpoints import address_of
from lockstep.connectors.tcp import PORTS, sending
from lockstep.connectors.tcp.frames import frame
from lockstep.connectors.tls import context_of
from lockstep.sinks import Message, MessageRefusedError, Sink

CONNECT_TIMEOUT_S: Final = 5.0


class TcpSink(Sink):
    """Options: `url`, `tls.ca.file` … The protocol knows no answer: a message counts as delivered
    when the connection has taken it, so what the other side had not read is lost with it."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options
        self._url = options["url"]
        self._address: tuple[str, str, int] | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._reader: asyncio.StreamReader | None = None

    async def send(self, message: Message) -> None:
        url = message.fill(self._url)
        try:
            host, port = address_of("url", url, PORTS)
            address = (urlsplit(url).scheme, host, port)
            writer = await self._connected(address)
        except OSError:
            raise
        except ValueError as error:  # also where a host makes no name of the network
            if "{{" in self._url:
                raise MessageRefusedError(f"{url[:200]!r} is no tcp://host:port/context") from error
            raise OSError(f"'url' is no tcp://host:port/context: {error}") from error
        context = urlsplit(url).path.strip("/")
        try:
            await sending.send(writer, frame(context, message.payload))
        except OSError:
            await self.close()
            raise

    async def _connected(self, address: tuple[str, str, int]) -> asyncio.StreamWriter:
        if self._reader is not None and self._reader.at_eof():
            await self.close()  # the other side has gone: it would never read what is written
        if self._writer is None or self._address != address or self._writer.is_closing():
            await self.close()
            scheme, host, port = address
            tls = (context_of(self._options) or True) if scheme == "tls" else None
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                self._reader, self._writer = await asyncio.open_connection(host, port, ssl=tls)
            self._address = address
        return self._writer

    async def close(self) -> None:
        writer, self._writer = self._writer, None
        self._reader = None
        if writer is not None:
            await sending.end(writer)
