"""The input log: durable order, dedup ids, reading by position, trimming, limits."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pyarrow as pa
import pytest

from lockstep.bus import Coded, LogFullError, LogGoneError, RecordTooLargeError
from lockstep.events import Attribute, AttributeType, InputEvent, StreamSchema, TickRecord
from lockstep.events.codec import decode_columns, encode_batch, encode_record
from lockstep.events.columns import EventColumns
from lockstep.events.records import EventsRecord
from tests.contract.bus.carriers import World, fresh_log, one_event, with_limits
from tests.contract.patience import PATIENCE_MS, PATIENCE_S, read_on

READ = {"max_records": 100, "max_bytes": 10_000_000}


async def test_positions_count_from_one_in_order(world: World) -> None:
    """Appends get 1, 2, 3 and another participant reads them in that order."""
    name = fresh_log()
    log = await world.bus.input_log(name)
    records = [one_event(i) for i in range(3)]
    assert [(await log.append(each)).position for each in records] == [1, 2, 3]
    entries = await read_on((await world.other.input_log(name)).read, 0, 3)
    assert [(each.position, each.record) for each in entries] == list(
        zip([1, 2, 3], records, strict=True)
    )


async def test_concurrent_appends_keep_the_order_of_their_calls(world: World) -> None:
    """Many appends under way at once stand in the order in which they were begun."""
    log = await world.bus.input_log(fresh_log())
    done = await asyncio.gather(*(log.append(one_event(i)) for i in range(200)))
    assert [each.position for each in done] == list(range(1, 201))
    entries = await read_on(log.read, 0, 200)
    assert [entry.record for entry in entries] == [one_event(i) for i in range(200)]


async def test_equal_dedup_ids_are_stored_once(world: World) -> None:
    """The second append of an id tells the first one's position, from whatever participant."""
    name = fresh_log()
    first, second = await world.bus.input_log(name), await world.other.input_log(name)
    stored = await first.append(one_event(1), dedup_id="a b\n1")
    again = await second.append(one_event(1), dedup_id="a b\n1")
    other = await second.append(one_event(2), dedup_id="a b\n2")
    assert (stored.position, stored.duplicate) == (1, False)
    assert (again.position, again.duplicate) == (1, True)
    assert (other.position, other.duplicate) == (2, False)


def together(*values: int) -> list[Coded]:
    """Records whose ids are their values."""
    return [Coded(encode_record(one_event(each)), f"id {each}") for each in values]


async def test_what_is_appended_together_stands_in_order(world: World) -> None:
    """More than are stored as one anywhere, while others append, too."""
    name = fresh_log()
    log, other = await world.bus.input_log(name), await world.other.input_log(name)
    appending = asyncio.create_task(log.append_together(together(*range(600))))
    for n in range(1, 20):
        await other.append(one_event(-n), dedup_id=f"other {n}")
    stored = await appending
    assert not any(each.duplicate for each in stored)
    entries = await read_on(log.read, 0, 619)
    places = {each.record: each.position for each in entries}
    assert [each.position for each in stored] == [places[one_event(n)] for n in range(600)]
    assert [each.position for each in stored] == sorted(each.position for each in stored)


async def test_of_what_is_appended_together_again_the_rest_is_stored(world: World) -> None:
    """The first ones stand: they are told as there, and the others follow."""
    name = fresh_log()
    first, second = await world.bus.input_log(name), await world.other.input_log(name)
    await first.append_together(together(1, 2))
    again = await second.append_together(together(1, 2, 3, 4))
    assert [(each.position, each.duplicate) for each in again] == [
        (1, True), (2, True), (3, False), (4, False),
    ]  # fmt: skip
    assert all(each.duplicate for each in await first.append_together(together(1, 2, 3, 4)))
    assert await first.bounds() == (1, 4)
    assert list(await first.append_together([])) == []


async def test_records_without_id_are_never_merged(world: World) -> None:
    """Equal records without an id are different events."""
    log = await world.bus.input_log(fresh_log())
    assert [(await log.append(one_event(1))).position for _ in range(3)] == [1, 2, 3]


