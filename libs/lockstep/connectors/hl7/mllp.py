"""HL7 over MLLP: a block between bytes, answered by a block that says what became of it.

Source: AA when the message, or its dead letter, is durable. The control id (MSH-10) with its sender
is the message's id, so one that a sender repeats counts once. Sink: AA is delivered, AR refused,
AE and silence are tried again.

`hl7.encoding` says in which form the app has its messages. A sink sends ER7; a source takes both,
and answers in the one that it got.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from lockstep.connectors.endpoints import opening
from lockstep.connectors.hl7.v2xml import from_xml, is_xml, to_xml
from lockstep.connectors.tls import context_of
from lockstep.sinks import Message, MessageRefusedError, Sink
from lockstep.sources import Inbox, Listening, Place, Received, Source

BEGIN: Final = b"\x0b"
END: Final = b"\x1c\r"
MAX_MESSAGE_BYTES: Final = 4 * 1024 * 1024
UNREAD_MAX_BYTES: Final = 1024 * 1024
"""Of answers to a sender. One that leaves more unread is hung up."""
ANSWER_S: Final = 30.0
CONNECT_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Header:
    """What the first segment says: the separators, who sends to whom, the control id."""

    separator: str
    fields: Sequence[str]

    @staticmethod
    def of(message: bytes) -> Header | None:
        """None for what is no HL7."""
        first = message.decode("utf-8", "replace").replace("\n", "\r").split("\r", 1)[0]
        if not first.startswith("MSH") or len(first) < 8:
            return None
        return Header(first[3], first.split(first[3]))

    def field(self, number: int) -> str:
        """MSH-n, or nothing; the separator itself is MSH-1."""
        return self.fields[number - 1] if number <= len(self.fields) else ""

    @property
    def id(self) -> str | None:
        """Of sender and control id."""
        control = self.field(10)
        return f"{self.field(3)}/{self.field(4)}/{control}" if control else None

    def answer(self, code: str) -> bytes:
        """The acknowledgement, from receiver to sender."""
        turned = (self.field(5), self.field(6), self.field(3), self.field(4))
        version = self.field(12) or "2.3"
        head = ("MSH", self.field(2), *turned, "", "", "ACK", self.field(10), "P", version)
        lines = (self.separator.join(head), self.separator.join(("MSA", code, self.field(10))))
        return "\r".join((*lines, "")).encode()


@dataclass(frozen=True, slots=True)
class Read:
    """A message as the app gets it, its header, and whether it came in XML."""

    payload: bytes
    header: Header
    came_in_xml: bool

    @staticmethod
    def of(message: bytes, *, as_xml: bool) -> Read | None:
        """None for what is no HL7. What cannot be in XML stays as it is: the mapper refuses it."""
        came_in_xml = is_xml(message)
        try:
            own = from_xml(message) if came_in_xml else message
        except ValueError:
            return None
        header = Header.of(own)
        if header is None:
            return None
        payload = message if as_xml else own
        if as_xml and not came_in_xml:
            with contextlib.suppress(ValueError):
                payload = to_xml(message)
        return Read(payload, header, came_in_xml)

    def answer(self, code: str) -> bytes:
        """The acknowledgement, in the form of the message; in its own where XML cannot hold what
        the sender wrote."""
        answer = self.header.answer(code)
        if self.came_in_xml:
            with contextlib.suppress(ValueError):
                return to_xml(answer)
        return answer


def block(message: bytes) -> bytes:
    """On the wire."""
    return BEGIN + message + END


async def read_block(reader: asyncio.StreamReader) -> bytes:
    """The next message; IncompleteReadError at the end."""
    await reader.readuntil(BEGIN)
    return (await reader.readuntil(END))[: -len(END)]


class Hl7Source(Source):
    """Options: `port`, `hl7.encoding`."""

    shared: ClassVar[bool] = True

    def __init__(self, options: Mapping[str, str], place: Place) -> None:
        self._address = (place.host, int(options["port"]))
        self._tls = place.tls
        self._as_xml = _is_xml(options)
        self._inbox = Inbox()
        self._listening = Listening(self._talk, line_max_bytes=MAX_MESSAGE_BYTES)

    async def read(self, *, max_messages: int, wait_ms: int) -> Sequence[Received]:
        await self._listening.start(*self._address, self._tls)
        return await self._inbox.take(max_messages, wait_ms)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            message = await read_block(reader)
            if self._as_xml or is_xml(message):
                read = await asyncio.to_thread(Read.of, message, as_xml=self._as_xml)
            else:
                read = Read.of(message, as_xml=False)
            if read is None:
                break
            await self._inbox.put(self._received(read, writer))

    def _received(self, read: Read, writer: asyncio.StreamWriter) -> Received:
        async def acknowledge() -> None:
            if writer.is_closing():
                return  # it comes again, and is known
            writer.write(block(read.answer("AA")))
            # All other senders would wait, too, for one that does not read.
            if writer.transport.get_write_buffer_size() > UNREAD_MAX_BYTES:
                writer.transport.abort()

        header = read.header
        return Received(read.payload, {"control.id": header.field(10)}, header.id, acknowledge)

    async def close(self) -> Sequence[Received]:
        await self._listening.stop()
        self._inbox.left()  # unacknowledged, they come again
        return ()


class Hl7Sink(Sink):
    """Options: `uri`, as host:port, `hl7.encoding`, `tls.enabled` (false) …"""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options
        host, _, port = options["uri"].rpartition(":")
        self._address = (host, int(port))
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, message: Message) -> None:
        payload = message.payload
        if _is_xml(self._options):
            try:
                payload = await asyncio.to_thread(from_xml, payload)
            except ValueError as error:
                raise MessageRefusedError(f"the message is no HL7 in XML: {error}") from error
        payload = payload.replace(b"\r\n", b"\r").replace(b"\n", b"\r").strip()
        if Header.of(payload) is None:
            raise MessageRefusedError("the message is no HL7: it does not begin with MSH")
        try:
            answer = await self._asked(payload)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            await self.close()
            raise OSError(f"{self._address[0]}:{self._address[1]}: {error!r}") from error
        lines = answer.decode("utf-8", "replace").split("\r")
        code = next((line[4:6] for line in lines if line.startswith("MSA")), "")
        if code in ("AR", "CR"):
            raise MessageRefusedError(f"the receiver rejects the message: {answer[:200]!r}")
        if code not in ("AA", "CA"):
            raise OSError(f"the receiver answered {answer[:200]!r}")

    async def _asked(self, payload: bytes) -> bytes:
        if self._streams is None or self._streams[0].at_eof():
            await self.close()
            is_encrypted = self._options.get("tls.enabled", "").lower() == "true"
            tls = (context_of(self._options) or True) if is_encrypted else None
            async with asyncio.timeout(CONNECT_S):
                with opening("the host cannot be reached"):
                    self._streams = await asyncio.open_connection(
                        *self._address, limit=MAX_MESSAGE_BYTES, ssl=tls
                    )
        reader, writer = self._streams
        writer.write(block(payload))
        await writer.drain()
        async with asyncio.timeout(ANSWER_S):
            return await read_block(reader)

    async def close(self) -> None:
        streams, self._streams = self._streams, None
        if streams is not None:
            streams[1].close()


def _is_xml(options: Mapping[str, str]) -> bool:
    return options.get("hl7.encoding", "").lower() == "xml"
