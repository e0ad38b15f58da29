"""Readers that are let go while they are busy: nothing of them stays, here or at the server."""

from __future__ import annotations

import asyncio
import gc
from weakref import ref

import pytest
from nats.aio.msg import Msg

from lockstep.bus import Coded, InputLog, LogName
from lockstep.bus.nats import NatsBus
from lockstep.clock import SystemRandomness
from lockstep.embedded import NatsServer
from lockstep.events.codec import encode_record
from tests.contract.bus.carriers import LIMITS, fresh_log, one_event, with_limits
from tests.contract.patience import PATIENCE_MS, eventually, read_on
from tests.contract.proxy import Proxy

pytestmark = pytest.mark.servers

RECORDS = 1_000
READERS = 5
LARGE = "x" * 4_000


async def _connect(url: str, quiet_after_ms: int = LIMITS.quiet_after_ms) -> NatsBus:
    limits = with_limits(quiet_after_ms=quiet_after_ms)
    return await NatsBus.connect(url, limits, SystemRandomness())


async def _filled(bus: NatsBus) -> LogName:
    """A log with more than a reader takes at once."""
    name = fresh_log()
    log = await bus.input_log(name)
    payload = encode_record(one_event(LARGE))
    await log.append_together([Coded(payload, f"{n}") for n in range(RECORDS)])
    return name


async def _busy(bus: NatsBus, name: LogName) -> InputLog:
    """A reader that has read a little; more has come, or is on its way."""
    log = await bus.input_log(name, make=False)
    assert await log.read(0, max_records=RECORDS, max_bytes=50_000, wait_ms=PATIENCE_MS)
    return log


def _messages() -> int:
    """How many the process has of what came from servers."""
    gc.collect()
    return sum(isinstance(each, Msg) for each in gc.get_objects())


def _subscriptions(bus: NatsBus) -> tuple[int, int]:
    """Those that are made again on new clients, and those of the client."""
    return len(bus._connection._listening), len(bus._connection._client._subs)


async def _consumers(bus: NatsBus) -> int:
    """How many there are at all logs."""
    listed = await bus._jetstream.call("STREAM.LIST", {"subject": "in.>", "offset": 0})
    return sum(int(each["state"]["consumer_count"]) for each in listed["streams"])


async def _is_left(bus: NatsBus, subscriptions: tuple[int, int]) -> None:
    """Returns when so many are there."""

    async def holds() -> bool:
        gc.collect()
        return _subscriptions(bus) == subscriptions

    await eventually(holds)


async def test_readers_that_are_let_go_while_busy_leave_nothing(server: NatsServer) -> None:
    """Replicas end without saying so to their logs: neither subscriptions nor messages stay, and
    the consumers at the server go."""
    bus = await _connect(server.url)
    name = await _filled(bus)
    before, messages = _subscriptions(bus), _messages()
    readers = [await _busy(bus, name) for _ in range(READERS)]
    assert _subscriptions(bus) == tuple(count + READERS for count in before)
    assert await _consumers(bus) == READERS

    async def has_come() -> bool:
        return _messages() > messages + READERS * RECORDS // 2

    async def is_gone() -> bool:
        return _messages() < messages + RECORDS // 10 and await _consumers(bus) == 0

    await eventually(has_come)
    readers.clear()
    await _is_left(bus, before)
    await eventually(is_gone)
    await bus.close()


async def test_a_reader_that_is_let_go_in_the_midst_of_a_reading_leaves_nothing(
    server: NatsServer,
) -> None:
    """The task that reads is cancelled, wherever it is then."""
    bus = await _connect(server.url)
    name = await _filled(bus)
    before = _subscriptions(bus)

    async def read_all() -> None:
        log, after = await bus.input_log(name, make=False), 0
        while True:
            entries = await log.read(after, max_records=7, max_bytes=50_000, wait_ms=PATIENCE_MS)
            after = entries[-1].position

    async def has_none() -> bool:
        return await _consumers(bus) == 0

    for n in range(20):
        reading = asyncio.create_task(read_all())
        await asyncio.sleep(0.002 * n)
        reading.cancel()
        await asyncio.wait([reading])
    del reading
    await _is_left(bus, before)
    await eventually(has_none)
    await bus.close()


@pytest.mark.parametrize("how", ["lost", "given up"])
async def test_who_is_let_go_while_the_connection_is_away_is_not_subscribed_again(
    server: NatsServer, how: str
) -> None:
    """Whether the client finds its way back or another one is made; who stays reads on."""
    writer = await _connect(server.url)
    name = await _filled(writer)
    async with Proxy(server.port) as proxy:
        bus = await _connect(server.url.replace(str(server.port), str(proxy.port)))
        stays = await bus.input_log(name, make=False)
        assert len(await read_on(stays.read, 0, RECORDS)) == RECORDS
        before = _subscriptions(bus)
        readers = [await _busy(bus, name) for _ in range(READERS)]

        async def is_away() -> bool:
            return not bus._connection._client.is_connected

        proxy.refuse = True
        proxy.cut()
        if how == "given up":
            await bus._connection._client.close()
        await eventually(is_away)
        readers.clear()
        gc.collect()
        proxy.refuse = False
        await eventually(bus.healthy)
        reading = asyncio.create_task(read_on(stays.read, RECORDS, 1))
        log = await writer.input_log(name)
        await log.append(one_event(7))
        assert [entry.record for entry in await reading] == [one_event(7)]
        await _is_left(bus, before)
        await bus.close()
    await writer.close()


@pytest.mark.parametrize("quiet_after_ms", [0, LIMITS.quiet_after_ms], ids=["resting", "pulling"])
async def test_a_reader_that_somebody_waits_for_stays(
    server: NatsServer, quiet_after_ms: int
) -> None:
    """Although the event loop alone has the task that waits."""
    bus = await _connect(server.url, quiet_after_ms)
    name = fresh_log()
    writer = await bus.input_log(name)
    found: list[int] = []

    async def read() -> None:
        log = await bus.input_log(name, make=False)
        while not found:
            entries = await log.read(0, max_records=10, max_bytes=50_000, wait_ms=PATIENCE_MS)
            found.extend(entry.position for entry in entries)

    async def has_come() -> bool:
        return found == [1]

    reading = ref(asyncio.create_task(read()))
    for _ in range(20):
        await asyncio.sleep(0.02)
        gc.collect()
        assert reading() is not None
    await writer.append(one_event(1))
    await eventually(has_come)
    await bus.close()
