"""What only the memory carrier has: a virtual clock, and links that can be cut."""

from __future__ import annotations

import asyncio

import pytest

from lockstep.bus import Accepted, BusLimits, LogName, Refused, open_bus
from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.clock import SeededRandomness, VirtualClock
from lockstep.events import OutputId, OutputRecord, OutputRow, TickRecord, UnavailableError
from lockstep.settings import load_settings

NAME = LogName("App")
READ = {"max_records": 10, "max_bytes": 1_000}


async def test_waiting_goes_by_the_virtual_clock() -> None:
    """A read's time limit and a dedup window pass when the clock is moved, not before."""
    clock = VirtualClock()
    bus = MemoryBus(MemoryCarrier(clock, BusLimits(dedup_window_ms=1_000)))
    log = await bus.input_log(NAME)
    reading = asyncio.create_task(log.read(0, **READ, wait_ms=60_000))
    await clock.advance_ms(59_999)
    assert not reading.done()
    await clock.advance_ms(1)
    assert await reading == []
    first = await log.append(TickRecord(1), dedup_id="x")
    await clock.advance_ms(1_000)
    assert (await log.append(TickRecord(1), dedup_id="x")).position == first.position
    await clock.advance_ms(1)
    assert (await log.append(TickRecord(1), dedup_id="x")).position == first.position + 1


async def test_a_cut_link_is_one_participants_trouble() -> None:
    """Others go on; mended, it goes on as well."""
    carrier = MemoryCarrier(VirtualClock())
    cut, whole = MemoryBus(carrier, "cut"), MemoryBus(carrier, "whole")
    log = await cut.input_log(NAME)
    cut.link.reachable = False
    with pytest.raises(UnavailableError):
        await log.append(TickRecord(1))
    assert (await (await whole.input_log(NAME)).append(TickRecord(2))).position == 1
    cut.link.reachable = True
    assert (await log.append(TickRecord(3))).position == 2


async def test_a_lost_answer_leaves_the_outcome_unknown() -> None:
    """The append stands although its sender hears an error; the tail tells."""
    bus = MemoryBus(MemoryCarrier(VirtualClock()))
    log = await bus.output_log(NAME)
    record = OutputRecord(1, (OutputRow(OutputId(1, 0), "S", 1, (1,)),))
    bus.link.answers_to_lose = 1
    with pytest.raises(UnavailableError):
        await log.append(record, expected_sequence=0)
    assert await log.append(record, expected_sequence=0) == Refused(await log.tail())
    second = OutputRecord(1, (OutputRow(OutputId(2, 0), "S", 1, (1,)),))
    assert await log.append(second, expected_sequence=1) == Accepted(2)


async def test_ingress_comes_again_after_its_time() -> None:
    """On the carrier's clock."""
    clock = VirtualClock()
    bus = MemoryBus(MemoryCarrier(clock, BusLimits(ingress_redelivery_ms=500)))
    await bus.ingress.publish("A", "S", b"x")
    assert len(await bus.ingress.read(max_messages=5, wait_ms=0)) == 1
    assert await bus.ingress.read(max_messages=5, wait_ms=0) == []
    reading = asyncio.create_task(bus.ingress.read(max_messages=5, wait_ms=10_000))
    await clock.advance_ms(500)
    (message,) = await reading
    await message.acknowledge()
    await clock.advance_ms(10_000)
    assert await bus.ingress.read(max_messages=5, wait_ms=0) == []


async def test_a_slow_listener_loses_the_newest_and_counts() -> None:
    """Topics are at most once; nobody waits for a listener."""
    bus = MemoryBus(MemoryCarrier(VirtualClock(), BusLimits(subscription_queue_messages=2)))
    subscription = await bus.topics.subscribe("t")
    for payload in (b"1", b"2", b"3"):
        await bus.topics.publish("t", payload)
    await subscription.close()
    assert [payload async for _, payload in subscription] == [b"1", b"2"]


async def test_the_settings_choose_the_bus() -> None:
    """Memory is one of them."""
    clock, randomness = VirtualClock(), SeededRandomness(1)
    settings = load_settings({"LOCKSTEP_BUS__KIND": "memory"})
    assert isinstance(await open_bus(settings, clock, randomness), MemoryBus)
