"""Sends that come again under their keys, on each carrier: the receiver looks up what stands under
a key wherever that is in the log, one at a time or many at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import nats
import pytest

from lockstep.bus import Bus, InputLog, input_subject
from lockstep.bus.nats import NatsBus
from lockstep.bus.nats.checksum import CHECKSUM, checksum
from lockstep.clock import SystemClock, SystemRandomness
from lockstep.embedded import NatsServer
from lockstep.events import Attribute, AttributeType, StreamSchema, UnavailableError
from lockstep.events.codec import decode_input, encode_record
from lockstep.frame import Tasks
from lockstep.telemetry import get_logger
from lockstep_services.receiver.intake import Intake
from lockstep_services.receiver.runs import Run
from lockstep_services.receiver.submissions import IntakeLimits, Receipt
from lockstep_services.receiver.values import RawEvent
from tests.contract.bus.carriers import LIMITS, World, fresh_log, one_event, with_limits
from tests.contract.patience import PATIENCE_MS

COUNT = 60
RECORD_BYTES = 200_000
ABREAST = 32
FAR = with_limits(read_ahead_bytes=1_000_000)
"""So a stretch of the log that is held in memory has a few of the records."""


def far_apart(count: int) -> Sequence[int]:
    """All numbers up to there, each far from the one before."""
    return [number * 37 % count for number in range(count)]


class Sender:
    """Sends records with keys of their streams to a receiver's intake."""

    def __init__(self, intake: Intake) -> None:
        self._intake = intake

    async def send(self, stream: str, number: int) -> Receipt:
        """Under the key of that number."""
        schema = StreamSchema(stream, (Attribute("v", AttributeType.STRING),))
        event = RawEvent(("x" * RECORD_BYTES,), None)
        runs = [Run(schema, [(event,)], RECORD_BYTES + 100)]
        return await self._intake.submit(runs, f"k{number}", key_of=stream, in_order=False)


@asynccontextmanager
async def sending(bus: Bus) -> AsyncIterator[tuple[InputLog, Sender]]:
    """An intake of a log nobody else uses."""
    log = await bus.input_log(fresh_log())

    async def opened() -> InputLog:
        return log

    clock = SystemClock()
    tasks = Tasks(clock, get_logger())
    limits = IntakeLimits(900_000, 1, 5, ABREAST)
    intake = Intake(opened, clock, SystemRandomness().uuid_hex, limits)
    tasks.supervise("intake", intake.run)
    try:
        yield log, Sender(intake)
    finally:
        await tasks.stop_all()


async def test_what_comes_again_is_known_wherever_it_stands(world: World) -> None:
    """One by one, and as many at once as a receiver appends: each is told the place of the first,
    in the time that the bus has for one."""
    async with sending(await world.carrier.connect(FAR)) as (_, sender):
        first = [await sender.send("Sale", number) for number in range(COUNT)]
        assert not any(each.duplicate for each in first)
        for number in far_apart(COUNT)[:20]:
            again = await sender.send("Sale", number)
            assert (again.duplicate, again.first) == (True, first[number].first)
        for _ in range(3):
            wanted = far_apart(COUNT)
            found = await asyncio.gather(*(sender.send("Sale", number) for number in wanted))
            assert [each.first for each in found] == [first[number].first for number in wanted]
            assert all(each.duplicate for each in found)


async def test_keys_that_were_used_for_another_stream_are_taken_all_at_once(world: World) -> None:
    """Each new send is in, once, wherever the other one stands."""
    async with sending(await world.carrier.connect(FAR)) as (log, sender):
        for number in range(COUNT // 2):
            await sender.send("Sale", number)
        wanted = far_apart(COUNT // 2)
        for is_again in (False, True):
            found = await asyncio.gather(*(sender.send("Other", number) for number in wanted))
            assert [each.duplicate for each in found] == [is_again] * len(wanted)
        assert (await log.bounds())[1] == COUNT


async def test_a_key_is_taken_too_where_the_log_was_trimmed(world: World) -> None:
    """A send to another stream under it is in, whether the carrier still has what was trimmed."""
    async with sending(world.bus) as (log, sender):
        await sender.send("Sale", 1)
        await sender.send("Sale", 2)
        await log.trim(1)
        assert not (await sender.send("Other", 1)).duplicate
        assert (await sender.send("Other", 1)).duplicate
        assert (await sender.send("Sale", 2)).duplicate


async def test_a_record_is_found_by_its_place_beside_a_reader(world: World) -> None:
    """Its bytes as they were appended, from another participant as well, and the reader goes on
    where it was."""
    name = fresh_log()
    log, other = await world.bus.input_log(name), await world.other.input_log(name)
    places = [(await log.append(one_event(n))).position for n in range(50)]
    read = list(await log.read(0, max_records=1, max_bytes=1, wait_ms=PATIENCE_MS))
    for each in (log, other):
        found = await asyncio.gather(*(each.at(place) for place in reversed(places)))
        told = [(one.position, decode_input(one.payload)) for one in found if one]
        assert told == [(n + 1, one_event(n)) for n in reversed(range(50))]
    read += await log.read(1, max_records=1, max_bytes=1, wait_ms=PATIENCE_MS)
    assert [each.position for each in read] == [1, 2]


async def test_a_record_that_was_trimmed_is_none_or_as_it_was(world: World) -> None:
    """It is never another one, and nobody waits for it."""
    name = fresh_log()
    log = await world.bus.input_log(name)
    for n in range(3):
        await log.append(one_event(n))
    before = await log.at(2)
    await log.trim(2)
    assert before is not None
    assert await log.at(2) in (None, before)
    kept = await log.at(3)
    assert kept is not None
    assert kept.position == 3


@pytest.mark.servers
async def test_what_nats_does_not_show_as_it_was_is_an_error(server: NatsServer) -> None:
    """A record that came damaged, or that a new leader has yet to learn of: whoever asks tries
    again, and takes it for nothing else."""
    bus, name = await NatsBus.connect(server.url, LIMITS, SystemRandomness()), fresh_log()
    log = await bus.input_log(name)
    await log.append(one_event(1))
    client = await nats.connect(server.url)
    damaged = {CHECKSUM: checksum(b"something else")}
    payload = encode_record(one_event(2))
    await client.jetstream().publish(input_subject(name), payload, headers=damaged)
    with pytest.raises(UnavailableError, match="record 2 came damaged"):
        await log.at(2)
    with pytest.raises(UnavailableError, match="does not show a record yet"):
        await log.at(3)
    assert await log.at(1) is not None
    await client.close()
    await bus.close()
