"""@source and @sink of type sqs against a server that speaks it, goes away and comes back."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from lockstep.clock import SystemClock
from lockstep.siddhiql.catalogue import Delivery
from lockstep.sinks import MessageRefusedError, Sink
from lockstep.sources import Place, Received, Source
from lockstep.testing.connectors import keeps_sink, keeps_source, message, promise_of
from tests.contract.connectors.sqs_peer import SqsFar, SqsReceiving
from tests.s3.server import S3Server, s3_server

try:
    from lockstep.connectors.sqs.sink import sink_of
    from lockstep.connectors.sqs.source import SqsSource
except ImportError:
    pytest.skip("the extra 'connectors' is not installed", allow_module_level=True)

PLACE = Place("App", "In", 0, "127.0.0.1", SystemClock())
PATIENCE_S = 20.0
PAUSE_S = 0.05
TOO_LONG = "x" * 1_100_000


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    """For all tests; each has queues of its own."""
    with s3_server() as found:
        yield found


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """Of the test's queue."""
    return re.sub(r"\W+", "-", request.node.name)[:70].strip("-")


def source(far: SqsFar, **more: str) -> Source:
    """Of the app's stream In."""
    return SqsSource({**far.options, **more}, PLACE)


def sink(far: SqsFar, **more: str) -> Sink:
    """As the publisher makes it."""
    return sink_of({"stream": "Out", **far.options, **more})


async def all_of(taking: Source, count: int) -> list[Received]:
    """So many, however often one has to ask."""
    found: list[Received] = []
    async with asyncio.timeout(PATIENCE_S):
        while len(found) < count:
            found += await taking.read(max_messages=50, wait_ms=0)
            await asyncio.sleep(PAUSE_S)
    return found


@pytest.mark.parametrize(("end", "count"), [("", 20), (".fifo", 10)])
async def test_the_source_keeps_its_promise(
    server: S3Server, name: str, end: str, count: int
) -> None:
    """What was not acknowledged comes again, with the message id that it had. Of a group of a FIFO
    queue ten messages are under way at once."""
    promise = promise_of("source", "sqs")
    assert promise.delivery is Delivery.EXACTLY_ONCE
    far = SqsFar(server, name + end)
    tally = await keeps_source(promise, lambda: source(far), far, count=count)
    assert (tally.sent, tally.lost, tally.died, tally.identified) == (3 * count, 0, 0, True)
    assert tally.duplicated >= count


@pytest.mark.parametrize("end", ["", ".fifo"])
async def test_the_sink_keeps_its_promise(server: S3Server, name: str, end: str) -> None:
    """Over the queue's absence and ours; what the service never takes is refused, and told."""
    promise = promise_of("sink", "sqs")
    assert promise.delivery is Delivery.IDENTIFIED
    far = SqsReceiving(server, name + end)
    poison = message(0, payload=TOO_LONG.encode())
    tally = await keeps_sink(promise, lambda: sink(far), far, poison=poison)
    assert (tally.sent, tally.lost, tally.refused, tally.identified) == (60, 0, 1, True)


@pytest.mark.parametrize(("end", "arrived"), [("", 2), (".fifo", 1)])
async def test_a_message_whose_answer_is_lost(
    server: S3Server, name: str, end: str, arrived: int
) -> None:
    """It is sent again under the same identity; a FIFO queue knows it."""
    far = SqsFar(server, name + end)
    sending = sink(far)
    lost = server.lost
    await asyncio.to_thread(server.lose_answer, "SendMessage")
    with pytest.raises(OSError, match="sqs"):
        await sending.send(message(7))
    await sending.send(message(7))
    await sending.close()
    assert server.lost == lost + 1
    marks = [each["MessageAttributes"]["lockstep-id"]["StringValue"] for each in far.messages()]
    assert marks == ["Kit/main/0/7.0"] * arrived


