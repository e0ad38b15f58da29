"""@source(type='syslog'): messages of programs, machines and devices, over UDP, TCP or TLS.

Syslog knows no answer. What was read and is not in the log when a receiver dies is lost, at most
`MAX_MESSAGES`. A slow log makes senders over TCP wait. Over UDP the system keeps what there is room
for and drops the rest; how many it dropped is logged.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from lockstep.connectors.syslog.framing import FrameError, Frames, Framing
from lockstep.connectors.syslog.messages import read_message
from lockstep.sources import Inbox, Listening, Place, Received, Source

MESSAGE_MAX_BYTES: Final = 8_192
CONNECTIONS_MAX: Final = 256
RECEIVE_BUFFER_BYTES: Final = 4_194_304
READ_BYTES: Final = 65_536
LEFT_MAX: Final = 100_000
"""Datagrams that a source which is closed takes at most out of the system's buffer."""

_SO_RXQ_OVFL: Final = 40
"""Linux tells with each datagram how many were dropped before it."""
_COUNTER: Final = struct.Struct("I")

_LOG: Final = logging.getLogger(__name__)


class SyslogSource(Source):
    """Options: `transport` (udp), `port`, `framing` (auto), `max.message.bytes`,
    `max.connections`, `receive.buffer.bytes`, `identity.sd.id`."""

    shared: ClassVar[bool] = True

    def __init__(self, options: Mapping[str, str], place: Place) -> None:
        max_bytes = int(options.get("max.message.bytes", MESSAGE_MAX_BYTES))
        identity = options.get("identity.sd.id")
        self._reading = _Reading(f"sd.{identity}.id" if identity else "", max_bytes)
        self._door: _Datagrams | _Connections
        if options.get("transport", "udp").lower() == "udp":
            self._door = _Datagrams(options, place, self._reading)
        else:
            self._door = _Connections(options, place, self._reading)

    async def read(self, *, max_messages: int, wait_ms: int) -> Sequence[Received]:
        return await self._door.read(max_messages, wait_ms)

    async def close(self) -> Sequence[Received]:
        return await self._door.close()


class _Reading:
    """What becomes of the bytes of a message. `identity`: the property that tells messages from
    each other, if any does."""

    def __init__(self, identity: str, max_bytes: int) -> None:
        self._identity = identity
        self.max_bytes = max_bytes

    def received(self, data: bytes, sender: str, *, is_cut: bool) -> Received:
        """With the sender's address; `truncated` says that the rest is gone."""
        payload, properties = read_message(data)
        properties |= {"sender": sender, "truncated": str(is_cut).lower()}
        return Received(payload, properties, properties.get(self._identity))


class _Datagrams:
    """A socket of UDP. Nothing is read before somebody wants it: the system keeps the rest."""

    def __init__(self, options: Mapping[str, str], place: Place, reading: _Reading) -> None:
        self._address = (place.host, int(options["port"]))
        self._buffer_bytes = int(options.get("receive.buffer.bytes", RECEIVE_BUFFER_BYTES))
        self._reading = reading
        self._socket: socket.socket | None = None
        self._dropped = 0

    async def read(self, max_messages: int, wait_ms: int) -> Sequence[Received]:
        """OSError when the port cannot be opened."""
        if self._socket is None:
            self._socket = await self._opened()
        found = self._some(self._socket, max_messages)
        if not found and await _is_readable(self._socket, wait_ms):
            found = self._some(self._socket, max_messages)
        return found

    async def _opened(self) -> socket.socket:
        loop = asyncio.get_running_loop()
        host, port = self._address
        (family, *_, address), *_ = await loop.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
        made = socket.socket(family, socket.SOCK_DGRAM)
        try:
            made.setblocking(False)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._buffer_bytes)
            made.setsockopt(socket.SOL_SOCKET, _SO_RXQ_OVFL, 1)
            made.bind(address)
        except OSError:
            made.close()
            raise
        return made

    def _some(self, opened: socket.socket, count: int) -> list[Received]:
        found: list[Received] = []
        limit = self._reading.max_bytes
        while len(found) < count:
            try:
                data, beside, _, address = opened.recvmsg(limit + 1, socket.CMSG_SPACE(4))
            except BlockingIOError:
                break
            for level, kind, value in beside:
                if (level, kind) == (socket.SOL_SOCKET, _SO_RXQ_OVFL):
                    self._note_dropped(_COUNTER.unpack(value[: _COUNTER.size])[0])
            is_cut = len(data) > limit
            found.append(self._reading.received(data[:limit], str(address[0]), is_cut=is_cut))
        return found

    def _note_dropped(self, dropped: int) -> None:
        more = (dropped - self._dropped) % 2**32
        self._dropped = dropped
        if more:
            _LOG.warning(
                "the system dropped %d messages of syslog at UDP port %d: its buffer was full",
                more, self._address[1],
            )  # fmt: skip

    async def close(self) -> Sequence[Received]:
        """What has come: nobody sends it again."""
        opened, self._socket = self._socket, None
        if opened is None:
            return ()
        with opened:
            return self._some(opened, LEFT_MAX)


async def _is_readable(opened: socket.socket, wait_ms: int) -> bool:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(opened, ready.set)
    try:
        async with asyncio.timeout(wait_ms / 1000):
            await ready.wait()
    except TimeoutError:
        return False
    finally:
        loop.remove_reader(opened)
    return True


class _Connections:
    """A port of TCP. A full inbox stops reading, so senders wait."""

    def __init__(self, options: Mapping[str, str], place: Place, reading: _Reading) -> None:
        self._address = (place.host, int(options["port"]))
        self._tls = place.tls
        self._needs_tls = options["transport"].lower() == "tls"
        self._framing = Framing(options.get("framing", Framing.AUTO).lower())
        self._reading = reading
        self._inbox = Inbox()
        connections_max = int(options.get("max.connections", CONNECTIONS_MAX))
        self._listening = Listening(self._talk, connections_max=connections_max)

    async def read(self, max_messages: int, wait_ms: int) -> Sequence[Received]:
        """OSError when the port cannot be opened, or has to speak TLS and has no certificate."""
        if self._needs_tls and self._tls is None:
            raise OSError("transport='tls' needs the setting receiver.sources_tls")
        await self._listening.start(*self._address, self._tls)
        return await self._inbox.take(max_messages, wait_ms)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        sender = str(writer.get_extra_info("peername")[0])
        frames = Frames(self._framing, self._reading.max_bytes)
        try:
            while chunk := await reader.read(READ_BYTES):
                for frame in frames.feed(chunk):
                    message = self._reading.received(frame.data, sender, is_cut=frame.is_cut)
                    await self._inbox.put(message)
        except FrameError as error:
            _LOG.warning("a connection of syslog from %s is ended: %s", sender, error)

    async def close(self) -> Sequence[Received]:
        """What has come: nobody sends it again."""
        await self._listening.stop()
        return self._inbox.left()