async def test_ticks_and_chunks_survive(world: World) -> None:
    """A tick, chunks of several events, timestamps and ids come back as they were."""
    log = await world.bus.input_log(fresh_log())
    events = tuple(InputEvent(t, ("x", None, True), f"id-{t}") for t in (1, 2, 3))
    record = EventsRecord("S", 9, (events[:2], events[2:]), has_timestamps=True)
    await log.append(record)
    await log.append(TickRecord(17))
    entries = await read_on(log.read, 0, 2)
    assert [entry.record for entry in entries] == [record, TickRecord(17)]


async def test_encoded_columns_travel_without_objects(world: World) -> None:
    """An Arrow batch goes in encoded and comes out as columns in the schema's types."""
    schema = StreamSchema("S", (Attribute("n", AttributeType.INT),))
    batch = pa.record_batch({"n": pa.array(range(1000), pa.int32())})
    log = await world.bus.input_log(fresh_log())
    await log.append_encoded(encode_batch(schema, batch, [400, 600], 5))
    (entry,) = await log.read_encoded(0, **READ, wait_ms=PATIENCE_MS)
    columns = decode_columns(entry.payload)
    assert isinstance(columns, EventColumns)
    assert columns.batch.equals(batch)
    assert columns.chunk_lengths.tolist() == [400, 600]


async def test_read_starts_anywhere_and_again(world: World) -> None:
    """Any position can be read from, forwards and backwards, with the same reader."""
    log = await world.bus.input_log(fresh_log())
    for i in range(10):
        await log.append(one_event(i))
    for after in (4, 7, 0, 9, 2):
        entries = await read_on(log.read, after, 10 - after)
        assert [entry.position for entry in entries] == list(range(after + 1, 11))


async def test_read_without_waiting_sees_what_is_there(world: World) -> None:
    """With no time to wait, what was appended before is there; behind the end there is nothing."""
    name = fresh_log()
    log, reader = await world.bus.input_log(name), await world.other.input_log(name)
    assert await reader.read(0, **READ, wait_ms=0) == []
    for i in range(5):
        await log.append(one_event(i))
        entries = await reader.read(i, **READ, wait_ms=0)
        assert [entry.position for entry in entries] == [i + 1]


async def test_read_waits_for_the_first_record(world: World) -> None:
    """A reader at the end gets a new record as it comes, long before its time is up."""
    name = fresh_log()
    log, reader = await world.bus.input_log(name), await world.other.input_log(name)
    reading = asyncio.create_task(reader.read(0, **READ, wait_ms=10 * PATIENCE_MS))
    await log.append(one_event(1))
    entries = await asyncio.wait_for(reading, PATIENCE_S)
    assert [entry.position for entry in entries] == [1]


async def test_read_returns_nothing_when_the_time_is_up(world: World) -> None:
    """An empty answer, not an error."""
    log = await world.bus.input_log(fresh_log())
    assert await log.read(0, **READ, wait_ms=30) == []


async def test_read_keeps_to_its_limits(world: World) -> None:
    """No more records than asked for, no more bytes than asked for, but at least one."""
    log = await world.bus.input_log(fresh_log())
    for i in range(20):
        await log.append(one_event("x" * 1000 + str(i)))
    few = await read_on(log.read, 0, 7, max_records=7)
    assert [entry.position for entry in few] == [1, 2, 3, 4, 5, 6, 7]
    bytes_limited = await log.read(7, max_records=100, max_bytes=4_000, wait_ms=PATIENCE_MS)
    assert 1 <= len(bytes_limited) <= 3
    after = bytes_limited[-1].position
    one = await log.read(after, max_records=100, max_bytes=1, wait_ms=PATIENCE_MS)
    assert [entry.position for entry in one] == [after + 1]
    rest = await read_on(log.read, after + 1, 19 - after)
    assert [entry.position for entry in rest] == list(range(after + 2, 21))


async def test_two_readers_do_not_disturb_each_other(world: World) -> None:
    """Opened twice, a log is read twice, each at its own pace."""
    name = fresh_log()
    log = await world.bus.input_log(name)
    slow, fast = await world.bus.input_log(name), await world.bus.input_log(name)
    for i in range(6):
        await log.append(one_event(i))
    assert len(await read_on(fast.read, 0, 6)) == 6
    assert len(await read_on(slow.read, 0, 2, max_records=2)) == 2
    await log.append(one_event(6))
    assert [e.position for e in await read_on(fast.read, 6, 1)] == [7]
    assert [e.position for e in await read_on(slow.read, 2, 5)] == [3, 4, 5, 6, 7]


