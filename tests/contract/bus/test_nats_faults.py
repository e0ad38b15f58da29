"""NATS under faults: restarts, kills, lost acknowledgements, pauses, wrong passwords."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from typing import Any

import nats
import pytest
from nats.aio.msg import Msg

from lockstep.bus import Accepted, BusLimits, Coded, LogName, OutputTail, Refused
from lockstep.bus.errors import BusRefusedError
from lockstep.bus.nats import NatsBus
from lockstep.bus.nats.checksum import CHECKSUM, checksum
from lockstep.bus.subjects import input_subject, stream_name
from lockstep.clock import SystemRandomness
from lockstep.embedded import NatsServer, free_port
from lockstep.events import ClaimRecord, OutputId, UnavailableError
from lockstep.events.codec import encode_record
from tests.contract.bus.carriers import LIMITS, fresh_log, one_event, rows, with_limits
from tests.contract.patience import PATIENCE_MS, PATIENCE_S, eventually, read_on
from tests.contract.pausing import paused
from tests.contract.proxy import Proxy

pytestmark = pytest.mark.servers

READ = {"max_records": 1000, "max_bytes": 10_000_000}
IMPATIENT_MS = 2_500  # waited out, and enough for a server that is well on a busy machine
ACKNOWLEDGED = b'"seq":2'  # in JetStream's answer to the second record


async def _connect(url: str, limits: BusLimits = LIMITS) -> NatsBus:
    return await NatsBus.connect(url, limits, SystemRandomness())


async def _through(server: NatsServer, proxy: Proxy, limits: BusLimits = LIMITS) -> NatsBus:
    return await _connect(server.url.replace(str(server.port), str(proxy.port)), limits)


async def test_readers_and_writers_outlive_a_restart(server: NatsServer) -> None:
    """A waiting reader gets what is appended after the server came back, and nothing else."""
    bus = await _connect(server.url)
    name = fresh_log()
    log, reader = await bus.input_log(name), await bus.input_log(name)
    await log.append(one_event(0))
    assert len(await read_on(reader.read, 0, 1)) == 1
    reading = asyncio.create_task(reader.read(1, **READ, wait_ms=10 * PATIENCE_MS))
    await server.restart()
    await log.append(one_event(1))
    entries = await asyncio.wait_for(reading, PATIENCE_S)
    assert [(e.position, e.record) for e in entries] == [(2, one_event(1))]
    await bus.close()


async def test_a_record_that_comes_damaged_is_read_again(server: NatsServer) -> None:
    """On its way from the server; what is damaged for good is told, each time, and never given."""
    bus = await _connect(server.url)
    name = fresh_log()
    log = await bus.input_log(name)
    records = [one_event(i) for i in range(4)]
    for record in records:
        await log.append(record)
    whole = encode_record(records[2])
    async with Proxy(server.port) as proxy:
        through = await _through(server, proxy)
        reader = await through.input_log(name)
        proxy.damage = (whole, whole[:-1] + bytes([whole[-1] ^ 1]))
        entries = await read_on(reader.read, 0, 4)
        assert proxy.damaged == 1
        assert [entry.record for entry in entries] == records
        await through.close()
    client = await nats.connect(server.url)
    damaged = {CHECKSUM: checksum(b"something else")}
    await client.jetstream().publish(input_subject(name), whole, headers=damaged)
    for _ in range(2):
        with pytest.raises(UnavailableError, match="record 5 came damaged"):
            await log.read(4, **READ, wait_ms=200)
    await client.close()
    await bus.close()


@pytest.mark.parametrize("how", ["left", "broken"])
async def test_half_a_message_does_not_reach_into_the_next_connection(
    server: NatsServer, how: str
) -> None:
    """A server is left, or its connection breaks, in the very moment when the first half of a
    record has come: nobody is given that half with the next connection's first bytes behind it."""
    bus = await _connect(server.url)
    log = await bus.input_log(fresh_log())
    await log.append(one_event(0))
    assert len(await read_on(log.read, 0, 1)) == 1
    given: list[bytes] = []

    async def note(message: Msg) -> None:
        given.append(message.data)

    async def is_back() -> bool:
        return client.is_connected and connection.generation >= before + 2  # lost, and there again

    async def has_come() -> bool:
        return b"whole" in given

    connection = bus._connection
    key = await connection.subscribe("halves", note)
    listening = connection._listening[key].current
    client, before = connection._client, connection.generation
    assert listening is not None
    # Not from the server, as it has to come in this very moment: one that is killed in the midst of
    # a message, or has a long one to send, leaves as much.
    transport: Any = client._transport
    transport._io_reader.feed_data(b"MSG halves %d 12\r\n" % listening._id + b"first-")
    if how == "left":
        await client.force_reconnect()
    else:
        await client._process_op_err(ConnectionResetError())
    await eventually(is_back)
    await connection.publish("halves", b"whole")
    await eventually(has_come)
    assert given == [b"whole"]
    await log.append(one_event(1))
    assert [entry.record for entry in await read_on(log.read, 1, 1)] == [one_event(1)]
    await bus.close()


