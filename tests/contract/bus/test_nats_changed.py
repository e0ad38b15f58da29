"""A NATS server whose operator has changed what belongs to the suite: limits and kinds of streams,
the size of a message, a mailbox's consumer."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from structlog.testing import capture_logs

from lockstep.bus import LogFullError, LogName, Mailbox, RecordTooLargeError
from lockstep.bus.errors import BusRefusedError
from lockstep.bus.nats import NatsBus
from lockstep.bus.nats.errors import ApiError, StreamSettingsError
from lockstep.bus.subjects import input_subject, stream_name
from lockstep.clock import SystemRandomness
from lockstep.embedded import NatsServer
from lockstep.events import UnavailableError
from tests.contract.bus.carriers import LIMITS, fresh_log, one_event
from tests.contract.patience import PATIENCE_MS, eventually

pytestmark = pytest.mark.servers

AT_ONCE_S = 5
DELETED = "a mailbox's consumer was deleted on the bus server"


@pytest.fixture
async def bus(server: NatsServer) -> AsyncIterator[NatsBus]:
    """One process."""
    connected = await NatsBus.connect(server.url, LIMITS, SystemRandomness())
    yield connected
    await connected.close()


async def change(bus: NatsBus, name: LogName, **changes: Any) -> None:
    """Of the stream of a log, which is made if it is not there."""
    subject = input_subject(name)
    stream = stream_name(subject)
    config: dict[str, Any] = {"name": stream, "subjects": [subject], "storage": "file"}
    if await bus._jetstream.is_there(stream):
        config = (await bus._jetstream.call(f"STREAM.INFO.{stream}"))["config"]
        await bus._jetstream.call(f"STREAM.UPDATE.{stream}", {**config, **changes})
    else:
        await bus._jetstream.call(f"STREAM.CREATE.{stream}", {**config, **changes})


async def test_a_limit_that_is_not_ours_is_named(bus: NatsBus) -> None:
    """And not told with the number of ours."""
    name = fresh_log()
    log = await bus.input_log(name)
    await log.append(one_event(1))
    await change(bus, name, max_msgs=1)
    with pytest.raises(LogFullError, match="maximum messages exceeded") as caught:
        await log.append(one_event(2))
    assert str(LIMITS.max_log_bytes) not in str(caught.value)
    assert "bus server's own" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"storage": "memory"}, "storage type"), ({"deny_purge": True, "deny_delete": True}, "deny")],
)
async def test_a_stream_that_cannot_be_made_ours_is_told_at_once(
    bus: NatsBus, changes: dict[str, Any], said: str
) -> None:
    """With what the server says, and what to look at; it will say the same the next time."""
    name = fresh_log()
    await change(bus, name, **changes)
    began_s = time.monotonic()
    with pytest.raises(StreamSettingsError, match=said) as caught:
        await bus.input_log(name)
    assert "nats stream info" in str(caught.value.hint)
    if "deny_purge" in changes:
        log = await bus.input_log(name, make=False)
        await log.append(one_event(1))
        with pytest.raises(StreamSettingsError, match="purge not permitted"):
            await log.trim(1)
    assert time.monotonic() - began_s < AT_ONCE_S


async def test_a_sealed_log_says_what_to_look_at(bus: NatsBus) -> None:
    """Nothing can be written there any more."""
    name = fresh_log()
    log = await bus.input_log(name)
    await change(bus, name, sealed=True)
    with pytest.raises(ApiError, match="sealed") as caught:
        await log.append(one_event(1))
    assert "nats stream info" in str(caught.value.hint)


async def payload_limit(server: NatsServer, bus: NatsBus, limit_bytes: int) -> None:
    """The server takes so much in one message, and the bus knows."""
    file = server.directory / "nats.conf"
    lines = file.read_text().splitlines()
    kept = [line for line in lines if not line.startswith("max_payload")]
    file.write_text("\n".join([f"max_payload: {limit_bytes}", *kept]) + "\n")
    server.reload()

    async def is_known() -> bool:
        return bus._connection.max_message_bytes == limit_bytes and await bus.healthy()

    await eventually(is_known)


async def test_a_live_message_that_is_too_large_is_told_as_that(
    bus: NatsBus, server: NatsServer
) -> None:
    """Also where its headers make it too large: the server would end the connection. To whoever
    counts on losing some it is as if the bus were away."""
    await payload_limit(server, bus, 65_536)
    generation = bus._connection.generation
    for kind in (RecordTooLargeError, UnavailableError):
        with pytest.raises(kind, match="the bus takes 65536"):
            await bus.topics.publish("presenter.A", b"x" * 65_537)
        with pytest.raises(kind, match="the bus takes 65536"):
            await bus.topics.request("presenter.A", b"x" * 65_537, timeout_ms=PATIENCE_MS)
        with pytest.raises(kind, match="the bus takes 65536"):
            await bus.topics.publish("presenter.A", b"x" * 65_500, headers={"A": "x" * 100})
    headers = {"Name": "x" * 100, "Other": "é"}
    size_bytes = 12 + len("Name: \r\n") + 100 + len("Other: é\r\n".encode())
    await bus.topics.publish("presenter.A", b"x" * (65_536 - size_bytes), headers=headers)
    assert await bus.healthy()
    assert bus._connection.generation == generation


async def test_a_server_that_takes_next_to_nothing_is_not_entered(
    bus: NatsBus, server: NatsServer
) -> None:
    """Whoever starts is told what to raise; whoever runs is not told a number below nothing."""
    await payload_limit(server, bus, 1_500)
    with pytest.raises(BusRefusedError, match="only 1500 bytes") as caught:
        await NatsBus.connect(server.url, LIMITS, SystemRandomness())
    assert "max_payload" in str(caught.value.hint)
    assert bus._connection.max_payload_bytes == 0
    await payload_limit(server, bus, 65_536)
    await (await NatsBus.connect(server.url, LIMITS, SystemRandomness())).close()


async def orders(bus: NatsBus, *payloads: bytes) -> None:
    """Stores them in a stream of somebody else, which is made if it is not there."""
    if not await bus._jetstream.is_there("orders"):
        config = {"name": "orders", "subjects": ["orders.>"], "storage": "file"}
        await bus._jetstream.call("STREAM.CREATE.orders", config)
    for payload in payloads:
        await bus._jetstream.publish("orders.a", payload, {}, limit_bytes=0)


async def consumers(bus: NatsBus) -> Sequence[str]:
    """Of that stream."""
    answer = await bus._jetstream.call("CONSUMER.NAMES.orders")
    return answer["consumers"] or ()


async def taken(mailbox: Mailbox, count: int) -> list[bytes]:
    """So many messages, acknowledged; no more come at once."""
    found: list[bytes] = []
    while len(found) < count:
        for mail in await mailbox.read(max_messages=10, wait_ms=PATIENCE_MS):
            found.append(mail.payload)
            await mail.acknowledge()
    assert not await mailbox.read(max_messages=10, wait_ms=300)
    return found


async def test_a_mailbox_whose_consumer_was_deleted_goes_on_where_it_was(
    bus: NatsBus, server: NatsServer
) -> None:
    """And says so once. Another process that shares it, or opens it later, goes along."""
    await orders(bus)
    other_bus = await NatsBus.connect(server.url, LIMITS, SystemRandomness())
    mailbox = await bus.mailbox("orders.a", "A/In")
    await orders(bus, b"1", b"2")
    assert await taken(mailbox, 2) == [b"1", b"2"]
    other = await other_bus.mailbox("orders.a", "A/In")
    await other.close()
    told: list[Any]
    with capture_logs() as told:
        (name,) = await consumers(bus)
        await bus._jetstream.call(f"CONSUMER.DELETE.orders.{name}")
        await orders(bus, b"3", b"4")
        assert await taken(mailbox, 2) == [b"3", b"4"]
    assert [one["event"].partition(";")[0] for one in told if one["log_level"] == "error"] == [
        DELETED
    ]
    await mailbox.close()
    other = await other_bus.mailbox("orders.a", "A/In")
    await orders(bus, b"5")
    assert await taken(other, 1) == [b"5"]
    await other_bus.close()


async def test_what_was_read_and_not_acknowledged_comes_again(bus: NatsBus) -> None:
    """As it would have without the deletion."""
    await orders(bus)
    mailbox = await bus.mailbox("orders.a", "A/In")
    await orders(bus, b"1", b"2", b"3")
    read: list[bytes] = []
    while len(read) < 3:
        for mail in await mailbox.read(max_messages=10, wait_ms=PATIENCE_MS):
            read.append(mail.payload)
            if mail.payload == b"1":
                await mail.acknowledge()
    (name,) = await consumers(bus)
    await bus._jetstream.call(f"CONSUMER.DELETE.orders.{name}")
    await orders(bus, b"4")
    assert await taken(mailbox, 3) == [b"2", b"3", b"4"]


async def test_one_that_has_read_nothing_yet_misses_nothing_either(bus: NatsBus) -> None:
    """It begins where it was opened, also in a stream that was made in the place of another."""
    await orders(bus, b"before")
    mailbox = await bus.mailbox("orders.a", "A/In")
    (name,) = await consumers(bus)
    await bus._jetstream.call(f"CONSUMER.DELETE.orders.{name}")
    await orders(bus, b"1", b"2", b"3")
    assert await taken(mailbox, 3) == [b"1", b"2", b"3"]
    await bus._jetstream.delete_stream("orders")
    await orders(bus, b"a", b"b")
    assert await taken(mailbox, 2) == [b"a", b"b"]
