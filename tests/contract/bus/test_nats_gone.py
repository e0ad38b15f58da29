"""A NATS server that has lost the streams which belong to no app: with its disk, or as somebody
deleted them. Whoever needs one makes it again."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from typing import Any

import nats
import pytest
from structlog.testing import capture_logs

from lockstep.bus import DeadLetter, StoredDeadLetter
from lockstep.bus.nats import NatsBus
from lockstep.bus.subjects import DEAD_STREAM, INGRESS_STREAM, ingress_subject
from lockstep.clock import SystemRandomness
from lockstep.embedded import NatsServer
from tests.contract.bus.carriers import LIMITS
from tests.contract.patience import PATIENCE_MS, PATIENCE_S, eventually

pytestmark = pytest.mark.servers

LETTER = DeadLetter("A", "S", "why", b"{}", "application/json", 0, "processor/a")


@pytest.fixture
async def bus(server: NatsServer) -> AsyncIterator[NatsBus]:
    """The bus of a receiver, a processor or a coordinator."""
    connected = await NatsBus.connect(server.url, LIMITS, SystemRandomness())
    yield connected
    await connected.close()


async def lose(bus: NatsBus, server: NatsServer, how: str) -> None:
    """Both streams are gone on return, and the bus is connected."""
    if how == "deleted":
        for stream in (DEAD_STREAM, INGRESS_STREAM):
            await bus._jetstream.delete_stream(stream)
        return
    generation = bus._connection.generation
    await server.kill()
    shutil.rmtree(server.directory / "data")
    await server.start()

    async def is_back() -> bool:
        return bus._connection.generation > generation and await bus.healthy()

    await eventually(is_back)


def remade(told: list[Any]) -> list[str]:
    """Of which streams the log says that they were gone."""
    return [
        one["stream"] for one in told if one["event"].startswith("a stream of the bus was gone")
    ]


HOW = pytest.mark.parametrize("how", ["deleted", "emptied"])


@HOW
async def test_a_receiver_opens_the_door_again(bus: NatsBus, server: NatsServer, how: str) -> None:
    """It waits for messages when the stream goes: a client can send again, and is heard."""
    told: list[Any]
    with capture_logs() as told:
        reading = asyncio.create_task(bus.ingress.read(max_messages=1, wait_ms=PATIENCE_MS))
        await lose(bus, server, how)

        async def is_there() -> bool | None:
            return await bus._jetstream.is_there(INGRESS_STREAM)

        await eventually(is_there)
        client = await nats.connect(server.url)
        await client.jetstream().publish(ingress_subject("A", "S"), b"1")
        await client.close()
        (message,) = await asyncio.wait_for(reading, PATIENCE_S)
        assert (message.app, message.payload) == ("A", b"1")
        await message.acknowledge()
    assert remade(told) == [INGRESS_STREAM]


@HOW
async def test_who_sends_through_the_door_opens_it_again(
    bus: NatsBus, server: NatsServer, how: str
) -> None:
    """Also when nobody receives at that time."""
    await lose(bus, server, how)
    told: list[Any]
    with capture_logs() as told:
        for payload in (b"1", b"2"):
            await bus.ingress.publish("A", "S", payload)
    assert remade(told) == [INGRESS_STREAM]
    found: list[bytes] = []
    while len(found) < 2:
        messages = await bus.ingress.read(max_messages=2, wait_ms=PATIENCE_MS)
        assert messages
        found += [message.payload for message in messages]
    assert found == [b"1", b"2"]


@HOW
async def test_a_dead_letter_is_kept_when_those_before_it_are_lost(
    bus: NatsBus, server: NatsServer, how: str
) -> None:
    """A sink goes on behind a row that was refused."""
    await bus.dead_letters.append(LETTER)
    await lose(bus, server, how)
    told: list[Any]
    with capture_logs() as told:
        first = (await bus.dead_letters.append(LETTER, dedup_id="A/1")).position
        assert (await bus.dead_letters.append(LETTER, dedup_id="A/1")).position == first
    assert remade(told) == [DEAD_STREAM]
    assert await bus.dead_letters.read("A") == [StoredDeadLetter(first, LETTER)]


@HOW
async def test_letters_that_are_lost_are_no_error_to_who_reads(
    bus: NatsBus, server: NatsServer, how: str
) -> None:
    """There are none, and the log says why."""
    await bus.dead_letters.append(LETTER)
    await lose(bus, server, how)
    told: list[Any]
    with capture_logs() as told:
        assert await bus.dead_letters.read("A") == []
    assert remade(told) == [DEAD_STREAM]