async def test_a_kill_in_the_middle_loses_and_doubles_nothing(server: NatsServer) -> None:
    """Appends under way when the server is killed are stored once each when they are reported."""
    bus = await _connect(server.url)
    log = await bus.input_log(fresh_log())
    appends = [
        asyncio.create_task(log.append(one_event(i), dedup_id=f"id-{i}")) for i in range(300)
    ]
    await asyncio.wait(appends, return_when=asyncio.FIRST_COMPLETED)
    await server.kill()
    await server.start()
    done = await asyncio.gather(*appends)
    entries = await read_on(log.read, 0, 300)
    assert {a.position for a in done} == {e.position for e in entries} == set(range(1, 301))
    stored = {e.position: e.record for e in entries}
    assert [stored[a.position] for a in done] == [one_event(i) for i in range(300)]
    await bus.close()


async def test_a_lost_acknowledgement_of_an_input_is_made_good(server: NatsServer) -> None:
    """The record was stored, its answer lost: sent again it is found, not stored twice."""
    async with Proxy(server.port) as proxy:
        bus = await _through(server, proxy)
        log = await bus.input_log(fresh_log())
        await log.append(one_event(1))
        proxy.swallow_answers = True
        appending = asyncio.create_task(log.append(one_event(2)))
        await proxy.swallowed(ACKNOWLEDGED)
        proxy.swallow_answers = False
        proxy.cut()
        appended = await asyncio.wait_for(appending, PATIENCE_S)
        assert (appended.position, appended.duplicate) == (2, False)
        assert await log.bounds() == (1, 2)
        await bus.close()


def _together(numbers: Iterable[int]) -> list[Coded]:
    return [Coded(encode_record(one_event(n)), f"{n}") for n in numbers]


async def _stored(server: NatsServer, log: LogName) -> list[dict[str, str]]:
    """The headers of all records, in their order."""
    client = await nats.connect(server.url)
    jetstream, stream = client.jetstream(), stream_name(input_subject(log))
    last = (await jetstream.stream_info(stream)).state.last_seq
    found = [await jetstream.get_msg(stream, n) for n in range(1, last + 1)]
    await client.close()
    return [dict(each.headers or {}) for each in found]


async def test_records_are_stored_as_one_where_a_stream_allows_it(server: NatsServer) -> None:
    """Also one that an older release made: it is brought up to date. Where somebody forbids it,
    they are stored one by one."""
    bus = await _connect(server.url)
    name = fresh_log()
    log = await bus.input_log(name)
    info = await bus._jetstream.call(f"STREAM.INFO.{stream_name(input_subject(name))}")
    config = info["config"]
    batches = []
    for n, allowed in enumerate((True, False, True)):
        if allowed:
            log = await bus.input_log(name)
        else:
            config["allow_atomic"] = False
            await bus._jetstream.call(f"STREAM.UPDATE.{config['name']}", config)
        stored = await log.append_together(_together(range(3 * n, 3 * n + 3)))
        assert [each.position for each in stored] == list(range(3 * n + 1, 3 * n + 4))
        batches.append({each.get("Nats-Batch-Id") for each in (await _stored(server, name))[-3:]})
    assert [len(each) for each in batches] == [1, 1, 1]
    assert [None in each for each in batches] == [False, True, False]
    await bus.close()


