"""An MQTT broker that answers a connection after the sink has given it up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from lockstep.connectors.mqtt.sink import MqttSink
from lockstep.sinks import Message

CONNECT, PUBLISH = 1, 3
CONNACK, LIMIT_S, LATE_S = b"\x20\x02\x00\x00", 0.2, 0.6


async def _packet(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    kind = (await reader.readexactly(1))[0] >> 4
    length = shift = 0
    while True:
        byte = (await reader.readexactly(1))[0]
        length |= (byte & 127) << shift
        shift += 7
        if not byte & 128:
            return kind, await reader.readexactly(length)


@asynccontextmanager
async def broker(late: int, alive: set[int]) -> AsyncIterator[str]:
    """Its address. The first connections get a late answer; `alive` has those that are open."""
    made = iter(range(1_000))

    async def taken(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = next(made)
        alive.add(number)
        try:
            while True:
                kind, body = await _packet(reader)
                if kind == CONNECT:
                    await asyncio.sleep(LATE_S if number < late else 0)
                    writer.write(CONNACK)
                elif kind == PUBLISH:
                    behind_topic = 2 + int.from_bytes(body[:2], "big")
                    writer.write(b"\x40\x02" + body[behind_topic : behind_topic + 2])
        except (asyncio.IncompleteReadError, ConnectionError):
            alive.discard(number)
            writer.close()

    server = await asyncio.start_server(taken, "127.0.0.1", 0)
    yield f"tcp://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()


async def test_a_connection_that_was_given_up_is_closed() -> None:
    """One is open in the end, and it is the one that messages go by."""
    alive: set[int] = set()
    async with broker(3, alive) as url, asyncio.timeout(20):
        sink = MqttSink({"url": url, "topic": "t", "connection.timeout": str(LIMIT_S)})
        for number in range(3):
            with pytest.raises(TimeoutError):
                await sink.send(_message(number))
        await sink.send(_message(3))
        while len(alive) > 1:
            await asyncio.sleep(0.01)
        await asyncio.sleep(LATE_S)  # the late answers have come by now
        await sink.send(_message(4))
        assert alive == {3}
        await sink.close()


def _message(number: int) -> Message:
    return Message(str(number), b"{}", "application/json", 0, {}, lambda text: text)
