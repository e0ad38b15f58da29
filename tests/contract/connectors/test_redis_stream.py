"""@source and @sink of type redis-stream against a Redis that is killed and started again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from lockstep.clock import SystemClock
from lockstep.connectors.redis_stream.sink import RedisStreamSink
from lockstep.connectors.redis_stream.source import RedisStreamSource
from lockstep.siddhiql.catalogue import Delivery
from lockstep.sinks import Message, MessageRefusedError
from lockstep.sources import Place, Received
from lockstep.testing.connectors import keeps_sink, keeps_source, message, promise_of
from tests.contract.connectors.redis_peer import RedisFar
from tests.tls.certificates import Authority
from tests.tls.terminator import terminating

PLACE = Place("App", "In", 0, "127.0.0.1", SystemClock())
WAIT_MS = 20


@pytest.fixture
async def far(tmp_path: Path) -> AsyncIterator[RedisFar]:
    """Not started yet."""
    made = RedisFar(tmp_path / "redis")
    yield made
    await made.stop()


def source(far: RedisFar, **more: str) -> RedisStreamSource:
    """Of the app's stream In."""
    return RedisStreamSource({**far.options, **_dotted(more)}, PLACE)


def sink(far: RedisFar, **more: str) -> RedisStreamSink:
    """As the publisher makes it."""
    return RedisStreamSink({"stream": "Out", **far.options, **_dotted(more)})


def _dotted(options: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "."): value for name, value in options.items()}


async def all_of(taking: RedisStreamSource, *, acknowledge: bool = True) -> list[Received]:
    """What is there; the source stays open."""
    found: list[Received] = []
    while some := await taking.read(max_messages=10, wait_ms=WAIT_MS):
        found += some
        for each in some:
            if acknowledge:
                await each.acknowledge()
    return found


async def test_the_source_keeps_its_promise(far: RedisFar) -> None:
    """Over our death and that of Redis, which is killed: what was not acknowledged comes again."""
    promise = promise_of("source", "redis-stream")
    assert promise.delivery is Delivery.EXACTLY_ONCE
    tally = await keeps_source(promise, lambda: source(far), far)
    assert (tally.sent, tally.lost, tally.died) == (60, 0, 0)
    assert (tally.duplicated, tally.identified) == (20, True)


async def test_the_sink_keeps_its_promise(far: RedisFar) -> None:
    """Over our death and that of Redis: each entry is there once. What is refused is told."""
    promise = promise_of("sink", "redis-stream")
    assert promise.delivery is Delivery.EXACTLY_ONCE
    await far.start()
    await far.asked("SET", "a-text", "and no stream")
    await far.stop()
    poison = replace(message(0, payload=b'{"n":"never"}'), fill=lambda _: "a-text")
    tally = await keeps_sink(promise, lambda: sink(far), far, poison=poison)
    assert (tally.sent, tally.lost, tally.duplicated, tally.refused) == (60, 0, 0, 1)
    assert tally.identified


async def test_what_was_sent_by_another_publisher_is_not_added_again(far: RedisFar) -> None:
    """Nor what this one does not know to have arrived; many go together, in their order."""
    await far.start()
    one, other = sink(far), sink(far)
    await asyncio.gather(*(one.send(message(number)) for number in range(40)))
    await asyncio.gather(*(other.send(message(number)) for number in range(20, 60)))
    await asyncio.gather(*(one.send(message(number)) for number in range(40, 50)))
    for each in (one, other):
        await each.close()
    found = await far.received()
    assert [each.payload for each in found] == [message(number).payload for number in range(60)]


