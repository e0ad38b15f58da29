"""What a call hands to the front door, byte for byte as a server answers it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from lockstep.bus import ID_HEADER, PROPERTIES_HEADER, IngressMessage
from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.clock import VirtualClock
from lockstep.secrets import Hidden
from lockstep.secrets.hidden import MIN_BEGINNING
from lockstep.siddhiql import check
from lockstep.sinks import Message, MessageRefusedError
from lockstep_services.publisher.sinks.call import CallSink, answer_sources
from lockstep_services.publisher.sinks.requests import SHOWN_CHARACTERS

APP = """
@sink(type='http-call', sink.id='c', publisher.url='http://x') define stream Call (k string);
@source(type='http-call-response', sink.id='other') @source(type='http') define stream No (k int);
@source(type='http', @map(type='json'))
@source(type='http-call-response', sink.id='c', http.status.code='2\\d+',
  @map(type='text', regex.A='(.*)', @attributes(k='trp:k', said='A', by='trp:X-By', no='trp:X-No')))
define stream Answer (k string, said string, by string, no string);
@source(type='http-response', sink.id='c') define stream Plain (k string);
"""
MESSAGE = Message("A/main/0/7.1", b"{}", "application/json", 0, {"k": "ä"}, lambda text: text)
LIMIT_BYTES = 32_768


@asynccontextmanager
async def server(answer: bytes) -> AsyncIterator[str]:
    """Says these bytes to everybody; its address."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"


async def taken(answer: bytes) -> IngressMessage:
    """The one message of the front door behind a call that was answered so."""
    ingress = MemoryBus(MemoryCarrier(VirtualClock(0))).ingress
    async with server(answer) as url:
        sink = CallSink(
            {"publisher.url": url, "sink.id": "c"}, "A", "Call.0.http-call",
            answer_sources(check(APP), "c"), ingress, max_message_bytes=LIMIT_BYTES,
        )  # fmt: skip
        try:
            await sink.send(MESSAGE)
        finally:
            await sink.close()
    (message,) = await ingress.read(max_messages=9, wait_ms=0)
    return message


def test_the_sources_of_a_sink_are_counted_as_receivers_count_them() -> None:
    """Among all sources of their stream."""
    found = answer_sources(check(APP), "c")
    assert [(one.stream, one.number, one.is_json) for one in found] == [
        ("Answer", 1, False), ("Plain", 0, True),
    ]  # fmt: skip
    assert found[0].properties == ("k", "X-By", "X-No")
    assert [one.status.pattern for one in found] == ["2\\d+", "200"]


async def test_an_answer_bears_its_requests_identity_and_what_its_source_takes() -> None:
    """Attributes of the request and headers, in ASCII; a header need not be UTF-8."""
    message = await taken(
        b"HTTP/1.1 201 Fine\r\nContent-Type: text/csv; source=9\r\nX-By: s\xfc1\r\n"
        b"X-Secret: not asked for\r\nContent-Length: 2\r\n\r\n\xff!"
    )
    assert (message.app, message.stream, message.payload) == ("A", "Answer", b"\xff!")
    assert message.headers[ID_HEADER] == message.id == "A/main/0/7.1@Call.0.http-call"
    assert message.headers["Content-Type"] == "text/csv; source=1"
    assert message.headers[PROPERTIES_HEADER].isascii()
    assert json.loads(message.headers[PROPERTIES_HEADER]) == {"k": "ä", "X-By": "s\ufffd1"}


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"HTTP/1.1 302 Found\r\nLocation: http://y/\r\nContent-Length: 0\r\n\r\n",
         "leads to 'http://y/', which is not followed"),
        (b"HTTP/1.1 422 No\r\nContent-Length: 3\r\n\r\nbad", "answered 422: bad"),
        (b"HTTP/1.1 200 Fine\r\n\r\n" + b"x" * LIMIT_BYTES, "answered with more than 28672 bytes"),
    ],
)  # fmt: skip
async def test_answers_that_nobody_takes_refuse_the_row(answer: bytes, why: str) -> None:
    """It goes where on.error says."""
    with pytest.raises(MessageRefusedError, match=why):
        await taken(answer)


@pytest.mark.parametrize("shown", range(0, 30, 3))
async def test_a_secret_that_an_answer_repeats_is_hidden_where_the_answer_is_cut(
    shown: int,
) -> None:
    """Of an error page, and of the address that an answer leads to, only the beginning is told:
    there a secret may stand in part."""
    token = "s3cr3t-TOKEN-0123456789"
    page = "x" * (SHOWN_CHARACTERS - shown) + token + " is no token"
    leads = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: "
    refused = f"HTTP/1.1 422 No\r\nContent-Length: {len(page)}\r\n\r\n{page}".encode()
    for answer in (refused, leads + page.encode() + b"\r\n\r\n"):
        with pytest.raises(MessageRefusedError) as caught:
            await taken(answer)
        Hidden([token]).error(caught.value)
        assert token[:MIN_BEGINNING] not in str(caught.value)
        assert "…" in str(caught.value)
