"""MQTT sources and sinks, versions 3.1.1 and 5, against Mosquitto."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from lockstep.clock import SystemClock
from lockstep.siddhiql.catalogue import Delivery
from lockstep.sinks import MessageRefusedError
from lockstep.sources import Place, Received
from lockstep.testing.connectors import keeps_sink, keeps_source, message, promise_of

pytest.importorskip("paho.mqtt.client")
from lockstep.connectors.mqtt.sink import MqttSink
from lockstep.connectors.mqtt.source import MqttSource
from tests.contract.connectors.mosquitto import DENIED, Ear, Mosquitto, Voice

CLOCK = SystemClock()
PLACE = Place("App", "In", 0, "127.0.0.1", CLOCK)
SOURCE, SINK = promise_of("source", "mqtt"), promise_of("sink", "mqtt")
FIVE = {"protocol.version": "5"}
KEPT = {"client.id": "kit", "clean.session": "false"}
RETAINED = {"topic": "out/{{n}}", "message.retain": "true"}
"""The broker is there a moment before its listener is."""
EXPIRED_MS = 2_500
"""After so long what was to live for a second is gone."""


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Mosquitto]:
    """One that keeps sessions."""
    made = Mosquitto(tmp_path)
    yield made
    await made.stop()


async def taken(source: MqttSource, count: int) -> Sequence[Received]:
    """So many messages, acknowledged."""
    found: list[Received] = []
    while len(found) < count:
        found += await source.read(max_messages=count, wait_ms=10_000)
    for each in found:
        await each.acknowledge()
    return found


@pytest.mark.parametrize("quality", ["1", "2"])
async def test_a_sink_in_5_keeps_its_promise(broker: Mosquitto, quality: str) -> None:
    """Identities over the broker's end; what it forbids is refused, with its reason."""
    far = Ear(broker, "out/#")
    options = {**RETAINED, **FIVE, "url": broker.url, "quality.of.service": quality}
    assert SINK.delivery is Delivery.IDENTIFIED
    poison = message(int(DENIED.removeprefix("out/")))
    tally = await keeps_sink(SINK, lambda: MqttSink(options), far, poison=poison)
    await far.stop()
    assert (tally.lost, tally.refused, tally.identified) == (0, 1, True)


async def test_a_sink_in_3_1_1_delivers_at_least_once(broker: Mosquitto) -> None:
    """Without an identity."""
    far = Ear(broker, "out/#")
    promise = replace(SINK, delivery=SINK.between[0][0])
    assert promise.delivery is Delivery.AT_LEAST_ONCE
    options = {**RETAINED, "url": broker.url}
    tally = await keeps_sink(promise, lambda: MqttSink(options), far)
    await far.stop()
    assert (tally.lost, tally.identified) == (0, False)


async def test_a_source_in_5_keeps_its_promise(broker: Mosquitto) -> None:
    """What was not acknowledged comes again, in another session, under the same identity."""
    far = Voice(broker, "in/a")
    options = {**FIVE, **KEPT, "url": broker.url, "topic": "in/#"}
    assert SOURCE.delivery is Delivery.EXACTLY_ONCE
    tally = await keeps_source(SOURCE, lambda: MqttSource(options, PLACE), far)
    await far.stop()
    assert (tally.lost, tally.died, tally.identified) == (0, 0, True)
    assert tally.duplicated >= 20


async def test_a_source_in_3_1_1_delivers_at_least_once(broker: Mosquitto) -> None:
    """With a kept session nothing is lost; nothing has an identity."""
    far = Voice(broker, "in/a", five=False)
    promise = replace(SOURCE, delivery=SOURCE.between[0][0])
    options = {**KEPT, "url": broker.url, "topic": "in/#"}
    tally = await keeps_source(promise, lambda: MqttSource(options, PLACE), far)
    await far.stop()
    assert (tally.lost, tally.died, tally.identified) == (0, 0, False)


async def test_without_a_kept_session_a_source_delivers_at_most_once(broker: Mosquitto) -> None:
    """What dies with the receiver does not come again."""
    far = Voice(broker, "in/a")
    options = {**FIVE, "url": broker.url, "topic": "in/#", "quality.of.service": "0"}
    tally = await keeps_source(SOURCE, lambda: MqttSource(options, PLACE), far, weaker=True)
    await far.stop()
    assert (tally.died, tally.duplicated) == (20, 0)


async def test_properties_go_from_the_sink_to_the_source(broker: Mosquitto) -> None:
    """Filled for each message; the identity under the name that both agree on."""
    await broker.start()
    common = {**FIVE, "url": broker.url, "identity.property": "mark"}
    source = MqttSource({**common, "topic": "rooms/#"}, PLACE)
    assert await source.read(max_messages=1, wait_ms=1) == ()
    sink = MqttSink(
        {
            **common, "topic": "rooms/a", "content.type": "text/x-{{n}}",
            "user.properties": "'Room:r{{n}}','Kind:k'", "message.expiry.interval": "10{{n}}",
        }
    )  # fmt: skip
    await sink.send(message(7))
    (found,) = await taken(source, 1)
    assert found.id == message(7).id
    left = int(found.properties["message.expiry.interval"])
    assert 0 < left <= 107
    assert {**found.properties, "message.expiry.interval": ""} == {
        "Room": "r7", "Kind": "k", "mark": message(7).id, "Content-Type": "text/x-7",
        "message.expiry.interval": "", "topic": "rooms/a",
    }  # fmt: skip
    for name, value in (("message.expiry.interval", "soon"), ("user.properties", "a:b\0")):
        bad = MqttSink({**common, "topic": "rooms/a", name: value})
        with pytest.raises(MessageRefusedError):
            await bad.send(message(8))
    await sink.close()
    await source.close()


