"""What a unit folds where rows of others come in between, and where its own rows stand."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from lockstep.events import TickRecord
from lockstep.events.bundles import STAYS, Bundle
from lockstep.events.columns import EventColumns, arrow_schema
from lockstep.events.outputs import OutputColumns, Places
from lockstep.execute.made import MadeEntry
from lockstep.fleet import units_of
from lockstep.fleet.asking import asking_of
from lockstep.fleet.channels import Merger
from lockstep.fleet.stacking import Channel
from lockstep.fleet.units import Unit
from lockstep.plan import plan_of
from lockstep.plan.fleet import Feed, FleetPlan, GroupPlan
from tests.unit.fleet.fleets import BY_KEY, S, X, fleet, record

Row = tuple[int, int, int, int]
"""(position, moment, clock, chunk)."""


def rows(*places: Row) -> OutputColumns:
    """Rows of X whose n counts them."""
    schema = arrow_schema(plan_of(X + "from X select k insert into O;").schemas["X"])
    batch = pa.RecordBatch.from_arrays(
        [pa.array(["k"] * len(places)), pa.array(range(len(places)), pa.int64())], schema=schema
    )
    positions, moments, clocks, chunks = (
        np.array(each, np.int64) for each in zip(*places, strict=True)
    )
    numbers = np.arange(len(places), dtype=np.int64)
    found = Places(moments, clocks, chunks)
    return OutputColumns("X", positions, numbers, clocks, batch, None, found)


def reader(*, first: str, head: str = "", more: str = "") -> tuple[tuple[Unit, ...], Unit]:
    """(two writers of X, who reads X and S in that order); `more`: queries of the reader."""
    feeds = [Feed("X", True, ("keys",)), Feed("S", True, ())]
    if first == "S":
        feeds.reverse()
    keys = fleet(2, head=head).groups[0]
    text = head + S + X + "from X select k insert into O; from S select k insert into P;" + more
    both = GroupPlan("both", 1, text, tuple(feeds), (), ("O", "P"), (), ())
    app = plan_of(head + S + X + BY_KEY + "from X select k insert into O;")
    units = units_of(FleetPlan(app, 2, (keys, both)))
    return units[:2], units[2]


def deliveries(made: object) -> list[tuple[str, list[int], int | None]]:
    """(stream, the numbers of its events, the clock) of each delivery."""
    if isinstance(made, Bundle):
        return [
            (each.stream, [int(event.data[1]) for event in each.events], each.clock_ms)
            for each in made.deliveries()
        ]
    assert isinstance(made, EventColumns)
    chunks = made.to_record().chunks
    return [(made.stream, [int(e.data[1]) for e in chunk], None) for chunk in chunks]


def test_by_moment_then_partition_then_as_they_came() -> None:
    """Rows of two partitions, between the chunks that the unit reads itself."""
    writers, unit = reader(first="S")
    channels = [
        Channel(writers[0], rows((1, 3, 100, 0))),
        Channel(writers[1], rows((1, 1, 100, 0), (1, 1, 100, 0), (1, 3, 100, 1))),
    ]
    entry = MadeEntry(1, record([("a", 1)], [("b", 1)]))
    found = Merger(unit, asking_of((*writers, unit))).merged([entry], channels)
    assert deliveries(found.entries[0].columns()) == [
        ("S", [0], None),
        ("X", [0, 1], None),
        ("S", [1], None),
        ("X", [0], None),
        ("X", [2], None),
    ]


def test_a_chunk_of_several_comes_whole_in_front_or_behind() -> None:
    """As the readers of a stream have it on one node: one after another, each the whole chunk."""
    for first, expected in (("S", "SXX"), ("X", "XXS")):
        writers, unit = reader(first=first)
        channel = Channel(writers[0], rows((1, 1, 100, 0), (1, 3, 100, 1)))
        entry = MadeEntry(1, record([("a", 1), ("b", 1)]))
        found = Merger(unit, asking_of((*writers, unit))).merged([entry], [channel])
        made = found.entries[0].columns()
        assert "".join(stream for stream, _, _ in deliveries(made)) == expected


def test_rows_of_timers_bring_their_clock() -> None:
    """In a live app in the order of the clocks, then the record's own at its clock."""
    writers, unit = reader(first="S")
    channels = [
        Channel(writers[0], rows((1, 0, 90, 0), (1, 0, 95, 1))),
        Channel(writers[1], rows((1, 0, 80, 0), (1, 0, 95, 1))),
    ]
    entry = MadeEntry(1, record([("a", 1)]))
    found = Merger(unit, asking_of((*writers, unit))).merged([entry], channels)
    clocks = [clock for _, _, clock in deliveries(found.entries[0].columns())]
    assert clocks == [80, 90, 95, STAYS, 100]