async def test_a_refused_message_holds_up_none_behind_it(far: RedisFar) -> None:
    """And one that waits for the server holds up all behind it, so that the order stays."""
    await far.start()
    await far.asked("SET", "a-text", "and no stream")

    def to(stream: str, number: int) -> Message:
        return replace(message(number), fill=lambda text: text.replace("{{to}}", stream))

    sending = sink(far, stream_name="{{to}}")
    lot = [to("a-text" if number == 3 else "kit", number) for number in range(6)]
    outcomes = await asyncio.gather(*map(sending.send, lot), return_exceptions=True)
    assert [type(each) for each in outcomes if each is not None] == [MessageRefusedError]
    assert len(await far.entries()) == 5
    await far.asked("CONFIG", "SET", "maxmemory", "1")
    outcomes = await asyncio.gather(
        *(sending.send(to("kit", number)) for number in (6, 7, 8)), return_exceptions=True
    )
    assert all(isinstance(each, OSError) and "OOM" in str(each) for each in outcomes)
    await far.asked("CONFIG", "SET", "maxmemory", "0")
    for number in (6, 7, 8):
        await sending.send(to("kit", number))
    await sending.close()
    numbers = [json.loads(each.payload)["n"] for each in await far.received()]
    assert numbers == [0, 1, 2, 4, 5, 6, 7, 8]


@pytest.mark.parametrize("name", ["", " ", "a\nb", "x" * 2_000])
async def test_a_name_that_is_none_refuses_its_row(far: RedisFar, name: str) -> None:
    """Before Redis is asked."""
    sending = sink(far, stream_name="{{to}}")
    with pytest.raises(MessageRefusedError, match="no name of a stream"):
        await sending.send(replace(message(1), fill=lambda _: name))


async def test_a_log_that_begins_anew_and_one_whose_identities_come_again(far: RedisFar) -> None:
    """A new log's rows have identities of their own; where they come again, the publisher says."""
    await far.start()
    sending = sink(far)
    await sending.send(message(7))
    newer = replace(message(1), id="Kit@99/main/0/1.0")
    await sending.send(newer)
    assert len(await far.entries()) == 2
    await sending.send(message(2))
    assert len(await far.entries()) == 2, "it is older than what is there"
    sending.begin_again()
    for _ in range(2):
        await sending.send(message(2))
    await sending.close()
    assert [each.payload for each in await far.received()] == [
        message(number).payload for number in (7, 1, 2)
    ]


async def test_a_group_of_rows_is_known_by_its_last_one(far: RedisFar) -> None:
    """Two groups of one record of input are two entries, each once."""
    await far.start()
    sending = sink(far)
    groups = [replace(message(0), id=f"Kit/main/0/4.{part}") for part in ("0-1", "2-3", "0-1")]
    for each in groups:
        await sending.send(each)
    await sending.close()
    assert [each.id for each in await far.received()] == ["Kit/main/0/4.0-1", "Kit/main/0/4.2-3"]


async def test_fields_and_the_length_of_a_stream(far: RedisFar) -> None:
    """Under names that the options give; trimmed to what was asked for."""
    await far.start()
    sending = sink(
        far, payload_field="body", identity_field="mark", fields="'Room:{{n}}','body:no'",
        max_length="3", max_length_exact="true",
    )  # fmt: skip
    for number in range(5):
        await sending.send(message(number))
    await sending.close()
    found = await far.entries()
    assert len(found) == 3
    assert found[0] == {"body": b'{"n":2}', "mark": b"Kit/main/0/2.0", "Room": b"2"}


async def test_what_a_source_tells_of_an_entry(far: RedisFar) -> None:
    """The message, the other fields, and the sender's identity where one is named."""
    await far.start()
    await far.asked("XADD", "kit", "5-1", "payload", "x", "room", "attic", "key", "k1")
    await far.asked("XADD", "kit", "5-2", "room", "hall")
    reading = source(far, identity_field="key")
    one, other = await all_of(reading)
    assert (one.payload, one.id) == (b"x", "k1")
    assert one.properties == {
        "room": "attic", "key": "k1", "entry.id": "5-1", "stream.name": "kit",
    }  # fmt: skip
    assert (other.payload, other.id) == (b"", "5-2"), "nothing to read: the receiver buries it"
    await reading.close()
    whole = source(far, group_name="other", payload_field="*")
    found = await all_of(whole)
    await whole.close()
    assert json.loads(found[1].payload) == {"room": "hall"}