async def test_a_lost_acknowledgement_of_many_is_made_good(server: NatsServer) -> None:
    """They were stored, their answer lost: each is found, none is stored twice."""
    async with Proxy(server.port) as proxy:
        bus = await _through(server, proxy)
        log = await bus.input_log(fresh_log())
        await log.append(one_event(-1))
        proxy.swallow_answers = True
        appending = asyncio.create_task(log.append_together(_together(range(40))))
        await proxy.swallowed(b'"count":40')
        proxy.swallow_answers = False
        proxy.cut()
        appended = await asyncio.wait_for(appending, PATIENCE_S)
        assert [each.position for each in appended] == list(range(2, 42))
        assert await log.bounds() == (1, 41)
        await bus.close()


async def test_cuts_among_many_neither_lose_nor_repeat_nor_reorder(server: NatsServer) -> None:
    """The connection breaks again and again, wherever the records are then."""
    async with Proxy(server.port) as proxy:
        bus = await _through(server, proxy)
        log = await bus.input_log(fresh_log())

        async def cuts() -> None:
            for n in range(1_000):
                await asyncio.sleep(0.003 * (n % 7))
                proxy.cut()
                await eventually(bus.healthy)

        cutting = asyncio.create_task(cuts())
        positions: list[int] = []
        for begin in range(0, 900, 100):
            records = _together(range(begin, begin + 100))
            stored = await asyncio.wait_for(log.append_together(records), PATIENCE_S)
            positions += [each.position for each in stored]
        cutting.cancel()
        await asyncio.gather(cutting, return_exceptions=True)
        assert positions == list(range(1, 901))
        entries = await read_on(log.read, 0, 900)
        assert [entry.record for entry in entries] == [one_event(n) for n in range(900)]
        await bus.close()


async def test_a_lost_acknowledgement_of_an_output_is_recognised(server: NatsServer) -> None:
    """The append stands at the tail as our own: accepted, and the next one goes behind it."""
    async with Proxy(server.port) as proxy:
        bus = await _through(server, proxy)
        log = await bus.output_log(fresh_log())
        await log.append(ClaimRecord(1, "a", 5), expected_sequence=0)
        proxy.swallow_answers = True
        appending = asyncio.create_task(log.append(rows(1, 1), expected_sequence=1))
        await proxy.swallowed(ACKNOWLEDGED)
        proxy.swallow_answers = False
        proxy.cut()
        assert await asyncio.wait_for(appending, PATIENCE_S) == Accepted(2)
        assert await log.append(rows(1, 2), expected_sequence=2) == Accepted(3)
        await bus.close()


async def test_a_lost_acknowledgement_under_a_new_claim_is_a_refusal(server: NatsServer) -> None:
    """Somebody claimed on top of our append: we are told to step down, and what stands."""
    async with Proxy(server.port) as proxy:
        old, new = await _through(server, proxy), await _connect(server.url)
        name = fresh_log()
        log, successor = await old.output_log(name), await new.output_log(name)
        await log.append(ClaimRecord(1, "old", 5), expected_sequence=0)
        proxy.swallow_answers = True
        appending = asyncio.create_task(log.append(rows(1, 1), expected_sequence=1))
        await proxy.swallowed(ACKNOWLEDGED)
        proxy.refuse = True
        proxy.cut()
        tail = await successor.tail()
        assert tail == OutputTail(2, 1, OutputId(1, 0))
        await successor.append(ClaimRecord(2, "new", 6), expected_sequence=2)
        proxy.swallow_answers = proxy.refuse = False
        outcome = await asyncio.wait_for(appending, PATIENCE_S)
        assert outcome == Refused(OutputTail(3, 2, OutputId(1, 0)))
        await old.close()
        await new.close()


async def test_a_paused_server_ends_in_unavailable_then_the_tail_tells(
    server: NatsServer,
) -> None:
    """After the time limit the outcome is unknown; the tail, once it can be read, decides."""
    bus = await _connect(server.url, with_limits(publish_timeout_ms=IMPATIENT_MS))
    log = await bus.output_log(fresh_log())
    await log.append(ClaimRecord(1, "a", 5), expected_sequence=0)
    with paused(server.pid), pytest.raises(UnavailableError):
        await log.append(rows(1, 1), expected_sequence=1)

    async def landed() -> bool:
        try:
            return (await log.tail()).sequence > 1
        except UnavailableError:
            return False

    await eventually(landed)
    assert await log.tail() == OutputTail(2, 1, OutputId(1, 0))
    assert isinstance(await log.append(rows(1, 1), expected_sequence=1), Refused)
    assert await log.append(rows(1, 2), expected_sequence=2) == Accepted(3)
    await bus.close()


