"""The output log takes a record only behind the expected one: two writers cannot both win."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from lockstep.bus import Accepted, LogGoneError, OutputTail, RecordTooLargeError, Refused
from lockstep.events import (
    ClaimRecord,
    Generation,
    Life,
    Operation,
    OutputId,
    OutputRecord,
    OutputRow,
    UnavailableError,
)
from tests.contract.bus.carriers import World, fresh_log, rows
from tests.contract.patience import PATIENCE_MS, PATIENCE_S, read_on

READ = {"max_records": 100, "max_bytes": 10_000_000}


async def test_an_empty_log_has_an_empty_tail(world: World) -> None:
    """Sequence 0, epoch 0, no identity."""
    log = await world.bus.output_log(fresh_log())
    assert await log.tail() == OutputTail(0, 0, None)


async def test_the_tail_tells_epoch_and_last_identity(world: World) -> None:
    """After a claim and rows; a later claim keeps the last identity in sight."""
    name = fresh_log()
    log, other = await world.bus.output_log(name), await world.other.output_log(name)
    assert await log.append(ClaimRecord(1, "a", 5), expected_sequence=0) == Accepted(1)
    assert await other.tail() == OutputTail(1, 1, None)
    assert await log.append(rows(1, 3, 2), expected_sequence=1) == Accepted(2)
    assert await other.tail() == OutputTail(2, 1, OutputId(4, 0))
    assert await other.append(ClaimRecord(2, "b", 6), expected_sequence=2) == Accepted(3)
    assert await log.tail() == OutputTail(3, 2, OutputId(4, 0))


async def test_the_old_leader_is_refused_after_a_claim(world: World) -> None:
    """A paused writer learns from the log itself that somebody else has claimed it."""
    name = fresh_log()
    old, new = await world.bus.output_log(name), await world.other.output_log(name)
    await old.append(ClaimRecord(1, "old", 5), expected_sequence=0)
    await old.append(rows(1, 1), expected_sequence=1)
    await new.append(ClaimRecord(2, "new", 6), expected_sequence=2)
    outcome = await old.append(rows(1, 2), expected_sequence=2)
    assert outcome == Refused(OutputTail(3, 2, OutputId(1, 0)))
    assert await new.append(rows(2, 2), expected_sequence=3) == Accepted(4)


async def test_of_two_claims_one_wins(world: World) -> None:
    """Concurrent claims on the same tail: exactly one is accepted."""
    name = fresh_log()
    logs = [await world.bus.output_log(name), await world.other.output_log(name)]
    outcomes = await asyncio.gather(
        *(log.append(ClaimRecord(1, f"n{i}", 5), expected_sequence=0) for i, log in enumerate(logs))
    )
    assert sorted(type(each).__name__ for each in outcomes) == ["Accepted", "Refused"]
    assert (await logs[0].tail()).sequence == 1


async def test_a_stale_epoch_is_refused_at_the_right_sequence(world: World) -> None:
    """Knowing where the log ends is not enough: the epoch must not be older than the log's."""
    log = await world.bus.output_log(fresh_log())
    await log.append(ClaimRecord(5, "a", 5), expected_sequence=0)
    assert isinstance(await log.append(rows(4, 1), expected_sequence=1), Refused)
    assert isinstance(await log.append(ClaimRecord(5, "b", 5), expected_sequence=1), Refused)
    assert await log.append(rows(5, 1), expected_sequence=1) == Accepted(2)


async def test_the_log_goes_over_to_a_later_generation_and_never_back(world: World) -> None:
    """The tail bears it whatever follows; who claims for an earlier state is refused, whoever it is
    and whatever epoch it has."""
    name = fresh_log()
    log, other = await world.bus.output_log(name), await world.other.output_log(name)
    first, second = Generation(Life(100, 1), 0), Generation(Life(100, 2), 7)
    await log.append(ClaimRecord(1, "a", 5, first), expected_sequence=0)
    await log.append(rows(1, 7), expected_sequence=1)
    assert await other.tail() == OutputTail(2, 1, OutputId(7, 0), first)
    assert await log.append(ClaimRecord(1, "a", 6, second), expected_sequence=2) == Accepted(3)
    assert await log.append(rows(1, 8), expected_sequence=3) == Accepted(4)
    tail = OutputTail(4, 1, OutputId(8, 0), second)
    assert await other.tail() == tail
    assert await other.append(ClaimRecord(2, "b", 7, first), expected_sequence=4) == Refused(tail)
    elsewhere = ClaimRecord(2, "b", 7, Generation(Life(100, 2), 8))
    assert await other.append(elsewhere, expected_sequence=4) == Refused(tail)
    assert await other.append(ClaimRecord(2, "b", 8, second), expected_sequence=4) == Accepted(5)


async def test_a_generation_does_not_begin_in_front_of_what_is_published(world: World) -> None:
    """Rows of the state before would stand behind its beginning."""
    log = await world.bus.output_log(fresh_log())
    await log.append(ClaimRecord(1, "a", 5, Generation(Life(100, 1), 0)), expected_sequence=0)
    await log.append(rows(1, 7), expected_sequence=1)
    claim = ClaimRecord(2, "b", 6, Generation(Life(100, 2), 6))
    assert isinstance(await log.append(claim, expected_sequence=2), Refused)


async def test_an_epoch_is_claimed_once_unless_the_state_changes(world: World) -> None:
    """The same generation needs a new epoch; a later one does not."""
    log = await world.bus.output_log(fresh_log())
    await log.append(ClaimRecord(1, "a", 5, Generation(Life(100, 1), 0)), expected_sequence=0)
    again = ClaimRecord(1, "b", 5, Generation(Life(100, 1), 0))
    assert isinstance(await log.append(again, expected_sequence=1), Refused)
    assert isinstance(await log.append(ClaimRecord(1, "b", 5), expected_sequence=1), Refused)


