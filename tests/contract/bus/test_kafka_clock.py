"""Hosts whose clocks are far from the brokers': what an id has to be known for is the brokers'
time, and so is what may be deleted."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator

import pytest

from lockstep.bus import BusLimits
from lockstep.bus.contract import DeadLetter
from lockstep.bus.kafka import KafkaBus
from lockstep.bus.kafka.input_log import KafkaInputLog
from lockstep.clock import SystemClock, SystemRandomness
from tests.contract.bus.carriers import LIMITS, fresh_log, one_event, with_limits
from tests.contract.patience import PATIENCE_MS, eventually
from tests.kafka.broker import KafkaBroker

DAY_MS = 86_400_000
SKEWS = pytest.mark.parametrize("skew_ms", [DAY_MS, -DAY_MS], ids=["ahead", "behind"])


class SkewedClock(SystemClock):
    """A host's clock that is wrong by `skew_ms`."""

    skew_ms = 0

    def now_ms(self) -> int:
        """The time that this host believes in."""
        return super().now_ms() + self.skew_ms


class Hosts:
    """Buses whose topics nobody else uses, each on a host of its own."""

    def __init__(self, url: str) -> None:
        self._prefix = f"p{uuid.uuid4().hex}"
        self._url = f"kafka://{url}?prefix={self._prefix}"
        self.messages = f"{self._prefix}.ingress"
        self._open: list[KafkaBus] = []

    async def connect(self, skew_ms: int = 0, limits: BusLimits = LIMITS) -> KafkaBus:
        """One more."""
        clock = SkewedClock()
        clock.skew_ms = skew_ms
        bus = await KafkaBus.connect(self._url, limits, clock, SystemRandomness())
        self._open.append(bus)
        return bus

    async def close(self) -> None:
        """Disconnects."""
        for bus in self._open:
            await bus.close()


@pytest.fixture
async def hosts(kafka: KafkaBroker) -> AsyncIterator[Hosts]:
    """On the session's broker."""
    made = Hosts(kafka.url)
    yield made
    await made.close()


@SKEWS
async def test_an_id_is_known_by_a_host_whose_clock_is_wrong(hosts: Hosts, skew_ms: int) -> None:
    """One that was written elsewhere, and one of its own."""
    name = fresh_log()
    right = await (await hosts.connect()).input_log(name)
    wrong = await (await hosts.connect(skew_ms)).input_log(name)
    assert not (await right.append(one_event(1), dedup_id="a")).duplicate
    assert (await wrong.append(one_event(1), dedup_id="a")).duplicate
    assert not (await wrong.append(one_event(2), dedup_id="b")).duplicate
    for log in (wrong, right):
        again = await log.append(one_event(2), dedup_id="b")
        assert (again.duplicate, again.position) == (True, 2)
    assert await right.bounds() == (1, 2)


async def test_an_id_is_known_when_the_clock_is_set(hosts: Hosts) -> None:
    """On and back, while the process runs."""
    bus = await hosts.connect()
    clock = bus._world.clock
    assert isinstance(clock, SkewedClock)
    log = await bus.input_log(fresh_log())
    for number, (before_ms, after_ms) in enumerate([(0, DAY_MS), (DAY_MS, 0), (-DAY_MS, DAY_MS)]):
        clock.skew_ms = before_ms
        await log.append(one_event(number), dedup_id=f"{number}")
        clock.skew_ms = after_ms
        assert (await log.append(one_event(number), dedup_id=f"{number}")).duplicate


@SKEWS
async def test_a_letter_is_put_aside_once(hosts: Hosts, skew_ms: int) -> None:
    """Also by a receiver whose host has another time."""
    right, wrong = await hosts.connect(), await hosts.connect(skew_ms)
    letter = DeadLetter("Hot", "Reading", "does not fit", b"{}", "text/plain", 1, "in")
    assert not (await right.dead_letters.append(letter, dedup_id="a")).duplicate
    assert (await wrong.dead_letters.append(letter, dedup_id="a")).duplicate
    assert len(await right.dead_letters.read("Hot")) == 1


@SKEWS
async def test_what_ids_are_asked_for_is_not_deleted(hosts: Hosts, skew_ms: int) -> None:
    """A host whose clock is wrong trims a log. Whoever comes then knows its ids all the same."""
    name = fresh_log()
    right = await (await hosts.connect()).input_log(name)
    wrong = await (await hosts.connect(skew_ms)).input_log(name)
    for number in range(3):
        await right.append(one_event(number), dedup_id=f"{number}")
    await wrong.trim(3)
    assert await right.bounds() == (4, 3)
    later = await (await hosts.connect()).input_log(name)
    assert (await later.append(one_event(1), dedup_id="1")).duplicate


@SKEWS
async def test_an_id_is_over_after_its_window(hosts: Hosts, skew_ms: int) -> None:
    """By the brokers' time, and what passes here; then its record is deleted, too."""
    soon = with_limits(dedup_window_ms=1_000, publish_timeout_ms=2_000)
    bus = await hosts.connect(skew_ms, soon)
    log = await bus.input_log(fresh_log())
    assert isinstance(log, KafkaInputLog)
    first = await log.append(one_event(1), dedup_id="a")

    async def is_over() -> bool:
        return not (await log.append(one_event(1), dedup_id="a")).duplicate

    await eventually(is_over)

    async def is_deleted() -> bool:
        await log.trim(first.position)
        return await bus._broker.low(log.ledger.topic) == first.position

    await eventually(is_deleted)


@SKEWS
async def test_a_message_comes_once_from_a_host_whose_clock_is_wrong(
    hosts: Hosts, skew_ms: int
) -> None:
    """The front door keeps what was done for its ids; another receiver knows them."""
    right, wrong = await hosts.connect(), await hosts.connect(skew_ms)

    async def put(own: str) -> None:
        await right.ingress.publish("Hot", "Reading", b"1", headers={"Nats-Msg-Id": own})

    async def take(bus: KafkaBus) -> str:
        (message,) = await bus.ingress.read(max_messages=1, wait_ms=PATIENCE_MS)
        await message.acknowledge()
        return message.id

    await put("a")
    assert await take(wrong) == "a"
    await eventually(lambda: wrong._broker.trimmed(hosts.messages))
    await wrong.close()
    assert await right._broker.low(hosts.messages) == 0
    other = await hosts.connect(skew_ms)
    await put("a")
    await put("b")
    assert await take(other) == "b"
