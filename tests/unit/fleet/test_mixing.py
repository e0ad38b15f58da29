"""Rows of other units between the events of many records stand where they stand in each record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest

from lockstep.events import LogEntry
from lockstep.events.codec import EncodedEntry
from lockstep.events.outputs import OutputColumns
from lockstep.execute.columnar import ColumnarExecutor
from lockstep.execute.local import open_local
from lockstep.execute.made import EntriesTogether
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.fleet.asking import asking_of
from lockstep.fleet.channels import Merger
from lockstep.fleet.local import FleetExecutor
from lockstep.fleet.mixing import Brought, cut_at_once
from lockstep.fleet.pooling import Time, pooled
from lockstep.fleet.stacking import Channel, stacks_of
from lockstep.fleet.units import Unit
from lockstep.plan import plan_of
from lockstep.plan.fleet import fleet_of
from tests.unit.execute.test_together import travelled
from tests.unit.fleet.test_channels import reader, rows
from tests.unit.fleet.test_pooling import (
    CLOCKS,
    at_events,
    clock_behind,
    deliveries,
    log,
    passed,
    written,
)

TWO = """
define stream S (k string, v long);
define stream R (k string, d double);
define stream U (x int);
@dist(execGroup='first', parallel='{parallel}')
partition with (k of S) begin
from S[v >= 0] select k, v % 3 as g, v insert into Mid; end;
@dist(execGroup='second', parallel='{parallel}')
partition with (g of Mid) begin
from Mid#window.length(3) select g, k, sum(v) as t insert into Sums; end;
@dist(execGroup='whole')
from R#window.length(1) join Mid as m on R.k == m.k select R.k as k, d, v insert into Pairs;
@dist(execGroup='whole')
from Mid#window.lengthBatch(3) select k, count() as n insert into Batches;
"""

TIMED = "from S#window.timeBatch(10) select k insert into Q;"
"""Of an app that hears time pass."""


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("seed", range(8))
def test_two_groups_bring_the_same(clock: str, seed: int) -> None:
    """In columns and on the reference, together and one by one, whatever the number of units."""
    random = Random(seed)
    plan = plan_of(clock + TWO.format(parallel=1 + seed % 4))
    ways: list[Callable[[Any], Any]] = [open_local, ReferenceExecutor, open_local]
    fleets = [FleetExecutor(fleet_of(plan, None), make) for make in ways]
    position = 1
    found: list[list[Any]] = [[] for _ in fleets]
    for _ in range(3):
        made = log(random, random.randint(2, 12), from_position=position)
        position = made[-1].position + 1
        entries = written(fleets[0].units, made, indexed=True)
        for number, fleet in enumerate(fleets):
            slices = [[each] for each in entries] if number == 2 else [entries]
            found[number] += [row for each in slices for row in fleet.run_encoded(each).rows]
    assert len(found[0]) > 5
    assert list(map(said, found[0])) == list(map(said, found[1])) == list(map(said, found[2]))


def said(row: Any) -> tuple[Any, ...]:
    """All that a row says."""
    return row.id, row.stream, row.timestamp_ms, row.data


def some_rows(random: Random, lengths: Sequence[int], *, is_timed: bool) -> OutputColumns:
    """Rows of X at moments of the records at 1, 2 …, which have so many events."""
    found = []
    for position, count in enumerate(lengths, 1):
        wanted = sorted(
            random.choices(range(2 * count), k=random.choice((0, 1, 3)) if count else 0)
        )
        moments = wanted if is_timed else [moment | 1 for moment in wanted]
        clocks = sorted(random.choices(range(1000, 1100, 10), k=len(moments)))
        found += [
            (position, moment, clock, chunk)
            for chunk, (moment, clock) in enumerate(zip(moments, clocks, strict=True))
        ]
    return rows(*found) if found else rows((1, 1, 1000, 0))


def of_reader(
    random: Random, *, is_playback: bool, first: str, is_timed: bool = False, more: str = ""
) -> tuple[Unit, list[EncodedEntry], list[Channel]]:
    """(who reads X of two writers, and S; records of S and ticks; the rows of X)."""
    writers, unit = reader(first=first, head="@app:playback\n" if is_playback else "", more=more)
    made: list[LogEntry] = []
    for each in log(random, 9):
        if getattr(each.record, "stream", "S") == "S":
            made.append(LogEntry(len(made) + 1, each.record))
    lengths = [len(getattr(each.record, "chunks", ())) for each in made]
    if not lengths[0]:
        return of_reader(random, is_playback=is_playback, first=first, is_timed=is_timed, more=more)
    schemas = unit.plan.app.checked.streams
    assert schemas["S"] == unit.plan.fleet.app.checked.streams["S"]
    entries = list(written([unit], made, indexed=False))
    channels = [Channel(w, some_rows(random, lengths, is_timed=is_timed)) for w in writers]
    return unit, entries, channels


@pytest.mark.parametrize("first", ["S", "X"])
@pytest.mark.parametrize("seed", range(12))
def test_a_live_apps_rows_stand_where_they_stood(seed: int, first: str) -> None:
    """The same deliveries at the same moments."""
    unit, entries, channels = of_reader(Random(seed), is_playback=False, first=first)
    merger = Merger(unit, asking_of([unit]))
    found = merger.merged(entries, channels)
    assert isinstance(found.entries, EntriesTogether)
    singly = [merger.merged([each], channels) for each in entries]
    assert [flat(each) for each in found.entries] == [
        flat(one) for each in singly for one in each.entries
    ]
    _, _, moments = found._stands()
    assert moments.tolist() == [int(at) for each in singly for at in each._stands()[2]]


def flat(entry: EncodedEntry) -> list[Any]:
    """(stream, events) of each delivery."""
    found = deliveries(entry)
    if found and hasattr(found[0], "chunks"):
        return [(found[0].stream, chunk) for chunk in found[0].chunks]
    return [each[:2] if isinstance(each, tuple) else each for each in found]


@pytest.mark.parametrize("more", ["", TIMED])
@pytest.mark.parametrize("is_timed", [False, True])
@pytest.mark.parametrize("first", ["S", "X"])
@pytest.mark.parametrize("seed", range(12))
def test_in_playback_the_clock_is_the_same_at_each_row(
    seed: int, first: str, more: str, *, is_timed: bool
) -> None:
    """Also where timers brought it. Where nobody hears time pass, the clock need not move at the
    events of others."""
    random = Random(seed)
    unit, entries, channels = of_reader(
        random, is_playback=True, first=first, is_timed=is_timed, more=more
    )
    clock_ms = random.choice((None, 1000, 1060))
    merger = Merger(unit, asking_of([unit]))
    merger.clock_ms = clock_ms
    found = merger.merged(entries, channels)
    assert isinstance(found.entries, EntriesTogether)
    merger.clock_ms = clock_ms
    singly = [merger.merged([each], channels) for each in entries]
    at_once, one_by_one = (passed(each, clock_ms or 0) for each in ([found], singly))
    if more:
        assert at_once == one_by_one
    assert at_events(at_once) == at_events(one_by_one)
    assert clock_behind(at_once) == clock_behind(one_by_one)


@pytest.mark.parametrize("is_playback", [False, True])
def test_they_travel_and_come_back_one_by_one(*, is_playback: bool) -> None:
    """A worker folds the same of columns and of single entries."""
    unit, entries, channels = of_reader(Random(4), is_playback=is_playback, first="X")
    made = Merger(unit, asking_of([unit])).merged(entries, channels).entries
    assert isinstance(made, EntriesTogether)
    ways: tuple[Any, ...] = (made, travelled(made.records), list(made))
    results = [ColumnarExecutor(unit.plan.app).run_encoded(each).rows for each in ways]
    assert len(results[0]) > 10
    assert list(results[0]) == list(results[1]) == list(results[2])


def test_what_cannot_be_told_is_left_to_single_records() -> None:
    """Rows that timers of a live app brought, behind all events, or together."""
    unit, entries, (channel, _) = of_reader(Random(2), is_playback=False, first="X")
    merger = Merger(unit, asking_of([unit]))
    for places in (
        [(1, 0, 1000, 0)],
        [(1, 1001, 1000, 0)],
        [(1, 1, 1000, 0), (1, 1, 1000, 0)],
    ):
        merged = merger.merged(entries, [Channel(channel.unit, rows(*places))])
        assert not isinstance(merged.entries, EntriesTogether), places
        assert len(merged.entries) == len(entries)


def test_writers_whose_turn_is_the_same_are_left_to_single_records() -> None:
    """Their ordinals tell who is first."""
    unit, entries, channels = of_reader(Random(2), is_playback=False, first="X")
    schemas = unit.plan.app.schemas
    pool, stacks = pooled(entries, schemas), stacks_of(channels, schemas)
    assert pool is not None
    assert stacks is not None
    (stack,) = stacks

    def found(*turns: tuple[int, int]) -> object:
        return cut_at_once(pool, {}, [Brought(stack, None, turns)], Time(False, True, None))

    assert found((0, 1), (0, 2)) is not None
    assert found((0, 1), (1, 1)) is not None
    assert found((0, 1), (0, 1)) is None