async def test_the_group_is_the_place(far: RedisFar) -> None:
    """Acknowledged with the next read, or at the end; who reads on begins with what is left."""
    await far.start()
    for number in range(12):
        await far.send(b"%d" % number)
    reading = source(far)
    first = await reading.read(max_messages=5, wait_ms=WAIT_MS)
    for each in first[:2]:
        await each.acknowledge()
    await reading.read(max_messages=5, wait_ms=WAIT_MS)
    assert (await far.asked("XPENDING", "kit", "lockstep.App.In"))["pending"] == 8
    await first[2].acknowledge()
    await reading.close()
    assert (await far.asked("XPENDING", "kit", "lockstep.App.In"))["pending"] == 7
    after = await all_of(source(far))
    assert [int(each.payload) for each in after] == list(range(3, 12))


async def test_a_group_that_was_removed_and_entries_that_were_trimmed(far: RedisFar) -> None:
    """The group is made anew where this source is; what the stream forgot holds up nothing."""
    await far.start()
    for number in range(4):
        await far.send(b"%d" % number)
    reading = source(far)
    assert len(await all_of(reading)) == 4
    await far.asked("XGROUP", "DESTROY", "kit", "lockstep.App.In")
    assert await reading.read(max_messages=10, wait_ms=WAIT_MS) == ()
    for number in range(4, 8):
        await far.send(b"%d" % number)
    taken = await reading.read(max_messages=10, wait_ms=WAIT_MS)
    assert [int(each.payload) for each in taken] == [4, 5, 6, 7]
    await reading.close()
    await far.asked("XTRIM", "kit", "MAXLEN", "1")
    again = source(far)
    assert [int(each.payload) for each in await all_of(again)] == [7]
    await again.close()
    assert (await far.asked("XPENDING", "kit", "lockstep.App.In"))["pending"] == 0


async def test_a_source_that_begins_at_the_end_and_one_that_removes(far: RedisFar) -> None:
    """What was there before it began is not its own; what was taken is gone."""
    await far.start()
    await far.send(b"before")
    reading = source(far, start_from="end", delete_after_process="true")
    assert await reading.read(max_messages=10, wait_ms=WAIT_MS) == []
    await far.send(b"after")
    assert [each.payload for each in await all_of(reading)] == [b"after"]
    await reading.close()
    assert [each["payload"] for each in await far.entries()] == [b"before"]


async def test_over_tls_with_certificates_and_a_wrong_password(
    far: RedisFar, tmp_path: Path
) -> None:
    """Both sides show one; what is wrong is an OSError: tried again, and telling no secret."""
    await far.start()
    authority = Authority(tmp_path / "tls")
    pair = authority.give("server")
    async with terminating(far.ports[0], authority.files(pair)) as port:
        url = f"rediss://127.0.0.1:{port}"
        mine = authority.give("client")
        tls = {
            "tls.ca.file": str(authority.file), "tls.certificate.file": str(mine.certificate),
            "tls.key.file": str(mine.key),
        }  # fmt: skip
        sending = RedisStreamSink({"stream": "Out", **far.options, **tls, "url": url})
        await sending.send(message(1))
        reading = RedisStreamSource({**far.options, **tls, "url": url}, PLACE)
        assert len(await all_of(reading)) == 1
        await reading.close()
        await sending.close()
        stranger = RedisStreamSink({"stream": "Out", **far.options, "url": url})
        with pytest.raises(OSError, match="Redis"):
            await stranger.send(message(2))
        await stranger.close()
    wrong = sink(far, password="another-word")
    with pytest.raises(OSError, match="username-password") as told:
        await wrong.send(message(2))
    await wrong.close()
    assert "another-word" not in str(told.value)