async def test_what_was_there_before_is_read_over_a_slow_line(server: NatsServer) -> None:
    """A reader whose time is up before the first record can have come waits for it: an empty
    answer says that nothing is there."""
    async with Proxy(server.port) as proxy:
        bus, far = await _connect(server.url), await _through(server, proxy)
        name = fresh_log()
        log, reader = await bus.input_log(name), await far.input_log(name)
        await log.append(one_event(1))
        proxy.delay_ms = 60
        for wait_ms in (0, 380, 410, 440):  # a new consumer takes 360, the record another 120
            assert [e.position for e in await reader.read(0, **READ, wait_ms=wait_ms)] == [1]
        proxy.delay_ms = 0
        await far.close()
        await bus.close()


async def test_subscriptions_outlive_a_restart(server: NatsServer) -> None:
    """A listener hears what is published after the server came back."""
    bus = await _connect(server.url)
    subscription = await bus.topics.subscribe("t.>")
    await server.restart()
    await eventually(bus.healthy)
    await bus.topics.publish("t.1", b"x")
    async with asyncio.timeout(PATIENCE_S):
        async for subject, payload in subscription:
            assert (subject, payload) == ("t.1", b"x")
            break
    await bus.close()


async def test_what_fails_to_answer_questions_is_not_asked(server: NatsServer) -> None:
    """The server may have taken it, and say so too late: nobody could close it."""
    bus, other = await _connect(server.url), await _connect(server.url)

    async def too_late(_: bytes) -> bytes:
        return b"nobody knows of me"

    async def instead(_: bytes) -> bytes:
        return b"here"

    with paused(server.pid), pytest.raises(UnavailableError):
        await bus.topics.respond("q.1", too_late)
    await eventually(bus.healthy)
    with pytest.raises(UnavailableError, match="nobody answers"):
        await other.topics.request("q.1", b"?", timeout_ms=PATIENCE_MS)
    await bus.topics.respond("q.1", instead)
    assert await other.topics.request("q.1", b"?", timeout_ms=PATIENCE_MS) == b"here"
    await bus.close()
    await other.close()


async def test_ingress_outlives_a_kill(server: NatsServer) -> None:
    """What was accepted at the door and not acknowledged comes after the restart."""
    bus = await _connect(server.url, with_limits(ingress_redelivery_ms=700))
    await bus.ingress.publish("A", "S", b"1")
    assert len(await bus.ingress.read(max_messages=10, wait_ms=PATIENCE_MS)) == 1
    await server.kill()
    await server.start()
    await bus.ingress.publish("A", "S", b"2")
    got: set[bytes] = set()
    async with asyncio.timeout(PATIENCE_S):
        while got != {b"1", b"2"}:
            for message in await bus.ingress.read(max_messages=10, wait_ms=1000):
                got.add(message.payload)
                await message.acknowledge()
    await bus.close()


async def test_a_receiver_that_leaves_gives_back_what_it_has_not_read(server: NatsServer) -> None:
    """Others get it at once, not after the time for redelivery."""
    leaving, staying = await _connect(server.url), await _connect(server.url)
    for i in range(5):
        await staying.ingress.publish("A", "S", str(i).encode())
    (first,) = await leaving.ingress.read(max_messages=1, wait_ms=PATIENCE_MS)
    await first.acknowledge()
    for _ in range(2):
        assert await leaving.ingress.read(max_messages=1, wait_ms=PATIENCE_MS)
    await leaving.close()
    got: list[bytes] = []
    async with asyncio.timeout(PATIENCE_S):
        while len(got) < 2:
            for message in await staying.ingress.read(max_messages=10, wait_ms=1000):
                got.append(message.payload)
                await message.acknowledge()
    assert got == [b"3", b"4"]
    await staying.close()


