"""Several output logs of several layouts, read as one log whose sequence is the position."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager

import pytest

from lockstep.bus import LogGoneError, OutputEntry
from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.clock import VirtualClock
from lockstep.control import AppView, Gathering, MergedOutputs, group_and_layout
from lockstep.control.layouts import layouts_of
from lockstep.control.merging import merged
from lockstep.events import OutputRecord, OutputRow
from lockstep.events.outputs import in_columns
from tests.fleets import OldLists, Unit, announce, fleet_view, row, single_view, units_of

LAYOUTS = ((2, 4, 0), (3, 6, 30), (4, 3, 55))
"""(number, partitions, behind which position it begins)."""
END = 80


class World:
    """A bus, its clock, and readers that end with it."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.bus = MemoryBus(MemoryCarrier(self.clock))
        self._tasks: list[asyncio.Task[None]] = []

    def reader(self, view: AppView, entry_rows: int = 7, *, is_kept: bool = False) -> MergedOutputs:
        """Under way."""
        found = MergedOutputs(self.bus, view, self.clock, entry_rows=entry_rows, is_kept=is_kept)
        self._tasks.append(asyncio.create_task(found.run()))
        return found

    async def close(self) -> None:
        """Ends all readers; none of them may have failed."""
        for task in self._tasks:
            task.cancel()
        ended = await asyncio.gather(*self._tasks, return_exceptions=True)
        assert all(isinstance(one, asyncio.CancelledError) for one in ended)

    async def read(
        self, reader: MergedOutputs, after: int, up_to: int, says: Sequence[Unit] = ()
    ) -> list[OutputEntry]:
        """All entries until the position is reached, which these units say again and again that
        they have settled."""
        found: list[OutputEntry] = []
        for _ in range(1_000):
            if after >= up_to:
                return found
            entries = await reader.read(after, max_records=3, max_bytes=10**6, wait_ms=0)
            found += entries
            after = entries[-1].sequence if entries else after
            for unit in says:
                await unit.settle(up_to)
            await self.clock.advance_ms(100)
        raise AssertionError(f"stands at {after}")


@asynccontextmanager
async def world() -> AsyncIterator[World]:
    """Its readers end with the block."""
    made = World()
    try:
        yield made
    finally:
        await made.close()


def rows_in(entries: Sequence[OutputEntry]) -> list[OutputRow]:
    """Of all of them."""
    return [
        each
        for entry in entries
        if isinstance(entry.record, OutputRecord)
        for each in entry.record.rows
    ]


def views() -> Iterator[AppView]:
    """Of the layouts, one after the other."""
    former = None
    for number, partitions, _ in LAYOUTS:
        former = fleet_view({"up": 1, "down": partitions}, number, former)
        yield former


def drawn(rng: random.Random, units: int, begin: int, end: int) -> list[list[OutputRow]]:
    """Rows of each unit of a layout."""
    found: list[list[OutputRow]] = [[] for _ in range(units)]
    for position in range(begin + 1, end + 1):
        for unit, rows in enumerate(found):
            rows += [
                row(position, ordinal, rng.choice(("One", "Two", "Mid")), 100 * unit + ordinal)
                for ordinal in range(rng.choice((0, 0, 0, 1, 3)))
            ]
    return found


async def written(rng: random.Random, unit: Unit, rows: Sequence[OutputRow]) -> None:
    """In records that may end within a position."""
    at = 0
    while at < len(rows):
        count = rng.randint(1, 6)
        await unit.publish(rows[at : at + count])
        at += count


def given_out(drawn_rows: Sequence[Sequence[OutputRow]]) -> list[OutputRow]:
    """As one log would have them."""
    parts = [in_columns(rows) for rows in drawn_rows]
    return list(merged(parts, frozenset(("One", "Two"))))


async def fleet_of_layouts(
    made: World, rng: random.Random
) -> tuple[AppView, list[Unit], list[OutputRow]]:
    """All layouts have been: the present view and its units, and the rows up to END, as one log has
    them."""
    wanted: list[OutputRow] = []
    ends = [*(begin for _, _, begin in LAYOUTS[1:]), END]
    for view, (number, _, begin), end in zip(views(), LAYOUTS, ends, strict=True):
        units = units_of(made.bus, view)
        rows = drawn(rng, len(units), begin, end)
        for unit, own in zip(units, rows, strict=True):
            await unit.begin(number, begin)
            await written(rng, unit, own)
        wanted += given_out(rows)
    return view, units, wanted


async def settled(units: Sequence[Unit], position: int) -> None:
    """Said by all units."""
    for unit in units:
        await unit.settle(position)


@pytest.mark.parametrize("seed", range(3))
async def test_layouts_are_read_one_behind_the_other_from_any_position(seed: int) -> None:
    """4, then 6, then 3 partitions: the rows of one log, wherever the reading begins."""
    rng = random.Random(seed)
    async with world() as made:
        view, units, wanted = await fleet_of_layouts(made, rng)
        for after in (0, *rng.sample(range(1, END), 6), 29, 30, 31, 55):
            reader = made.reader(view)
            entries = await made.read(reader, after, END, units)
            assert rows_in(entries) == [one for one in wanted if one.id.position > after]
            sequences = [one.sequence for one in entries]
            assert sequences == sorted(set(sequences))


