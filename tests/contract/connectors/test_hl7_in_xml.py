"""HL7 in XML over real connections: what apps of the older product map."""

from __future__ import annotations

import asyncio

import pytest

from lockstep.clock import SystemClock
from lockstep.connectors.hl7.mllp import Hl7Sink, Hl7Source, block, read_block
from lockstep.connectors.hl7.v2xml import from_xml, to_xml
from lockstep.events import Event
from lockstep.mapping import map_of, sink_mapper, source_mapper
from lockstep.siddhiql import ast, check
from lockstep.sinks import MessageRefusedError
from lockstep.sources import Place
from lockstep.testing.connectors import message
from tests.contract.connectors.brokers import free_port

PLACE = Place("App", "In", 0, "127.0.0.1", SystemClock())


def hl7(number: int) -> bytes:
    """An admission."""
    return b"MSH|^~\\&|A|A|B|B|20200101||ADT^A01|%d|P|2.3\rPID|1||%d" % (number, number)


PAYLOAD = (
    "<MSH><MSH.1>|</MSH.1><MSH.2>^~\\&amp;</MSH.2><MSH.3><HD.1>{{sender}}</HD.1></MSH.3>"
    "<MSH.9><CM_MSG.1>ADT</CM_MSG.1><CM_MSG.2>A01</CM_MSG.2></MSH.9><MSH.10>{{id}}</MSH.10>"
    "<MSH.11>P</MSH.11><MSH.12>2.3</MSH.12></MSH>"
)
MAPS = f"""
@sink(type='hl7', uri='h:1', hl7.encoding='xml', @map(type='xml',
      enclosing.element="<ADT_A01 xmlns='urn:hl7-org:v2xml'>", @payload('{PAYLOAD}')))
@source(type='hl7', port='1', hl7.encoding='xml',
        @map(type='xml', namespaces='ns=urn:hl7-org:v2xml',
             @attributes(id='ns:MSH/ns:MSH.10', sender='ns:MSH/ns:MSH.3/ns:HD.1')))
define stream S (id string, sender string);
"""


async def test_hl7_in_xml_goes_out_as_er7_and_comes_in_as_xml() -> None:
    """With the maps that the older samples have: what one app sends another one reads."""
    checked = check(MAPS)
    (definition,) = checked.app.definitions
    assert isinstance(definition, ast.StreamDefinition)
    schema, (sink, source) = checked.streams["S"], definition.annotations
    port = free_port()
    inside = Hl7Source({"port": str(port), "hl7.encoding": "XML"}, PLACE)
    assert await inside.read(max_messages=1, wait_ms=1) == ()
    reader = source_mapper(schema, map_of(source))
    writer = sink_mapper(schema, map_of(sink))
    (document,) = writer.write([Event(0, ("7", "clinic A"))])
    outside = Hl7Sink({"uri": f"127.0.0.1:{port}", "hl7.encoding": "xml"})
    sent = asyncio.ensure_future(outside.send(message(7, payload=document.encode())))
    (found,) = await inside.read(max_messages=9, wait_ms=5_000)
    ((event,),) = reader.read(found.payload, 0, {}).chunks
    assert (event.data, found.id) == (("7", "clinic A"), "clinic A//7")
    await found.acknowledge()
    await sent
    with pytest.raises(MessageRefusedError, match="no HL7 in XML"):
        await outside.send(message(8, payload=b"<a>"))
    await outside.close()
    await inside.close()


async def test_hl7_that_comes_in_xml_is_answered_in_xml() -> None:
    """An app that takes ER7 gets ER7; what cannot be in XML comes as it is."""
    port, other = free_port(), free_port()
    plain = Hl7Source({"port": str(port), "hl7.encoding": "er7"}, PLACE)
    in_xml = Hl7Source({"port": str(other), "hl7.encoding": "xml"}, PLACE)
    for source in (plain, in_xml):
        await source.read(max_messages=1, wait_ms=1)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(block(to_xml(hl7(3))))
    (found,) = await plain.read(max_messages=9, wait_ms=5_000)
    assert found.payload == hl7(3) + b"\r"
    await found.acknowledge()
    answer = await read_block(reader)
    assert answer.startswith(b"<?xml")
    assert b"MSA|AA|3\r" in from_xml(answer)
    writer.write(block(b"<not hl7/>"))
    assert await reader.read() == b""
    _, late = await asyncio.open_connection("127.0.0.1", other)
    late.write(block(hl7(4) + b"\x00"))
    (found,) = await in_xml.read(max_messages=9, wait_ms=5_000)
    assert found.payload == hl7(4) + b"\x00"
    for each in (writer, late):
        each.close()
    await plain.close()
    await in_xml.close()