async def test_a_receiver_that_leaves_gives_back_what_was_on_its_way(server: NatsServer) -> None:
    """What was sent to it while it left, too."""
    staying = await _connect(server.url)
    got: list[bytes] = []
    for turn in range(1, 11):
        leaving = await _connect(server.url)
        # Nothing is there; what comes next is sent to who has asked.
        assert await leaving.ingress.read(max_messages=100, wait_ms=10) == []
        sending = [
            asyncio.create_task(staying.ingress.publish("A", "S", b"%d" % i)) for i in range(50)
        ]
        await asyncio.wait(sending, return_when=asyncio.FIRST_COMPLETED)
        await leaving.close()
        await asyncio.gather(*sending)
        async with asyncio.timeout(PATIENCE_S):
            while len(got) < turn * 50:
                for message in await staying.ingress.read(max_messages=100, wait_ms=1000):
                    got.append(message.payload)
                    await message.acknowledge()
    assert Counter(got) == {b"%d" % i: 10 for i in range(50)}
    await staying.close()


async def test_reading_from_a_server_that_stays_away_is_an_error(server: NatsServer) -> None:
    """The reader is told when its time is up, and goes on once the server is back."""
    bus = await _connect(server.url, with_limits(publish_timeout_ms=IMPATIENT_MS))
    log = await bus.input_log(fresh_log())
    await log.append(one_event(1))
    await server.kill()
    assert not await bus.healthy()
    with pytest.raises(UnavailableError):
        await log.read(0, **READ, wait_ms=200)
    with pytest.raises(UnavailableError):
        await log.append(one_event(2))
    await server.start()
    await eventually(bus.healthy)
    assert len(await read_on(log.read, 0, 1)) == 1
    await bus.close()


async def test_a_wrong_password_is_told_at_once(server: NatsServer) -> None:
    """Not retried for ever, and not mistaken for a server that is away."""
    with pytest.raises(BusRefusedError):
        await _connect(server.url.replace(server.password, "wrong"))


async def test_no_server_is_unavailable_within_the_limit() -> None:
    """Connecting gives up in time."""
    with pytest.raises(UnavailableError):
        await _connect(f"nats://127.0.0.1:{free_port()}", with_limits(connect_timeout_ms=300))


async def test_many_logs_take_no_room_before_they_are_written(server: NatsServer) -> None:
    """The byte limit of a log is not set aside on the server's disk."""
    bus = await _connect(server.url, with_limits(max_log_bytes=500_000_000_000))
    for _ in range(20):
        log = await bus.output_log(fresh_log())
    assert await log.append(rows(1, 1), expected_sequence=0) == Accepted(1)
    await bus.close()


async def test_a_connection_that_was_refused_for_a_while_comes_back(server: NatsServer) -> None:
    """The server has another password for some time: subscriptions and appends go on after it."""
    bus = await _connect(server.url)
    log = await bus.input_log(fresh_log())
    subscription = await bus.topics.subscribe("t.>")
    file = server.directory / "password"
    right = file.read_text()
    await server.stop()
    file.write_text("another")
    await server.start()
    for _ in range(10):
        assert not await bus.healthy()
        await asyncio.sleep(0.05)
    await server.stop()
    file.write_text(right)
    await server.start()
    await eventually(bus.healthy)
    assert (await log.append(one_event(1))).position == 1
    await bus.topics.publish("t.1", b"x")
    async with asyncio.timeout(PATIENCE_S):
        async for subject, _ in subscription:
            assert subject == "t.1"
            break
    await bus.close()


async def test_closing_does_not_wait_for_a_server_that_hangs(server: NatsServer) -> None:
    """Also with much on its way."""
    bus = await _connect(server.url, with_limits(publish_timeout_ms=IMPATIENT_MS))
    log = await bus.input_log(fresh_log())
    with paused(server.pid):
        appends = [asyncio.create_task(log.append(one_event("x" * 900_000))) for _ in range(20)]
        done = await asyncio.wait_for(
            asyncio.gather(*appends, return_exceptions=True), 2 * PATIENCE_S
        )
        assert all(isinstance(each, UnavailableError) for each in done)
        await asyncio.wait_for(bus.close(), PATIENCE_S)