async def test_bounds_and_trimming(world: World) -> None:
    """Trimmed positions are gone, the others keep their numbers, and counting goes on."""
    log = await world.bus.input_log(fresh_log())
    assert await log.bounds() == (1, 0)
    for i in range(5):
        await log.append(one_event(i))
    assert await log.bounds() == (1, 5)
    await log.trim(3)
    assert await log.bounds() == (4, 5)
    entries = await read_on(log.read, 0, 2)
    assert [entry.position for entry in entries] == [4, 5]
    await log.trim(99)
    assert await log.bounds() == (6, 5)
    assert (await log.append(one_event(6))).position == 6


async def test_a_large_record_travels_whole(world: World) -> None:
    """Just under the limit it is one record like any other."""
    log = await world.bus.input_log(fresh_log())
    record = one_event("y" * 990_000)
    await log.append(record)
    (entry,) = await log.read(0, max_records=5, max_bytes=1, wait_ms=PATIENCE_MS)
    assert entry.record == record


async def test_a_record_over_the_limit_is_refused(world: World) -> None:
    """The error tells size and limit, and the next record goes through."""
    log = await world.bus.input_log(fresh_log())
    with pytest.raises(RecordTooLargeError) as caught:
        await log.append(one_event("z" * 1_000_001))
    assert caught.value.limit_bytes == 1_000_000 < caught.value.size_bytes
    assert (await log.append(one_event(1))).position == 1


async def test_a_full_log_refuses_until_it_is_trimmed(world: World) -> None:
    """Nothing is forgotten to make room."""
    bus = await world.carrier.connect(with_limits(max_log_bytes=300_000))
    log = await bus.input_log(fresh_log())
    record = one_event("x" * 100_000)
    for _ in range(2):
        await log.append(record)
    with pytest.raises(LogFullError):
        await log.append(record)
    assert await log.bounds() == (1, 2)
    await log.trim(1)
    assert (await log.append(record)).position == 3


async def test_removed_logs_start_anew(world: World) -> None:
    """After removal the name is free and empty again."""
    name = fresh_log()
    log = await world.bus.input_log(name)
    await log.append(one_event(1))
    await world.bus.remove_logs(name)
    await world.bus.remove_logs(name)
    assert await (await world.bus.input_log(name)).bounds() == (1, 0)


async def test_a_removed_log_takes_nothing_and_is_not_brought_back(world: World) -> None:
    """By who has it open, and by who does not want to make it; only making it makes it."""
    name = fresh_log()
    with pytest.raises(LogGoneError):
        await world.bus.input_log(name, make=False)
    await world.bus.input_log(name)
    # It tries for so long before it looks whether the log is there at all.
    hasty = await world.carrier.connect(with_limits(publish_timeout_ms=2_000))
    there = await hasty.input_log(name, make=False)
    await there.append(one_event(1))
    await world.bus.remove_logs(name)
    with pytest.raises(LogGoneError):
        await there.append(one_event(2))
    with pytest.raises(LogGoneError):
        await world.other.input_log(name, make=False)
    assert await world.bus.logs(name.app) == []


async def test_an_apps_logs_are_named_by_when_they_began(world: World) -> None:
    """Logs of an earlier time are others: they go, and are written to, apart. Other apps' are not
    listed."""
    name, other = fresh_log(), fresh_log()
    assert await world.bus.logs(name.app) == []
    old, new = replace(name, since_ms=1_700_000_000_000), replace(name, since_ms=1_800_000_000_000)
    for one in (new, old, name, other):
        await world.bus.input_log(one)
    await world.bus.output_log(new)
    late = await world.other.input_log(old)
    assert await world.bus.logs(name.app) == [name, old, new]
    of_all = [one for one in await world.bus.logs(None) if one.app in (name.app, other.app)]
    assert of_all == sorted([name, old, new, other])
    await late.append(one_event(1))
    assert await (await world.bus.input_log(new)).bounds() == (1, 0)
    await world.bus.remove_logs(old)
    assert await world.other.logs(name.app) == [name, new]
    await world.bus.remove_logs(new)
    await world.bus.remove_logs(name)
    assert await world.bus.logs(name.app) == []
    await world.bus.output_log(name)
    assert await world.bus.logs(name.app) == [name]
    assert await world.bus.logs(name.app, inputs=True) == []
    assert name not in await world.bus.logs(None, inputs=True)
    assert other in await world.bus.logs(None, inputs=True)