async def test_messages_and_sessions_expire_when_they_are_told_to(broker: Mosquitto) -> None:
    """What lives for a second does not come to who listens later; nor is a session kept longer."""
    await broker.start()
    options = {**FIVE, **KEPT, "url": broker.url, "topic": "in/#"}
    brief = {**options, "client.id": "brief", "session.expiry.interval": "1"}
    for one in (options, brief):
        source = MqttSource(one, PLACE)
        await source.read(max_messages=1, wait_ms=1)
        await source.close()
    sink = MqttSink(
        {**FIVE, "url": broker.url, "topic": "in/{{n}}", "message.expiry.interval": "{{n}}"}
    )
    for seconds in (1, 60):
        await sink.send(message(seconds))
    await CLOCK.sleep_ms(EXPIRED_MS)
    source = MqttSource(options, PLACE)
    assert [one.properties["topic"] for one in await taken(source, 1)] == ["in/60"]
    late = MqttSource(brief, PLACE)
    assert await late.read(max_messages=1, wait_ms=1) == ()
    await sink.send(message(61))
    assert [one.properties["topic"] for one in await taken(late, 1)] == ["in/61"]
    await sink.close()
    for each in (source, late):
        await each.close()


async def test_sources_of_a_shared_subscription_share_its_messages(broker: Mosquitto) -> None:
    """Each message goes to one of the group."""
    await broker.start()
    shared = {**FIVE, "url": broker.url, "topic": "$share/group/in/#"}
    sources = [MqttSource(shared, PLACE) for _ in range(2)]
    for one in sources:
        await one.read(max_messages=1, wait_ms=1)
    sink = MqttSink({**FIVE, "url": broker.url, "topic": "in/{{n}}"})
    for number in range(20):
        await sink.send(message(number))
    found: list[list[str]] = [[], []]
    while sum(map(len, found)) < 20:
        for mine, source in zip(found, sources, strict=True):
            mine += [one.payload.decode() for one in await source.read(max_messages=9, wait_ms=20)]
    assert all(found), "both of them got some"
    assert len({*found[0], *found[1]}) == 20
    await sink.close()
    for each in sources:
        await each.close()


async def test_what_is_too_large_for_the_broker_is_refused_and_holds_up_nothing(
    tmp_path: Path,
) -> None:
    """The broker would end the connection each time."""
    broker = Mosquitto(tmp_path, "allow_anonymous true", "max_packet_size 400", "max_qos 1")
    far = Ear(broker, "out/#")
    await far.start()
    sink = MqttSink({**FIVE, "url": broker.url, "topic": "out/{{n}}"})
    await sink.send(message(1))
    with pytest.raises(MessageRefusedError, match="400 at most"):
        await sink.send(message(2, payload=b"x" * 400))
    twice = MqttSink({**FIVE, "url": broker.url, "topic": "out/a", "quality.of.service": "2"})
    with pytest.raises(MessageRefusedError, match="quality of service 1 at most"):
        await twice.send(message(3))
    await sink.send(message(4, payload=b"x" * 250))
    for each in (sink, twice):
        await each.close()
    await far.stop()


async def test_who_may_not_connect_is_told_why(tmp_path: Path) -> None:
    """With the reason code of the broker."""
    broker = Mosquitto(tmp_path, "allow_anonymous false")
    await broker.start()
    options = {**FIVE, "url": broker.url, "topic": "in/#"}
    source = MqttSource(options, PLACE)
    with pytest.raises(OSError, match=r"refuses: Not authorized \(0x87\)"):
        await source.read(max_messages=1, wait_ms=1)
    await source.close()
    sink = MqttSink({**options, "topic": "in/a", "username": "x", "password": "y"})
    with pytest.raises(OSError, match=r"\(0x8[67]\)"):
        await sink.send(message(1))
    await sink.close()
    await broker.stop()


async def test_two_of_one_name_are_told_of_each_other(broker: Mosquitto) -> None:
    """The broker gives the session to the second one and hangs up on the first, which says so."""
    await broker.start()
    options = {**FIVE, **KEPT, "url": broker.url, "topic": "in/#"}
    first, second = MqttSource(options, PLACE), MqttSource(options, PLACE)
    await first.read(max_messages=1, wait_ms=1)
    await second.read(max_messages=1, wait_ms=1)
    with pytest.raises(OSError, match=r"connection to the broker is lost: .* \(0x8"):
        await first.read(max_messages=1, wait_ms=10_000)
    for each in (first, second):
        await each.close()