def test_what_one_stream_brings_alone_is_no_bundle() -> None:
    """Rows at one position and nothing else; a tick where there is nothing."""
    writers, unit = reader(first="S")
    channel = Channel(writers[0], rows((2, 1, 100, 0)))
    entries = [MadeEntry(at, TickRecord(100)) for at in (1, 2)]
    found = Merger(unit, asking_of((*writers, unit))).merged(entries, [channel])
    assert found.entries[0].columns() == TickRecord(100)
    assert deliveries(found.entries[1].columns()) == [("X", [0], None)]


def test_moments_of_the_units_own_rows_are_the_records() -> None:
    """Counted by delivery they come, and leave as moments of the record."""
    units = units_of(fleet(2))
    entries = [MadeEntry(1, record([("1", 1), ("0", 1), ("5", 1)])), MadeEntry(2, TickRecord(9))]
    found = Merger(units[0], asking_of(units)).merged(entries, [])
    (placed,) = found.placed([rows((1, 0, 9, 0), (1, 1, 9, 1), (1, 3, 9, 2), (2, 0, 9, 0))])
    assert placed.places is not None
    assert placed.places.moments.tolist() == [0, 1, 5, 0]


def test_in_playback_the_moves_of_others_are_deliveries() -> None:
    """And timers stand in front of the chunk that moved the clock."""
    units = units_of(fleet(2, head="@app:playback\n"))
    entries = [MadeEntry(1, record([("0", 5)], [("1", 7)]))]
    found = Merger(units[0], asking_of(units)).merged(entries, [])
    assert deliveries(found.entries[0].columns()) == [
        ("S", [], 5),
        ("S", [1], 7),
    ]
    (placed,) = found.placed([rows((1, 0, 5, 0), (1, 2, 7, 1), (1, 3, 7, 2))])
    assert placed.places is not None
    assert placed.places.moments.tolist() == [0, 2, 3]


@pytest.mark.parametrize(
    ("clock_ms", "expected"),
    [
        (3, [("S", [0], 9), ("S", [3], STAYS), ("S", [], 9), ("S", [], 12)]),
        (11, [("S", [0], 9), ("S", [], 9), ("S", [3], STAYS), ("S", [], 9), ("S", [], 12)]),
        (None, [("S", [0], 9), ("S", [], 9), ("S", [3], STAYS), ("S", [], 9), ("S", [], 12)]),
    ],
)
def test_moves_that_do_nothing_are_left_out(
    clock_ms: int | None, expected: list[tuple[str, list[int], int]]
) -> None:
    """One to where the clock stands is none, but for the first behind an event that came late;
    where the clock in front of a record is not known, any may have."""
    units = units_of(fleet(2, head="@app:playback\n"))
    times = [("1", 9), ("0", 9), ("0", 9), ("1", 4), ("0", 9), ("0", 9), ("0", 12)]
    entries = [MadeEntry(1, record(*([each] for each in times)))]
    merger = Merger(units[0], asking_of(units))
    merger.clock_ms = clock_ms
    assert deliveries(merger.merged(entries, []).entries[0].columns()) == expected
    assert merger.clock_ms == (None if clock_ms is None else 12)