async def test_groups_and_marks_of_a_fifo_queue(server: S3Server, name: str) -> None:
    """As the options fill them; what the service would not take goes by its digest."""
    far = SqsFar(server, name + ".fifo")
    sending = sink(far, **{"message.group.id": "room {{n}}", "deduplication.id": "{{n}}"})
    await sending.send(message(1))
    await sending.send(replace(message(1), payload=b"other"))
    plain = sink(far)
    await plain.send(replace(message(2), id="Töne/main/0/2.0"))
    with pytest.raises(MessageRefusedError, match="empty"):
        await sending.send(replace(message(3), fill=lambda _: ""))
    for each in (sending, plain):
        await each.close()
    one, other = (each["Attributes"] for each in far.messages())
    assert one["MessageDeduplicationId"] == "1"
    assert len(one["MessageGroupId"]) == 64
    assert (other["MessageGroupId"], len(other["MessageDeduplicationId"])) == ("lockstep", 64)


async def test_what_is_no_text_is_refused(server: S3Server, name: str) -> None:
    """Before the service is asked."""
    sending = sink(SqsFar(server, name))
    with pytest.raises(MessageRefusedError, match="texts alone"):
        await sending.send(message(1, payload=b"\xff\xfe"))
    await sending.close()


async def test_what_a_source_tells_of_a_message(server: S3Server, name: str) -> None:
    """Its attributes, and its id; who gives an identity is known by that."""
    far = SqsFar(server, name)
    plain = far.put("one", {"room": "attic"})
    far.put("two", {"lockstep-id": "A/main/0/5.0"})
    reading = source(far)
    one, other = await all_of(reading, 2)
    assert (one.payload, one.id, one.properties["room"]) == (b"one", plain, "attic")
    assert one.properties["MESSAGE_ID"] == plain
    assert other.id == "A/main/0/5.0"
    assert {"SentTimestamp", "ApproximateReceiveCount"} <= one.properties.keys()
    await reading.close()


async def test_what_is_not_durable_yet_is_hidden_on(server: S3Server, name: str) -> None:
    """For longer than the queue hides it; then its reader closes, and others see it."""
    far = SqsFar(server, name)
    for number in range(13):
        far.put(str(number))
    reading = source(far, **{"visibility.timeout": "3"})
    taken = await all_of(reading, 13)
    await taken[0].acknowledge()
    other = source(far)
    begun = asyncio.get_running_loop().time()
    while asyncio.get_running_loop().time() < begun + 5.0:
        assert await other.read(max_messages=10, wait_ms=0) == []
        await asyncio.sleep(0.2)
    await taken[1].acknowledge()
    await reading.close()
    left = await all_of(other, 11)
    assert {each.payload for each in left} == {b"%d" % number for number in range(2, 13)}
    for each in left:
        await each.acknowledge()
    await other.close()
    assert far.counts() == (0, 0)


async def test_a_receiver_that_is_killed_loses_nothing(server: S3Server, name: str) -> None:
    """It says nothing to the queue any more: its messages are seen when their time is over."""
    far = SqsFar(server, name)
    far.put("left")
    killed = source(far, **{"visibility.timeout": "3"})
    (before,) = await all_of(killed, 1)
    hiding = killed._hiding  # type: ignore[attr-defined]
    hiding.cancel()
    after = source(far)
    (again,) = await all_of(after, 1)
    assert (again.payload, again.id) == (before.payload, before.id)
    await after.close()
    await killed.close()


async def test_a_queue_that_is_not_there_and_a_wrong_key(server: S3Server, name: str) -> None:
    """Both are tried again: an operator may mend them. Neither tells the secret key."""
    far = SqsFar(server, name)
    for options in ({"queue": far.url + "-not"}, {"access.key": "wrong"}):
        reading, sending = source(far, **options), sink(far, **options)
        with pytest.raises(OSError, match="sqs") as told:
            await reading.read(max_messages=1, wait_ms=0)
        assert far.options["secret.key"] not in str(told.value)
        with pytest.raises(OSError, match="sqs"):
            await sending.send(message(1))
        await reading.close()
        await sending.close()
    assert far.counts() == (0, 0)
