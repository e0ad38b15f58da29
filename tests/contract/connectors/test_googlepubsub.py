"""@source and @sink of type googlepubsub at Google's emulator, behind a door that can be shut."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator

import pytest

from lockstep.clock import SystemClock
from lockstep.connectors.googlepubsub.sink import sink_of
from lockstep.connectors.googlepubsub.source import PubSubSource
from lockstep.siddhiql.catalogue import Delivery
from lockstep.sinks import MessageRefusedError, Sink
from lockstep.sources import Place, Received, Source
from lockstep.testing.connectors import keeps_sink, keeps_source, message, promise_of
from tests.contract.connectors.pubsub_peer import Emulator, PubSubFar

PLACE = Place("App", "In", 0, "127.0.0.1", SystemClock())
PATIENCE_S = 30.0
TOO_LONG = b"x" * 10_000_001


@pytest.fixture(scope="module")
def emulator() -> Iterator[Emulator]:
    """For all tests; each has a topic of its own."""
    found = Emulator()
    found.start()
    yield found
    found.stop()


@pytest.fixture
async def far(emulator: Emulator, request: pytest.FixtureRequest) -> AsyncIterator[PubSubFar]:
    """With a topic, and not reachable yet."""
    made = PubSubFar(emulator, re.sub(r"\W+", "-", request.node.name)[:60])
    await made.make()
    yield made
    await made.stop()


def source(far: PubSubFar, **more: str) -> Source:
    """Of the app's stream In."""
    return PubSubSource({**far.options, "subscription.id": far.subscription, **more}, PLACE)


def sink(far: PubSubFar, **more: str) -> Sink:
    """As the publisher makes it."""
    return sink_of({"stream": "Out", **far.options, **more})


async def all_of(taking: Source, count: int) -> list[Received]:
    """So many, however often one has to ask."""
    found: list[Received] = []
    async with asyncio.timeout(PATIENCE_S):
        while len(found) < count:
            found += await taking.read(max_messages=50, wait_ms=200)
    return found


async def test_the_source_keeps_its_promise(far: PubSubFar) -> None:
    """What was not acknowledged comes again, with the message id that it had."""
    promise = promise_of("source", "googlepubsub")
    assert promise.delivery is Delivery.EXACTLY_ONCE
    tally = await keeps_source(promise, lambda: source(far), far)
    assert (tally.sent, tally.lost, tally.died, tally.identified) == (60, 0, 0, True)
    assert tally.duplicated >= 20


@pytest.mark.parametrize("options", [{}, {"ordering.key": "all"}], ids=["free", "ordered"])
async def test_the_sink_keeps_its_promise(far: PubSubFar, options: dict[str, str]) -> None:
    """Over the service's absence and ours; what it never takes is refused, and told."""
    promise = promise_of("sink", "googlepubsub")
    assert promise.delivery is Delivery.IDENTIFIED
    poison = message(0, payload=TOO_LONG)
    tally = await keeps_sink(promise, lambda: sink(far, **options), far, poison=poison)
    assert (tally.sent, tally.lost, tally.refused, tally.identified) == (60, 0, 1, True)


async def test_a_message_whose_answer_is_lost_and_a_token_that_is_no_more_good(
    far: PubSubFar,
) -> None:
    """It is sent again under the same identity; another token is fetched."""
    await far.start()
    sending = sink(far, attributes="'Room:{{n}}'")
    far.losing = ":publish"
    with pytest.raises(OSError, match="http"):
        await sending.send(message(7))
    await sending.send(message(7))
    far.past = far.given
    await sending.send(message(8))
    await sending.close()
    assert far.given == 2
    found = [each["attributes"] for each in await far.seen()]
    marks = [{"Room": str(n), "lockstep-id": f"Kit/main/0/{n}.0"} for n in (7, 7, 8)]
    assert found == marks


async def test_what_a_source_tells_of_a_message(far: PubSubFar) -> None:
    """Its attributes, and its id; who gives an identity is known by that."""
    await far.start()
    reading = source(far)
    assert await reading.read(max_messages=5, wait_ms=1) == []  # the subscription is there
    plain = await far.publish(b"one", room="attic")
    await far.publish(b"two", **{"lockstep-id": "A/main/0/5.0"})
    one, other = await all_of(reading, 2)
    assert (one.payload, one.id, one.properties["room"]) == (b"one", plain, "attic")
    assert {"messageId", "publishTime"} <= one.properties.keys()
    assert other.id == "A/main/0/5.0"
    await reading.close()


async def test_what_is_not_durable_yet_is_kept_from_others(far: PubSubFar) -> None:
    """For longer than its deadline; then its reader closes, and another one gets it at once."""
    await far.start()
    reading, other = source(far, **{"ack.deadline": "10"}), source(far)
    assert await reading.read(max_messages=5, wait_ms=1) == []
    for number in range(3):
        await far.publish(b"%d" % number)
    taken = await all_of(reading, 3)
    await taken[0].acknowledge()
    begun = asyncio.get_running_loop().time()
    while asyncio.get_running_loop().time() < begun + 14.0:
        assert await other.read(max_messages=5, wait_ms=500) == []
    await taken[1].acknowledge()
    await reading.close()
    (left,) = await all_of(other, 1)
    assert (left.payload, left.id) == (taken[2].payload, taken[2].id)
    await left.acknowledge()
    await other.close()


async def test_a_subscription_or_topic_that_is_not_there(far: PubSubFar) -> None:
    """Both are tried again: an operator may make them."""
    await far.start()
    options = {name: value for name, value in far.options.items() if name != "topic.id"}
    reading = PubSubSource({**options, "subscription.id": "s-nowhere"}, PLACE)
    with pytest.raises(OSError, match="404"):
        await all_of(reading, 1)
    await reading.close()
    sending = sink(far, **{"topic.id": "t-nowhere"})
    with pytest.raises(OSError, match="404") as told:
        await sending.send(message(1))
    assert not isinstance(told.value, MessageRefusedError)
    await sending.close()


async def test_what_the_service_calls_wrong_is_refused(far: PubSubFar) -> None:
    """By itself, and not again and again."""
    await far.start()
    sending = sink(far, **{"topic.id": "no"})
    with pytest.raises(MessageRefusedError, match="400"):
        await sending.send(message(1))
    await sending.close()
