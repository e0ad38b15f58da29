"""HL7 as no sender writes it who means well: it is answered, and fills no memory."""

from __future__ import annotations

import asyncio
import gc
import socket
import sys
from html import escape

import pytest

from lockstep.clock import SystemClock
from lockstep.connectors.hl7 import structures
from lockstep.connectors.hl7.mllp import Hl7Source, Read, block, read_block
from lockstep.connectors.hl7.structures import components_of, fields_of, message_of, version_of
from lockstep.connectors.hl7.v2xml import from_xml
from lockstep.sources import Place

DIGITS = "9" * 5_000


def document(version: str, control: str = "7", encoding: str = "^~\\&") -> bytes:
    """An admission in XML."""
    return (
        "<ADT_A01 xmlns='urn:hl7-org:v2xml'><MSH><MSH.1>|</MSH.1>"
        f"<MSH.2>{escape(encoding)}</MSH.2><MSH.9><CM_MSG.1>ADT</CM_MSG.1></MSH.9>"
        f"<MSH.10>{control}</MSH.10><MSH.12>{version}</MSH.12></MSH></ADT_A01>"
    ).encode()


@pytest.mark.parametrize("as_xml", [True, False])
@pytest.mark.parametrize(
    "version", [DIGITS, f"2.{DIGITS}", "2." * 5_000, "²", "٣", "-1", "2.5^<escape V='.'/>"],
    ids=range(7),
)  # fmt: skip
def test_any_version_is_answered(version: str, as_xml: bool) -> None:
    """The sender learns that its message is in the log."""
    read = Read.of(document(version), as_xml=as_xml)
    assert read is not None
    assert b"MSA|AA|7\r" in from_xml(read.answer("AA"))


@pytest.mark.parametrize("code", ["|", "^", "&#13;MSA", "&#10;PID|", "\\", "X00", "XFF"])
def test_what_stands_in_an_escape_is_answered(code: str) -> None:
    """It gets into the header as it is, so it may be a mark or the end of the segment."""
    read = Read.of(document("2.3", f"7<escape V='{code}'/>8"), as_xml=False)
    assert read is not None
    assert b"AA" in read.answer("AA")


def test_an_answer_that_xml_cannot_hold_is_in_its_own_form() -> None:
    """Who wrote the header can read it."""
    read = Read.of(document("2.3"), as_xml=False)
    assert read is not None
    fields = [*read.header.fields]
    fields[1] = "AAAA"
    broken = Read(read.payload, type(read.header)("|", fields), came_in_xml=True)
    assert b"MSA|AA|7\r" in broken.answer("AA")


async def test_a_sender_that_does_not_read_holds_up_no_other_one() -> None:
    """It is hung up when a million bytes of answers wait for it."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = int(found.getsockname()[1])
    source = Hl7Source({"port": str(port)}, Place("App", "In", 0, "127.0.0.1", SystemClock()))
    await source.read(max_messages=1, wait_ms=1)
    _, deaf = await asyncio.open_connection("127.0.0.1", port, limit=1_024)
    deaf.transport.pause_reading()  # type: ignore[attr-defined]
    long = block(b"MSH|^~\\&|" + b"A" * 3_000_000 + b"|A|B|B|1||ADT^A01|1|P|2.3")

    async def send_on() -> None:
        while True:
            deaf.write(long)
            await deaf.drain()

    sending = asyncio.create_task(send_on())
    async with asyncio.timeout(30):
        while not sending.done():
            for each in await source.read(max_messages=9, wait_ms=50):
                await each.acknowledge()
        with pytest.raises(ConnectionError):
            await sending
        reader, other = await asyncio.open_connection("127.0.0.1", port)
        other.write(block(b"MSH|^~\\&|A|A|B|B|1||ADT^A01|2|P|2.3"))
        answer = asyncio.create_task(read_block(reader))
        while not answer.done():
            for each in await source.read(max_messages=9, wait_ms=50):
                await each.acknowledge()
        assert b"MSA|AA|2" in await answer
    other.close()
    await source.close()


def test_the_version_of_very_many_digits_is_the_newest() -> None:
    """As any that is newer than all known ones."""
    assert version_of(DIGITS) == version_of("99") == "2.8.2"


def test_long_names_of_senders_are_not_kept() -> None:
    """Thousands of them would be gigabytes."""
    name = "X" * (structures.KEPT_MAX_CHARACTERS + 1)
    before = sys.getrefcount(name)
    assert components_of(name, "2.5") is None
    assert fields_of(name, "2.5") == ()
    assert message_of("ADT", "A04", name, "2.5")[0] == "ADT_A01"
    gc.collect()
    assert sys.getrefcount(name) == before
    assert components_of("CE", "2.5") is components_of("CE", "2.5")
