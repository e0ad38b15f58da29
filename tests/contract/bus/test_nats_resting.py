"""Readers that rest at the end of a quiet log: nothing at the server, and nothing missed."""

from __future__ import annotations

import asyncio

import pytest

from lockstep.bus import InputLog
from lockstep.bus.nats import NatsBus
from lockstep.bus.nats.errors import ApiError
from lockstep.clock import SystemRandomness
from lockstep.embedded import NatsServer
from lockstep.events import UnavailableError
from tests.contract.bus.carriers import fresh_log, one_event, with_limits
from tests.contract.patience import PATIENCE_MS, PATIENCE_S, read_on
from tests.contract.proxy import Proxy

pytestmark = pytest.mark.servers

READ = {"max_records": 1000, "max_bytes": 10_000_000}
LIMITS = with_limits(quiet_after_ms=0)
MANY = 20


async def _connect(url: str) -> NatsBus:
    return await NatsBus.connect(url, LIMITS, SystemRandomness())


async def _consumers(bus: NatsBus) -> int:
    """How many there are at all logs."""
    listed = await bus._jetstream.call("STREAM.LIST", {"subject": "in.>", "offset": 0})
    return sum(int(each["state"]["consumer_count"]) for each in listed["streams"])


async def _resting(log: InputLog, after: int) -> None:
    """The reader has found nothing, and rests."""
    assert not await log.read(after, **READ, wait_ms=50)


async def test_a_resting_reader_has_no_consumer_and_wakes_for_what_comes(
    server: NatsServer,
) -> None:
    """Again and again."""
    bus, other = await _connect(server.url), await _connect(server.url)
    name = fresh_log()
    log, writer = await bus.input_log(name), await other.input_log(name)
    for number in range(3):
        await _resting(log, number)
        assert await _consumers(bus) == 0
        reading = asyncio.create_task(log.read(number, **READ, wait_ms=PATIENCE_MS))
        await writer.append(one_event(number))
        assert [each.position for each in await reading] == [number + 1]
    await bus.close()
    await other.close()


async def _fails(log: InputLog) -> bool:
    try:
        await log.read(0, **READ, wait_ms=50)
    except (UnavailableError, ApiError):
        return True
    return False


@pytest.mark.parametrize("logs", [1, MANY])
async def test_what_came_while_the_connection_was_lost_wakes_it(
    server: NatsServer, logs: int
) -> None:
    """Nobody rang for it: the ends of the logs are looked at when the connection is back."""
    async with Proxy(server.port) as proxy:
        bus = await _connect(server.url.replace(str(server.port), str(proxy.port)))
        other = await _connect(server.url)
        names = [fresh_log() for _ in range(logs)]
        readers = [await bus.input_log(name) for name in names]
        for reader in readers:
            await _resting(reader, 0)
        proxy.refuse = True
        proxy.cut()
        for number, name in enumerate(names):
            if number % 2 == 0:
                await (await other.input_log(name)).append(one_event(number))
        proxy.refuse = False
        async with asyncio.timeout(PATIENCE_S):
            for reader in readers[::2]:
                assert len(await read_on(reader.read, 0, 1)) == 1
        await bus.close()
        await other.close()


async def test_a_resting_reader_is_told_that_its_log_is_gone(server: NatsServer) -> None:
    """It does not wait for ever without a word."""
    bus = await _connect(server.url)
    name = fresh_log()
    log = await bus.input_log(name)
    await _resting(log, 0)
    await bus.remove_logs(name)
    async with asyncio.timeout(PATIENCE_S):
        while not await _fails(log):
            pass
    await bus.close()


async def test_a_reader_that_is_let_go_leaves_no_subscription(server: NatsServer) -> None:
    """Replicas end without saying so to their logs."""
    bus = await _connect(server.url)
    log = await bus.input_log(fresh_log())
    before = len(bus._connection._listening)
    await _resting(log, 0)
    del log
    async with asyncio.timeout(PATIENCE_S):
        while len(bus._connection._listening) > before:
            await asyncio.sleep(0.01)
    await bus.close()
