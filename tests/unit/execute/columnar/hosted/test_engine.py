"""The reference's engine as a part of a run: where its chunks stand, and when its timers fire."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep.columns.column import Unfit
from lockstep.columns.moves import Moves
from lockstep.columns.order import START, places_of
from lockstep.events import Operation
from lockstep.execute.columnar.hosted.engine import HostedEngine, Place
from lockstep.execute.columnar.hosted.moving import Moving
from lockstep.execute.columnar.hosted.records import Records
from lockstep.execute.observe import Observe
from lockstep.operators.contract import StreamEvent
from lockstep.plan import plan_of
from lockstep.plan.ranks import ranks_of
from tests.unit.columns.flows import INT, STRING, longs


def engine(text: str, **records: Records) -> HostedEngine:
    """A whole app on an engine that has started at 0."""
    plan = plan_of(f"define stream S (i int); {text}")
    made = HostedEngine(plan, ranks_of(plan), records, observe=Observe.NOTHING)
    made.start(0)
    return made


def arrive(made: HostedEngine, moment: int, *values: int) -> None:
    """A chunk on S at a moment, below no level, for the first receiver."""
    chunk = [StreamEvent(made.now, (value,)) for value in values]
    made.arrive("S", 0, (moment, ()), chunk)


def test_chunks_are_counted_below_a_place() -> None:
    """Anew at each place."""
    place = Place()
    assert (place.moment, place.next(), place.next()) == (START, (0,), (1,))
    place.at(4, (7, 2))
    assert (place.next(), place.next()) == ((7, 2, 0), (7, 2, 1))


def test_what_it_writes_is_told_with_its_place() -> None:
    """What came of a chunk stands below it."""
    told = {"A": Records((INT,)), "B": Records((INT,))}
    made = engine("from S select i insert into A; from A select i + 1 as i insert into B;", **told)
    arrive(made, 3, 5, 6)
    first, second = told["A"].take().chunks, told["B"].take().chunks
    assert (first.columns[0].to_pylist(), second.columns[0].to_pylist()) == ([5, 6], [6, 7])
    assert (first.order.moments.tolist(), second.order.moments.tolist()) == ([3], [3])
    assert places_of(second.order)[0][: len(places_of(first.order)[0])] == places_of(first.order)[0]


def test_an_error_is_not_contained() -> None:
    """What else it would drop is not all known here."""
    made = engine(
        "define function half[python] return int { return 1 / data[0] };"
        " from S select half(i) as i insert into A;"
    )
    with pytest.raises(Unfit, match="S brought what a query refuses"):
        arrive(made, 1, 0)


def test_timers_fire_up_to_a_place() -> None:
    """Those that stand in front of another's firing, then the rest of the clock's move."""
    told = {"A": Records((INT,))}
    made = engine("from S#window.timeBatch(100) select i insert into A;", **told)
    moving = Moving(made, Moves(longs(0, 2), longs(0, 500), False, 0))
    moving.to(1, ())
    arrive(made, 1, 8)
    assert made.due_on(wall=True) == 100
    # Another's firing of an earlier due time, then one at a later.
    moving.to(2, (99, 0, 0))
    assert len(told["A"]) == 0
    moving.to(2, (150, 0, 0))
    assert (len(told["A"]), made.due_on(wall=True)) == (1, 200)
    moving.to_the_end()
    assert made.now == 500
    found = told["A"].take().chunks
    assert (found.order.moments.tolist(), found.now.tolist()) == ([2], [100])


def test_pending_timers_go_over() -> None:
    """Into an engine of the same plan, which fires them when they are due."""
    text = "from S#window.timeBatch(100) select i insert into A;"
    one = engine(text)
    arrive(one, 1, 8)
    (path,) = (each for each in one.operators if each.endswith("/window"))
    (timer,) = one.pending({id(one.operators[path]): path})
    assert (timer.due_ms, timer.path, timer.wall) == (100, path, False)
    other = engine(text)
    assert other.due_on(wall=True) is None
    other.refill([timer])
    assert other.due_on(wall=True) == 100


def test_chunks_become_columns() -> None:
    """In the order of the run: what came of a chunk stands in front of it; then there is none."""
    records = Records((STRING, INT))
    records.add(1, (0,), [StreamEvent(10, ("late", 1))], 10)
    records.add(1, (0, 0, 0), [StreamEvent(11, (None, 2)), StreamEvent(12, ("early", None))], 11)
    made = records.take()
    assert [column.to_pylist() for column in made.chunks.columns] == [
        [None, "early", "late"],
        [2, None, 1],
    ]
    assert made.chunks.starts.tolist() == [0, 2, 3]
    assert made.chunks.now.tolist() == [11, 10]
    assert (len(records), records.take().chunks.count) == (0, 0)


def test_changes_of_a_table_keep_what_they_do() -> None:
    """And a value of another type is not for columns."""
    records = Records((INT,))
    records.add(1, (0,), [StreamEvent(10, (1,))], 10, Operation.UPSERT)
    records.add(1, (1,), [StreamEvent(10, (1,))], 10, Operation.DELETE)
    operations: Any = records.take().operations
    assert operations.tolist() == [Operation.UPSERT, Operation.DELETE]
    records.add(1, (0,), [StreamEvent(10, ("text",))], 10)
    with pytest.raises(Unfit):
        records.take()
