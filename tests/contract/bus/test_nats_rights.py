"""A NATS server that takes a right from our user while we are connected, and gives it back: as an
operator does who edits the accounts and has the server read them again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from lockstep.bus import DeadLetter
from lockstep.bus.contract import Subscription
from lockstep.bus.nats import NatsBus
from lockstep.bus.nats.errors import NobodyAnswersError, NotAllowedError
from lockstep.bus.subjects import input_subject
from lockstep.clock import SystemClock, SystemRandomness
from lockstep.embedded import NatsServer
from lockstep.embedded.nats_server import ACCOUNTS_FILE, SUITE_ACCOUNT
from lockstep.events import Fault
from tests.contract.bus.carriers import LIMITS, fresh_log, one_event, with_limits
from tests.contract.patience import PATIENCE_MS, PATIENCE_S, eventually, read_on

pytestmark = pytest.mark.servers

BACK_WITHIN_S = 10
AT_ONCE_S = 5
"""Far below the time after which a silent server is given up here."""

LETTER = DeadLetter("A", "S", "why", b"{}", "application/json", 0, "processor/a")


def allow(server: NatsServer, permissions: str = "") -> None:
    """What the suite's user may do from the server's next look on; all, if nothing is said."""
    rights = f", permissions: {{ {permissions} }}" if permissions else ""
    (server.directory / ACCOUNTS_FILE).write_text(
        f"accounts {{ {SUITE_ACCOUNT}: {{ jetstream: enabled, users: ["
        f' {{ user: lockstep, password: "{server.password}"{rights} }} ] }} }}\n'
    )
    server.reload()


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[NatsServer]:
    """One with an account for the suite."""
    nats = NatsServer(
        tmp_path, clock=SystemClock(), randomness=SystemRandomness(), sync_interval="2m"
    )
    allow(nats)
    await nats.start()
    yield nats
    await nats.stop()


@pytest.fixture
async def bus(server: NatsServer) -> AsyncIterator[NatsBus]:
    """One process."""
    connected = await NatsBus.connect(server.url, LIMITS, SystemRandomness())
    yield connected
    await connected.close()


async def echo(payload: bytes) -> bytes:
    """Answers with what was asked."""
    return payload


def errors(told: Sequence[Any]) -> list[str]:
    """What the log tells as an error."""
    return [one["event"] for one in told if one["log_level"] == "error"]


async def came(subscription: Subscription) -> bytes:
    """The next message."""
    _, payload = await asyncio.wait_for(anext(aiter(subscription)), PATIENCE_S)
    return payload


async def asked(bus: NatsBus) -> bool:
    """Whether the responder answers."""
    try:
        return await bus.topics.request("lockstep.cmd.X", b"1", timeout_ms=1_000) == b"1"
    except NobodyAnswersError:
        return False


async def test_a_subscription_comes_back_with_its_right(bus: NatsBus, server: NatsServer) -> None:
    """By itself, soon. Meanwhile the log says what is missing, once, and others go on."""
    other = await NatsBus.connect(server.url, LIMITS, SystemRandomness())
    await bus.topics.respond("lockstep.cmd.X", echo)
    heard = await bus.topics.subscribe("lockstep.heart")
    neighbour = await bus.topics.subscribe("presenter.>")
    assert await asked(other)
    told: list[Any]
    with capture_logs() as told:
        allow(server, 'subscribe: { deny: ["lockstep.>"] }')

        async def is_deaf() -> bool:
            return not await asked(other)

        await eventually(is_deaf)
        before = bus._connection.generation
        await asyncio.sleep(2)
        await other.topics.publish("presenter.A", b"p")
        assert await came(neighbour) == b"p"
        assert bus._connection.generation == before
        allow(server)
        back_s = time.monotonic()

        async def is_back() -> bool:
            return await asked(other)

        await eventually(is_back)
        assert time.monotonic() - back_s < BACK_WITHIN_S
        await other.topics.publish("lockstep.heart", b"h")
        assert await came(heard) == b"h"
    assert sorted(errors(told)) == [
        "the bus's user may not subscribe to lockstep.cmd.X",
        "the bus's user may not subscribe to lockstep.heart",
    ]
    await other.close()


async def test_so_does_the_inbox_where_answers_come(bus: NatsBus, server: NatsServer) -> None:
    """Without it nothing can be asked: who would ask is told at once. Then all goes on."""
    log = await bus.input_log(fresh_log())
    await log.append(one_event(1), dedup_id="1")
    assert len(await read_on(log.read, 0, 1)) == 1
    reading = asyncio.create_task(read_on(log.read, 1, 1))
    allow(server, 'subscribe: { deny: ["_INBOX.>"] }')

    async def is_told() -> bool:
        asked_s = time.monotonic()
        try:
            await bus.topics.request("lockstep.cmd.X", b"1", timeout_ms=PATIENCE_MS)
        except NotAllowedError as error:
            is_named = "may not subscribe to _INBOX." in str(error)
            return is_named and time.monotonic() - asked_s < AT_ONCE_S
        except NobodyAnswersError:
            return False
        raise AssertionError("nobody answers there")

    await eventually(is_told)
    with pytest.raises(NotAllowedError):
        await log.append(one_event(2), dedup_id="2")
    assert not await bus.healthy()
    allow(server)
    back_s = time.monotonic()
    await eventually(bus.healthy)
    assert time.monotonic() - back_s < BACK_WITHIN_S
    await log.append(one_event(2), dedup_id="2")
    (entry,) = await asyncio.wait_for(reading, PATIENCE_S)
    assert (entry.position, entry.record) == (2, one_event(2))


async def test_a_missing_right_to_send_is_told_as_that(bus: NatsBus, server: NatsServer) -> None:
    """At once, with the subject, and as an outage: what is sent later is taken."""
    name = fresh_log()
    log = await bus.input_log(name)
    await log.append(one_event(1), dedup_id="1")
    told: list[Any]
    with capture_logs() as told:
        allow(server, 'publish: { deny: ["in.>", "dead.>"] }')
        await eventually(lambda: refuses(log.append(one_event(2), dedup_id="2")))
        began_s = time.monotonic()
        with pytest.raises(NotAllowedError) as caught:
            await log.append(one_event(3), dedup_id="3")
        with pytest.raises(NotAllowedError, match=r"publish to dead\.A\.S"):
            await bus.dead_letters.append(LETTER)
        assert time.monotonic() - began_s < AT_ONCE_S
    error = caught.value
    assert error.message == f"the bus's user may not publish to {input_subject(name)}"
    assert "permissions" in str(error.hint)
    assert (error.fault, error.retryable) == (Fault.EXTERNAL, True)
    assert sorted(errors(told)) == [
        "the bus's user may not publish to dead.A.S",
        f"the bus's user may not publish to {input_subject(name)}",
    ]
    allow(server)

    async def is_taken() -> bool:
        return not await refuses(log.append(one_event(3), dedup_id="3"))

    await eventually(is_taken)


async def refuses(sending: Any) -> bool:
    """Whether a right is missing for it."""
    try:
        await sending
    except NotAllowedError:
        return True
    return False


async def test_a_reader_without_a_right_is_told_when_its_time_is_up(
    bus: NatsBus, server: NatsServer
) -> None:
    """It does not ask the server again and again meanwhile."""
    log = await bus.input_log(fresh_log())
    await log.append(one_event(1))
    allow(server, 'publish: { deny: ["$JS.API.CONSUMER.>"] }')
    told: list[Any]
    with capture_logs() as told:

        async def is_refused() -> bool:
            fresh = await bus.input_log(fresh_log())
            return await refuses(fresh.read(0, max_records=1, max_bytes=1_000, wait_ms=1_500))

        await eventually(is_refused)
    assert 0 < len([one for one in told if one["event"] == "bus error"]) < 20
    allow(server)
    assert len(await read_on(log.read, 0, 1)) == 1


async def test_what_may_not_be_listened_to_is_told_at_once(
    bus: NatsBus, server: NatsServer
) -> None:
    """And leaves nothing behind; a process that may not hear answers does not begin."""
    allow(server, 'subscribe: { deny: ["presenter.>"] }')
    before = len(bus._connection._listening)

    async def is_refused() -> bool:
        return await refuses(bus.topics.subscribe("presenter.A"))

    await eventually(is_refused)
    # Those that were granted before the server had looked again are left, and heard still.
    subscribed = len(bus._connection._listening)
    began_s = time.monotonic()
    with pytest.raises(NotAllowedError, match=r"subscribe to presenter\.B"):
        await bus.topics.subscribe("presenter.B")
    assert len(bus._connection._listening) == subscribed >= before
    allow(server, 'subscribe: { deny: ["_INBOX.>"] }')

    async def is_refused_too() -> bool:
        try:
            connected = await NatsBus.connect(server.url, LIMITS, SystemRandomness())
        except NotAllowedError:
            return True
        await connected.close()
        return False

    await eventually(is_refused_too)
    assert time.monotonic() - began_s < AT_ONCE_S


async def test_who_may_read_a_log_need_not_hear_its_bell(server: NatsServer) -> None:
    """Its reader stays awake then."""
    restless = with_limits(quiet_after_ms=0)
    bus = await NatsBus.connect(server.url, restless, SystemRandomness())
    allow(server, 'subscribe: { deny: ["in.>"] }')
    log = await bus.input_log(fresh_log())
    for number in range(1, 4):
        reading = asyncio.create_task(read_on(log.read, number - 1, 1))
        await asyncio.sleep(1)
        await log.append(one_event(number))
        assert [entry.position for entry in await asyncio.wait_for(reading, AT_ONCE_S)] == [number]
    await bus.close()
