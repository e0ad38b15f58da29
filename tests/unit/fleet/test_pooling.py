"""Records that are cut at once say of a unit's own what each of them says by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from lockstep.events import EventsRecord, InputEvent, LogEntry, TickRecord
from lockstep.events.bundles import STAYS, Bundle
from lockstep.events.codec import EncodedEntry
from lockstep.events.columns import EventColumns
from lockstep.execute.columnar import ColumnarExecutor
from lockstep.execute.encoding import encoded
from lockstep.execute.local import open_local
from lockstep.execute.made import EntriesTogether
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.execute.spark.rebuilding import Base
from lockstep.fleet.asking import asking_of
from lockstep.fleet.channels import Merged, Merger
from lockstep.fleet.indexing import KeyIndex
from lockstep.fleet.local import FleetExecutor
from lockstep.fleet.pooling import pooled
from lockstep.fleet.units import Unit, units_of
from lockstep.plan import plan_of
from lockstep.plan.fleet import FleetPlan, Routing, fleet_of, hears_time
from tests.unit.execute.test_together import travelled

TEXT = """
define stream S (k string, v long);
define stream R (k string, d double);
define stream U (x int);
partition with (k of S, k of R) begin
from S#window.time(30) select k, sum(v) as t insert into Sums;
from S#window.timeBatch(20) select k, count() as n insert into Counts;
from R join S#window.time(25) on R.k == S.k select R.k as k, d, v insert into Pairs;
end;
from U select x insert into Xs;
"""
CLOCKS = ["", "@app:playback "]
KEYS = ("a", "b", "c", "d", "e", "f", None)


def log(random: Random, count: int, *, from_position: int = 1) -> list[LogEntry]:
    """Ticks, and records of single events, some late, some all of one time."""
    made, clock = [], 1000 + 10 * from_position
    for position in range(from_position, from_position + count):
        clock += random.choice((0, 1, 5, 20))
        if random.random() < 0.2:
            made.append(LogEntry(position, TickRecord(clock)))
            continue
        stream = random.choice("SSRU")
        step = random.choice((0, 1))
        chunks = []
        for at in range(random.choice((1, 2, 6))):
            key = random.choice(KEYS)
            data: tuple[Any, ...] = (at,) if stream == "U" else (key, at if stream == "S" else 0.5)
            late = random.choice((0, 0, 0, 15))
            chunks.append((InputEvent(clock + step * at - late, data),))
        made.append(LogEntry(position, EventsRecord(stream, clock, tuple(chunks), True)))
    return made


def cut(clock: str, partitions: int) -> tuple[Unit, ...]:
    """The units of the app."""
    return units_of(fleet_of(plan_of(clock + TEXT), partitions))


def written(units: Sequence[Unit], made: Sequence[LogEntry], *, indexed: bool) -> Any:
    """As doors write it."""
    schemas = units[0].plan.fleet.app.checked.streams
    plans = {unit.number: unit.plan for unit in units}.values()
    return encoded(made, schemas, KeyIndex(plans).of if indexed else None)


def one_by_one(unit: Unit, entries: Sequence[EncodedEntry], clock_ms: int | None) -> list[Merged]:
    """As each is cut by itself."""
    merger = Merger(unit, asking_of([unit]))
    merger.clock_ms = clock_ms
    return [merger.merged([entry], ()) for entry in entries]


def together(unit: Unit, entries: Sequence[EncodedEntry], clock_ms: int | None) -> Merged:
    """As they are cut at once."""
    merger = Merger(unit, asking_of([unit]))
    merger.clock_ms = clock_ms
    found = merger.merged(entries, ())
    assert isinstance(found.entries, EntriesTogether)
    return found


def deliveries(entry: EncodedEntry) -> list[Any]:
    """The events of each, and the clock in front of it as far as it moves on."""
    made = entry.columns()
    if isinstance(made, TickRecord):
        return [made]
    if isinstance(made, Bundle):
        return [(each.stream, each.events, each.clock_ms) for each in made.deliveries()]
    assert isinstance(made, EventColumns)
    return [entry.record()]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("indexed", [True, False])
def test_a_live_apps_records(seed: int, *, indexed: bool) -> None:
    """The same entries, and their deliveries stand at the same moments."""
    units = cut("", 1 + seed % 4)
    entries = written(units, log(Random(seed), 9), indexed=indexed)
    for unit in units:
        found = together(unit, entries, None)
        expected = one_by_one(unit, entries, None)
        assert [deliveries(each) for each in found.entries] == [
            deliveries(one) for each in expected for one in each.entries
        ]
        assert [each.position for each in found.entries] == [each.position for each in entries]
        _, counts, moments = found._stands()
        each_stands = [each._stands() for each in expected]
        assert counts.tolist() == [int(n) for _, counts, _ in each_stands for n in counts]
        assert moments.tolist() == [int(at) for _, _, moments in each_stands for at in moments]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("clock_ms", [None, 1000, 1060])
def test_in_playback_the_clock_is_the_same_at_each_event(seed: int, clock_ms: int | None) -> None:
    """It moves at the same moments, but that a move to where it stands may be left out. Where
    nobody hears time pass, so may any that no event of the unit's own needs, but for one of each
    record."""
    units = cut(CLOCKS[1], 2 + seed % 3)
    entries = written(units, log(Random(seed), 9), indexed=True)
    for unit in units:
        found = passed([together(unit, entries, clock_ms)], clock_ms or 0)
        expected = passed(one_by_one(unit, entries, clock_ms), clock_ms or 0)
        assert at_events(found) == at_events(expected)
        assert clock_behind(found) == clock_behind(expected)
        assert not hears_time(unit.plan.app) or found == expected


def at_events(seen: Sequence[Any]) -> list[Any]:
    """The deliveries that have events."""
    return [each for each in seen if len(each) > 3]


def clock_behind(seen: Sequence[Any]) -> dict[int, int]:
    """Behind each record."""
    return {each[0]: each[2] for each in seen}


def passed(found: Sequence[Merged], clock_ms: int) -> list[Any]:
    """(position, moment, the clock, events) of each delivery with events or a higher clock."""
    seen: list[Any] = []
    for merged in found:
        _, counts, moments = merged._stands()
        at = iter(moments.tolist())
        for entry, count in zip(merged.entries, counts.tolist(), strict=True):
            made = entry.columns()
            if isinstance(made, EventColumns):
                order = np.zeros(len(made), np.uint16)
                clocks = np.array(made.timestamps())
                made = Bundle(made.clock_ms, order, (made,), clocks)
            if not isinstance(made, Bundle):
                assert count == 0
                continue
            assert count == len(made)
            for each in made.deliveries():
                moment, before = next(at), clock_ms
                clock_ms = max(clock_ms, STAYS if each.clock_ms is None else each.clock_ms)
                if clock_ms > before:
                    seen.append((entry.position, moment // 2, clock_ms))
                if each.events:
                    seen.append((entry.position, moment, clock_ms, each.stream, each.events))
        assert next(at, None) is None
    return seen


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("seed", range(8))
def test_executors_bring_the_same(clock: str, seed: int) -> None:
    """In columns, on the reference, one by one, and as one node does."""
    random = Random(seed)
    plan = plan_of(clock + TEXT)
    whole, parts = ReferenceExecutor(plan), 1 + seed % 4
    makes = (lambda p: open_local(p), lambda p: ReferenceExecutor(p), lambda p: open_local(p))
    fleets = [FleetExecutor(fleet_of(plan, parts), make) for make in makes]
    position = 1
    for _ in range(3):
        made = log(random, random.randint(2, 9), from_position=position)
        position = made[-1].position + 1
        expected = by_key(whole.run_slice(made).rows)
        entries = written(fleets[0].units, made, indexed=True)
        for number, fleet in enumerate(fleets):
            slices = [[each] for each in entries] if number == 2 else [entries]
            rows = [row for each in slices for row in fleet.run_encoded(each).rows]
            assert by_key(rows) == expected, number


def by_key(rows: Sequence[Any]) -> dict[Any, list[Any]]:
    """In order, but for rows of different keys."""
    found: dict[Any, list[Any]] = {}
    for row in rows:
        key = (row.stream, row.data[0] if row.stream != "Xs" else None)
        found.setdefault(key, []).append((row.id.position, row.timestamp_ms, row.data))
    return found


@pytest.mark.parametrize("clock", CLOCKS)
def test_they_travel(clock: str) -> None:
    """To a worker, and what is kept for another one says the same."""
    units = cut(clock, 3)
    made = written(units, log(Random(5), 12), indexed=True)
    for unit in units[:3]:
        entries = together(unit, made, None).entries
        assert isinstance(entries, EntriesTogether)
        base = Base(1 << 30)
        base.add(entries)
        assert 0 < base.size_bytes < 5_000
        _, kept = base.message(0)
        again = [
            EncodedEntry(e.position, payload) for e, payload in zip(entries, kept, strict=True)
        ]
        folded = [ColumnarExecutor(unit.plan.app) for _ in range(3)]
        ways: tuple[Any, ...] = (entries, travelled(entries.records), again)
        results = [one.run_encoded(each) for one, each in zip(folded, ways, strict=True)]
        assert list(results[0].rows) == list(results[1].rows) == list(results[2].rows)
        assert folded[0].snapshot() == folded[1].snapshot() == folded[2].snapshot()


def test_units_that_fold_the_same_share_what_was_read() -> None:
    """Entries that are not the very same are read again."""
    units = cut("", 2)
    entries = written(units, log(Random(1), 6), indexed=True)
    first, second = (Merger(unit, asking_of(units))._pooled(entries, ()) for unit in units[:2])
    assert first is not None
    assert second is not None
    assert first.pool is second.pool
    others = [EncodedEntry(each.position, bytes(bytearray(each.payload))) for each in entries[1:]]
    third = Merger(units[0], asking_of(units))._pooled([entries[0], *others], ())
    assert third is not None
    assert third.pool is not first.pool


def test_by_turns_each_event_goes_to_one() -> None:
    """Events are counted from the position of their record on."""
    text = "define stream S (k string, v long); from S select k, v insert into O;"
    plan = plan_of(text)
    (group,) = fleet_of(plan, 1).groups
    feeds = (replace(group.feeds[0], routing=Routing.ROUND_ROBIN, key=None),)
    units = units_of(FleetPlan(plan, 3, (replace(group, partitions=3, feeds=feeds),)))
    made = [each for each in log(Random(3), 30) if getattr(each.record, "stream", "S") == "S"]
    entries = encoded(made, plan.checked.streams)
    for unit in units:
        found = together(unit, entries, None)
        assert [deliveries(each) for each in found.entries] == [
            deliveries(one) for each in one_by_one(unit, entries, None) for one in each.entries
        ]


def test_what_is_not_plain_is_not_pooled() -> None:
    """Events that were sent together, and entries that were made on the way."""
    units = cut("", 2)
    schemas = units[0].plan.fleet.app.checked.streams
    events = tuple(InputEvent(1000, ("a", n)) for n in range(2))
    together = LogEntry(9, EventsRecord("S", 1000, (events,), True))
    entries = written(units, [*log(Random(2), 4), together], indexed=False)
    assert pooled(entries[:-1], schemas) is not None
    assert pooled(entries, schemas) is None
    assert pooled([], schemas) is None
    made = one_by_one(units[0], entries[:1], None)[0].entries
    assert pooled(made, schemas) is None