async def test_a_position_is_given_once_all_units_have_settled_it() -> None:
    """Late marks, and records that come before the marks that count them."""
    async with world() as made:
        view = fleet_view({"up": 1, "down": 2}, 1)
        units = units_of(made.bus, view)
        for unit in units:
            await unit.begin(1, 0)
        reader = made.reader(view)
        assert await reader.read(0, max_records=9, max_bytes=10**6, wait_ms=0) == []
        await made.clock.advance_ms(10)
        up, down, other = units
        await down.publish([row(1, 0, "One", 1), row(2, 0, "Two", 2)])
        await up.publish([row(2, 0, "Mid"), row(2, 1, "One", 3)])
        await settled([up, down], 2)
        await made.clock.advance_ms(10)
        assert await reader.read(0, max_records=9, max_bytes=10**6, wait_ms=0) == []
        await settled([other], 1)
        found = await made.read(reader, 0, 1)
        assert rows_in(found) == [row(1, 0, "One", 1)]
        await other.publish([row(2, 0, "One", 4)])
        await settled([other], 2)
        found = await made.read(reader, 1, 2)
        assert rows_in(found) == [
            row(2, 0, "One", 3), row(2, 1, "Two", 2), row(2, 2, "One", 4),
        ]  # fmt: skip


async def test_positions_without_rows_move_the_reader_when_time_is_up() -> None:
    """So that cursors move, and logs can be trimmed."""
    async with world() as made:
        view = fleet_view({"all": 2}, 1)
        units = units_of(made.bus, view)
        for unit in units:
            await unit.begin(1, 0)
        reader = made.reader(view)
        await reader.read(0, max_records=9, max_bytes=10**6, wait_ms=0)
        await made.clock.advance_ms(10)
        await settled(units, 9)
        await made.clock.advance_ms(10)
        (entry,) = await reader.read(0, max_records=9, max_bytes=10**6, wait_ms=0)
        assert (entry.sequence, rows_in([entry])) == (9, [])


async def test_who_reads_makes_no_log() -> None:
    """One of the present layout that is missing was lost, or is about to be made: nobody takes it
    for an empty one. What is missing of a former layout was removed."""
    async with world() as made:
        former = fleet_view({"all": 2}, 1)
        view = fleet_view({"all": 3}, 2, former)
        units = units_of(made.bus, view)
        await announce(made.bus, view)
        assert [one.number for one in await layouts_of(made.bus, view)] == [2]
        await made.bus.remove_logs(units[1].name)
        with pytest.raises(LogGoneError):
            await layouts_of(made.bus, view)
        gathering = Gathering(
            made.bus, [units[1].name], made.clock, after=0, max_rows=10, patience_ms=10**6
        )
        task = asyncio.create_task(gathering.run())
        await made.clock.advance_ms(1_000)
        assert task.done()
        with pytest.raises(LogGoneError):
            await task
        assert await made.bus.logs("A") == [units[0].name, units[2].name]


async def test_a_layout_is_left_when_the_next_one_has_begun() -> None:
    """A reader that has read the former one to its end without knowing that it was the end; its
    units need not say anything any more."""
    async with world() as made:
        former = fleet_view({"all": 2}, 1)
        view = fleet_view({"all": 3}, 2, former)
        old, new = units_of(made.bus, former), units_of(made.bus, view)
        await announce(made.bus, view)
        for unit in old:
            await unit.begin(1, 0)
        reader = made.reader(view)
        await reader.read(0, max_records=9, max_bytes=10**6, wait_ms=0)
        await made.clock.advance_ms(10)
        await old[0].publish([row(3)])
        found = await made.read(reader, 0, 4, old)
        await old[1].publish([row(6)])
        await new[2].begin(2, 7)
        for _ in range(10):
            await made.clock.advance_ms(100)
        found += await made.read(reader, 4, 7)
        for unit in new[:2]:
            await unit.begin(2, 7)
        await new[0].publish([row(8)])
        found += await made.read(reader, 7, 8, new)
        assert rows_in(found) == [row(3), row(6), row(8)]


async def test_rows_from_when_the_app_was_one_unit_keep_their_numbers() -> None:
    """Its own log comes first, up to where the fleet begins."""
    async with world() as made:
        single = single_view()
        view = fleet_view({"all": 2}, 2, single)
        (own,), new = units_of(made.bus, single), units_of(made.bus, view)
        await own.begin(1, 0)
        await own.publish([row(1, 2), row(2, 0), row(2, 5)])
        for unit in new:
            await unit.begin(2, 4)
        await new[1].publish([row(5, 3)])
        found = await made.read(made.reader(view), 0, 5, new)
        assert rows_in(found) == [row(1, 2), row(2, 0), row(2, 5), row(5, 0)]


