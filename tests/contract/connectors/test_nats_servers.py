"""NATS servers that are not the suite's own, with streams and without."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client
from nats.js.api import StreamConfig

from lockstep.bus import BusLimits, ForeignServer, ForeignServers, Mail
from lockstep.bus.errors import BusRefusedError
from lockstep.clock import SystemRandomness
from lockstep.events import UnavailableError
from lockstep.sinks import MessageRefusedError
from lockstep.testing.connectors import message, play_sink
from lockstep_services.publisher.sinks.nats import nats_sink
from tests.contract.connectors.brokers import Broker
from tests.contract.connectors.nats_peer import nats_broker, url_of

LIMITS = BusLimits(publish_timeout_ms=1_000, connect_timeout_ms=1_000, ingress_redelivery_ms=2_000)


@pytest.fixture
def servers() -> ForeignServers:
    """Of one process."""
    return ForeignServers(LIMITS, SystemRandomness(), "test")


@pytest.fixture
async def kept(tmp_path: Path) -> AsyncIterator[Broker]:
    """A server with a stream of all subjects `kept.>`."""
    broker = nats_broker(tmp_path)
    await broker.start()
    try:
        client = await nats.connect(url_of(broker))
        await client.jetstream().add_stream(StreamConfig(name="Kept", subjects=["kept.>"]))
        await client.close()
        yield broker
    finally:
        await broker.stop()


def server_at(broker: Broker, **more: str) -> ForeignServer:
    """Let in as the options say."""
    found = ForeignServer.of([url_of(broker)], more)
    assert found is not None
    return found


class Stream:
    """What a stream holds; its server is killed and started again on its files."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._is_first = True

    async def start(self) -> None:
        if not self._is_first:
            await self._broker.start()
        self._is_first = False

    async def stop(self) -> None:
        await self._broker.stop()

    async def received(self) -> Sequence[bytes]:
        client = await nats.connect(url_of(self._broker))
        stream = client.jetstream()
        last = (await stream.stream_info("Kept")).state.last_seq
        found = [await stream.get_msg("Kept", seq) for seq in range(1, last + 1)]
        await client.close()
        return [each.data or b"" for each in found]


async def test_each_message_is_in_a_stream_once_when_the_server_is_killed(
    kept: Broker, servers: ForeignServers
) -> None:
    """Acknowledged by the stream, which drops what comes again under its identity."""
    options = {"destination": "kept.a", "server.urls": url_of(kept)}
    tally = await play_sink(lambda: nats_sink(options, None, servers, "A"), Stream(kept))  # type: ignore[arg-type]
    assert (tally.lost, tally.duplicated) == (0, 0)


async def test_whoever_listens_hears_what_no_stream_keeps(
    kept: Broker, servers: ForeignServers
) -> None:
    """With and without JetStream; the message has its identity, and a subject its values."""
    plain = nats_broker(None)
    await plain.start()
    for broker in (kept, plain):
        client = await nats.connect(url_of(broker))
        heard = await client.subscribe("in.7")
        await client.flush()
        options = {"destination": "in.{{n}}", "bootstrap.servers": url_of(broker)}
        sink = nats_sink(options, None, servers, "A")  # type: ignore[arg-type]
        await sink.send(message(7))
        found = await heard.next_msg(timeout=10)
        assert (found.data, (found.headers or {})["Nats-Msg-Id"]) == (b'{"n":7}', message(7).id)
        await sink.close()
        await client.close()
    sink = nats_sink({**options, "destination": "$JS.{{n}}"}, None, servers, "A")  # type: ignore[arg-type]
    with pytest.raises(MessageRefusedError, match="is no subject"):
        await sink.send(message(1))
    await plain.stop()
    sink = nats_sink(options, None, servers, "A")  # type: ignore[arg-type]
    with pytest.raises(UnavailableError, match="cannot be reached"):
        await sink.send(message(1))


async def published(client: Client, subject: str, *payloads: bytes) -> None:
    """In order; they have left."""
    for payload in payloads:
        await client.publish(subject, payload)
    await client.flush()


async def read(servers: ForeignServers, server: ForeignServer, subject: str, queue: str = "") -> (
    tuple[list[Mail], list[Mail]]
):  # fmt: skip
    """What two receivers have got of three messages."""
    client = await nats.connect(server.urls[0])
    other = ForeignServers(LIMITS, SystemRandomness(), "other")
    one = await servers.mailbox(server, subject, "App/In.0", queue)
    two = await other.mailbox(server, subject, "App/In.0", queue)
    await published(client, subject, b"1", b"2", b"3")
    found: tuple[list[Mail], list[Mail]] = ([], [])
    async with asyncio.timeout(20):
        while len({mail.payload for mails in found for mail in mails}) < 3:
            for mails, mailbox in zip(found, (one, two), strict=True):
                mails += await mailbox.read(max_messages=1, wait_ms=100)
    for mailbox in (one, two):
        await mailbox.close()
        await mailbox.close()
    await client.close()
    return found


async def test_receivers_share_the_messages_of_a_stream(
    kept: Broker, servers: ForeignServers
) -> None:
    """What was not acknowledged comes again, to whoever lives, with its number in the stream."""
    server = server_at(kept)
    first, second = await read(servers, server, "kept.b")
    mails = [*first, *second]
    numbered = {(each.payload, each.headers["sequenceNumber"]) for each in mails}
    assert numbered == {(b"1", "1"), (b"2", "2"), (b"3", "3")}
    again = await servers.mailbox(server, "kept.b", "App/In.0", "")
    await kept.stop()
    await kept.start()
    found: list[Mail] = []
    async with asyncio.timeout(60):
        while len({each.id for each in found}) < 3:
            try:
                found += await again.read(max_messages=9, wait_ms=500)
            except UnavailableError:
                await asyncio.sleep(0.1)
    assert {each.id for each in found} == {each.id for each in mails}
    for each in found:
        await each.acknowledge()
    await again.close()


async def test_receivers_share_what_no_stream_keeps(servers: ForeignServers) -> None:
    """Each message goes to one of them; and to one of a group that other programs are in, too."""
    plain = nats_broker(None)
    await plain.start()
    server = server_at(plain)
    mails = [each.payload for mails in await read(servers, server, "x.y") for each in mails]
    assert sorted(mails) == [b"1", b"2", b"3"]
    client = await nats.connect(url_of(plain))
    heard = await client.subscribe("x.z", queue="Group")
    mailbox = await servers.mailbox(server, "x.z", "App/In.0", "Group")
    await published(client, "x.z", *[b"%d" % n for n in range(100)])
    got: list[bytes] = []
    async with asyncio.timeout(20):
        while len(got) + heard.pending_msgs < 100:
            got += [each.payload for each in await mailbox.read(max_messages=9, wait_ms=50)]
    assert 0 < len(got) < 100
    await mailbox.close()
    await client.close()
    await plain.stop()


async def test_a_password_or_a_token_lets_us_in(servers: ForeignServers) -> None:
    """Who has none, or a wrong one, is told so, and no secret is shown."""
    for arguments, login in (
        (("--user", "u:1", "--pass", "p@2/"), {"username": "u:1", "password": "p@2/"}),
        (("--auth", "t=?3"), {"token": "t=?3"}),
    ):
        broker = nats_broker(None, *arguments)
        await broker.start()
        server = server_at(broker, **login)
        mailbox = await servers.mailbox(server, "a", "n", "")
        await mailbox.close()
        with pytest.raises(BusRefusedError, match="does not accept our user or token"):
            await servers.borrow(server_at(broker))
        assert all(each not in repr(server) for each in ("p@2/", "t=?3"))
        await broker.stop()