async def test_an_identity_stands_once(world: World) -> None:
    """Rows at or before the last identity are refused, whoever brings them."""
    name = fresh_log()
    log = await world.bus.output_log(name)
    await log.append(rows(1, 4, 3), expected_sequence=0)
    outcome = await log.append(rows(1, 6, 2), expected_sequence=1)
    assert outcome == Refused(OutputTail(1, 1, OutputId(6, 0)))
    assert await log.append(rows(1, 7), expected_sequence=1) == Accepted(2)


async def test_records_come_back_in_order(world: World) -> None:
    """Claims and rows of several streams, operations included."""
    name = fresh_log()
    log = await world.bus.output_log(name)
    claim = ClaimRecord(1, "näme", 5)
    record = OutputRecord(
        1,
        (
            OutputRow(OutputId(1, 0), "A", 3, ("x", 1)),
            OutputRow(OutputId(1, 1), "T", 3, (2.5,), Operation.UPSERT),
            OutputRow(OutputId(1, 2), "A", 4, ("y", None)),
            OutputRow(OutputId(2, 0), "T", 4, (2.5,), Operation.DELETE),
        ),
    )
    await log.append(claim, expected_sequence=0)
    await log.append(record, expected_sequence=1)
    reader = await world.other.output_log(name)
    entries = await read_on(reader.read, 0, 2)
    assert [(e.sequence, e.record) for e in entries] == [(1, claim), (2, record)]
    assert await reader.read(2, **READ, wait_ms=20) == []


async def test_a_record_over_the_limit_is_appended_in_pieces(world: World) -> None:
    """All rows stand, in order, and the outcome tells the last sequence."""
    name = fresh_log()
    log = await world.bus.output_log(name)
    record = replace(rows(1, 1, 40, "x" * 100_000), settled=45)
    outcome = await log.append(record, expected_sequence=0)
    assert isinstance(outcome, Accepted)
    assert outcome.sequence > 1
    assert await log.tail() == OutputTail(outcome.sequence, 1, OutputId(40, 0))
    positions: list[int] = []
    settled: list[int] = []
    for entry in await read_on(log.read, 0, outcome.sequence):
        assert isinstance(entry.record, OutputRecord)
        positions += [row.id.position for row in entry.record.rows]
        settled.append(entry.record.settled)
    assert positions == list(range(1, 41))
    # All is there with the last piece, and not before.
    assert (set(settled[:-1]), settled[-1]) == ({0}, 45)


async def test_a_single_row_over_the_limit_is_an_error(world: World) -> None:
    """It cannot be cut; the log is as before."""
    log = await world.bus.output_log(fresh_log())
    with pytest.raises(RecordTooLargeError):
        await log.append(rows(1, 1, 1, "x" * 1_100_000), expected_sequence=0)
    assert await log.append(rows(1, 1), expected_sequence=0) == Accepted(1)


async def test_trimming_keeps_the_tail(world: World) -> None:
    """Even trimmed to its end a log knows what was published last."""
    log = await world.bus.output_log(fresh_log())
    for i in range(4):
        await log.append(rows(1, i + 1), expected_sequence=i)
    whole = await log.held()
    await log.trim(2)
    rest = await log.held()
    assert (whole.records, rest.records) == (4, 2)
    assert 0 < rest.size_bytes < whole.size_bytes
    assert [e.sequence for e in await read_on(log.read, 0, 2)] == [3, 4]
    await log.trim(99)
    assert await log.tail() == OutputTail(4, 1, OutputId(4, 0))
    assert [e.sequence for e in await read_on(log.read, 0, 1)] == [4]
    assert await log.append(rows(1, 5), expected_sequence=4) == Accepted(5)


async def test_a_follower_sees_records_as_they_come(world: World) -> None:
    """A standby that waits at the end is woken by each append."""
    name = fresh_log()
    log, standby = await world.bus.output_log(name), await world.other.output_log(name)
    for i in range(3):
        reading = asyncio.create_task(standby.read(i, **READ, wait_ms=10 * PATIENCE_MS))
        await log.append(rows(1, i + 1), expected_sequence=i)
        (entry,) = await asyncio.wait_for(reading, PATIENCE_S)
        assert entry.sequence == i + 1


async def test_a_log_that_is_not_there_can_be_told_without_making_it(world: World) -> None:
    """Before it is made, while it is there, and once it was removed."""
    name = fresh_log()
    with pytest.raises(LogGoneError):
        await world.bus.output_log(name, make=False)
    made = await world.bus.output_log(name)
    assert await made.append(rows(1, 1), expected_sequence=0) == Accepted(1)
    there = await world.other.output_log(name, make=False)
    assert (await there.tail()).sequence == 1
    await world.bus.remove_logs(name)
    with pytest.raises(LogGoneError):
        await world.other.output_log(name, make=False)
    assert await world.bus.logs(name.app) == []


async def test_a_log_that_was_removed_says_so_to_those_who_have_it_open(world: World) -> None:
    """Whoever removes what is left over does so beside others who look at it."""
    name = fresh_log()
    log = await world.bus.output_log(name)
    assert await log.append(rows(1, 1), expected_sequence=0) == Accepted(1)
    open_elsewhere = await world.other.output_log(name, make=False)
    assert (await open_elsewhere.tail()).sequence == 1
    await world.bus.remove_logs(name)
    asked = (open_elsewhere.tail(), open_elsewhere.held(), open_elsewhere.trim(1))
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert [isinstance(one, UnavailableError) for one in answers] == [True] * 3, answers