async def test_a_reader_far_behind_the_marks_goes_on() -> None:
    """Marks tell of the end alone; more rows than are held stand in front of it, in one position
    as well."""
    async with world() as made:
        view = fleet_view({"all": 2}, 1)
        units = units_of(made.bus, view)
        for unit in units:
            await unit.begin(1, 0)
        many = [row(1, i) for i in range(70_000)]
        many += [row(position, i) for position in range(2, 100) for i in range(1_000)]
        for start in range(0, len(many), 4_000):
            await units[0].publish(many[start : start + 4_000])
        found = await made.read(made.reader(view, entry_rows=5_000), 0, 99, units)
        assert len(rows_in(found)) == len(many)


async def two_units(made: World, *positions: Iterable[int]) -> tuple[AppView, list[Unit]]:
    """Of one group, each with a record for each of its positions."""
    view = fleet_view({"all": 2}, 1)
    units = units_of(made.bus, view)
    for unit, own in zip(units, positions, strict=True):
        await unit.begin(1, 0)
        for position in own:
            await unit.publish([row(position)])
    return view, units


async def test_what_was_trimmed_in_some_of_the_logs_is_not_given_in_parts() -> None:
    """A reader from the front begins behind the positions that a log has forgotten."""
    async with world() as made:
        view, units = await two_units(made, range(1, 9), range(1, 9))
        await (await made.bus.output_log(units[1].name)).trim(5)
        found = await made.read(made.reader(view), 0, 8, units)
        assert {one.id.position for one in rows_in(found)} == {5, 6, 7, 8}


async def test_who_trimming_waits_for_misses_nothing_behind_its_place() -> None:
    """A log whose next row stands far behind what it has forgotten: all in between is nobody's, and
    other logs have rows there."""
    async with world() as made:
        view, units = await two_units(made, range(1, 9), (1, 2, 7))
        await (await made.bus.output_log(units[1].name)).trim(3)  # a claim, and two rows
        kept = await made.read(made.reader(view, is_kept=True), 2, 8, units)
        assert [one.id.position for one in rows_in(kept)] == [3, 4, 5, 6, 7, 7, 8]
        anybody = await made.read(made.reader(view, is_kept=True), 0, 8, units)
        assert [one.id.position for one in rows_in(anybody)] == [7, 7, 8]


async def test_no_entry_reaches_over_a_stop() -> None:
    """Who has to tell rows apart by position gets them apart."""
    async with world() as made:
        view = fleet_view({"all": 1}, 1)
        (unit,) = units_of(made.bus, view)
        await unit.begin(1, 0)
        await unit.publish([row(position) for position in range(1, 9)])
        reader = made.reader(view, entry_rows=100)
        reader.stop_at(3)
        found = await made.read(reader, 0, 8, [unit])
        sequences = [one.sequence for one in found]
        assert sequences == sorted(set(sequences))
        assert 3 in sequences
        assert (await reader.last()) == 8


async def test_a_log_that_a_list_leaves_out_is_read_all_the_same() -> None:
    """The rows of the former layout are given out, since its logs are asked for one by one."""
    async with world() as made:
        made.bus = bus = OldLists(MemoryCarrier(made.clock))
        view, units, wanted = await fleet_of_layouts(made, random.Random(1))
        bus.unheard = frozenset(one.log for one in view.former[1:])
        begin = LAYOUTS[-2][2]
        found = await made.read(made.reader(view), begin, END, units)
        assert rows_in(found) == [each for each in wanted if each.id.position > begin]


async def test_a_removed_log_that_is_still_listed_is_not_made_anew() -> None:
    """By nobody who reads the layouts that are left."""
    async with world() as made:
        made.bus = bus = OldLists(MemoryCarrier(made.clock))
        view, units, wanted = await fleet_of_layouts(made, random.Random(2))
        older = [one for one in await bus.logs("A") if group_and_layout(one.group)[1] == 2]
        for name in older:
            await bus.remove_logs(name)
        bus.removed = frozenset(older)
        begin = LAYOUTS[1][2]
        found = await made.read(made.reader(view), begin, END, units)
        assert rows_in(found) == [each for each in wanted if each.id.position > begin]
        bus.removed = frozenset()
        assert not set(older) & set(await bus.logs("A"))


@pytest.mark.parametrize("gone_over", [1, 4])
async def test_a_layout_begins_where_the_first_states_of_its_units_do(gone_over: int) -> None:
    """Some have set something aside since, or all have: they go on with later states. What is not
    kept any more everybody has got."""
    async with world() as made:
        view, units, wanted = await fleet_of_layouts(made, random.Random(7))
        for unit in units[:gone_over]:
            await unit.begin(5, END, epoch=2)
        begin = LAYOUTS[-1][-1]
        for after in (31, begin):
            entries = await made.read(made.reader(view), after, END, units)
            assert rows_in(entries) == [one for one in wanted if one.id.position > after]
        for unit in units:
            await (await made.bus.output_log(unit.name)).trim(1)
        entries = await made.read(made.reader(view, is_kept=True), begin, END, units)
        assert rows_in(entries) == [one for one in wanted if one.id.position > begin]
