"""Hosted queries: on the reference's operators, with the place of all that they write."""

from __future__ import annotations

import pytest

from lockstep.columns.chunks import Chunks
from lockstep.columns.column import Unfit, from_values
from lockstep.columns.moves import Moves
from lockstep.columns.order import BEHIND, Order, places_of
from lockstep.columns.units import States
from lockstep.execute.columnar.hosted.clocks import keeps_time
from lockstep.execute.columnar.hosted.queries import HostedQueries, Members
from lockstep.execute.columnar.slices import Slice
from lockstep.execute.observe import Observe
from lockstep.plan import AppPlan, build
from lockstep.plan.paths import query_path
from lockstep.siddhiql import check
from tests.unit.columns.flows import INT, STRING, chunks, longs, moves

STREAM = "define stream S (i int);\n"


def hosted(
    text: str, *nodes: str, observe: Observe = Observe.NOTHING, **others: frozenset[str]
) -> HostedQueries:
    """Some queries of an app over STREAM, at its start."""
    plan = plan_of(text)
    made = HostedQueries(plan, Members(frozenset(nodes), **others), observe=observe)
    made.start(0)
    return made


def plan_of(text: str) -> AppPlan:
    """Of an app over STREAM."""
    return build(check(STREAM + text))


def slice_of(stream: Chunks, clock: Moves) -> Slice:
    """A slice of S alone, at position 7."""
    return Slice({"S": stream}, clock, clock, 7, longs(0), longs(7))


def test_places_of_what_it_writes() -> None:
    """Below the query's place, counted; what came of it inside below that."""
    made = hosted(
        "@info(name='a') from S select i insert into A;"
        "@info(name='b') from S select i insert into B;"
        "@info(name='c') from B[i > 1] select i insert into C;",
        "b",
        "c",
    )
    assert made.reads == ("S", "B")
    stream = chunks([1], [2])
    written = made.run({"S": stream}, slice_of(stream, moves(stream)))
    assert places_of(written["B"].chunks.order) == [(1, 0), (1, 0)]
    assert places_of(written["C"].chunks.order) == [(1, 0, 2, 0)]
    assert written["C"].chunks.order.moments.tolist() == [3]
    assert written["C"].chunks.now.tolist() == [200]


def test_a_timer_of_its_own() -> None:
    """Stands at the move of the clock, below its due time and its owner's rank."""
    made = hosted(
        "@info(name='a') from S#window.timeBatch(150) select i insert into A;",
        "a",
    )
    assert made.shows_timers
    stream = chunks([1], [2], [3])
    written = made.run({"S": stream}, slice_of(stream, moves(stream)))
    assert written["A"].chunks.order.moments.tolist() == [4]
    assert places_of(written["A"].chunks.order) == [(250, 0, 0, 0)]
    assert made.next_due_ms() == 400


def test_its_timers_and_those_of_others_in_one_queue() -> None:
    """A chunk that somebody else's timer brought comes between its own."""
    text = (
        "@info(name='x') from S select i insert into X;"
        "@info(name='a') from S#window.timeBatch(100) select count() as n insert into A;"
        "@info(name='b') from X select i insert into A2;"
    )
    made = hosted(text, "a", "b", observe=Observe.OUTSIDE_PARTITIONS)
    stream = chunks([1], at=[100])
    clock = Moves(longs(0, 2), longs(100, 1000), False, 0)
    others = Chunks(
        (from_values(INT, [8, 9]),),
        longs(150, 200),
        longs(0, 1, 2),
        # Firings of the owner of rank 0: due in front of, and with, that of rank 1.
        Order(longs(2, 2), (longs(150, 200), longs(0, 0), longs(0, 0))),
        longs(150, 200),
    )
    made.run({"S": stream, "X": others}, slice_of(stream, clock))
    seen = [(place[0], type(each).__name__, place[1:4]) for place, each in made.take_observed()]
    queries = [(moment, levels) for moment, name, levels in seen if name == "QueryChunk"]
    assert queries == [(2, (150, 0, 0)), (2, (200, 0, 0)), (2, (200, 1, 0))]


def test_start_brings_what_stands_in_front_of_everything() -> None:
    """A trigger at the start."""
    made = hosted(
        "define trigger Go at 'start'; @info(name='a') from Go select 1 as n insert into A;",
        "a",
        triggers=frozenset({"Go"}),
    )
    stream = chunks([1])
    found = slice_of(stream, moves(stream))
    assert made.is_due(found)
    written = made.run({}, found)
    assert written["Go"].chunks.order.moments.tolist() == [-1]
    assert places_of(written["A"].chunks.order) == [(-1, 0, 0, 0)]
    assert found.positions_at(written["A"].chunks.order.moments).tolist() == [7]
    assert not made.is_due(found)


def test_what_the_reference_would_drop_is_not_for_columns() -> None:
    """Who else would miss the chunk are not all hosted."""
    made = hosted(
        "define function half[python] return int { return 1 / data[0] };"
        "@info(name='a') from S select half(i) as n insert into A;",
        "a",
    )
    stream = chunks([0])
    with pytest.raises(Unfit, match="S brought what a query refuses"):
        made.run({"S": stream}, slice_of(stream, moves(stream)))


@pytest.mark.parametrize("name", ["a", "a/b"])
def test_state_goes_over(name: str) -> None:
    """With the timers that wait, into other hosted queries of the same members."""
    text = f"@info(name='{name}') from S#window.timeBatch(150) select i insert into A;"
    members = Members(frozenset({name}))
    one, other = hosted(text, name), HostedQueries(plan_of(text), members, observe=Observe.NOTHING)
    stream = chunks([1])
    assert one.run({"S": stream}, slice_of(stream, moves(stream))) == {}
    states = States({})
    one.store(states)
    assert [(timer.due_ms, timer.path) for timer in states.timers] == [
        (250, f"{query_path(name)}/handler_0/window")
    ]
    other.load(states)
    later = chunks([2], at=[300])
    written = other.run({"S": later}, slice_of(later, moves(later, before=100)))
    assert written["A"].chunks.columns[0].to_pylist() == [1]


def test_tables_tell_their_changes() -> None:
    """What is stored outside: each change by itself, with what it does."""
    made = hosted(
        "@store(type='rdbms') define table T (i int);"
        "@info(name='a') from S select i insert into T;"
        "@info(name='b') from S[i > 1] delete T on T.i == 1;",
        "a",
        "b",
        tables=frozenset({"T"}),
    )
    stream = chunks([1], [2])
    written = made.run({"S": stream}, slice_of(stream, moves(stream)))["T"]
    assert written.chunks.columns[0].to_pylist() == [1, 2, 1]
    assert written.operations is not None
    assert written.operations.tolist() == [1, 1, 2]
    assert [place[0] for place in places_of(written.chunks.order)] == [0, 0, 1]


def test_who_keeps_time() -> None:
    """Windows and rates by time, absence; not what only counts."""
    plan = plan_of(
        "from S#window.length(2) select i insert into A;"
        "from S#window.session(1 sec) select i insert into B;"
        "from S select i output last every 1 sec insert into C;"
        "from S select i output last every 2 events insert into D;"
        "from every e1=S -> not S[i > 1] for 1 sec select e1.i as i insert into E;"
        "from every e1=S -> e2=S select e1.i as i insert into F;"
    )
    assert [keeps_time(node) for node in plan.nodes] == [False, True, True, False, True, False]


def test_strings_and_nulls_go_through() -> None:
    """Columns to events and back."""
    plan = build(
        check(
            "define stream S (s string, i int); @info(name='a') from S select s, i insert into A;"
        )
    )
    made = HostedQueries(plan, Members(frozenset({"a"})), observe=Observe.NOTHING)
    made.start(0)
    stream = Chunks(
        (from_values(STRING, ["x", None]), from_values(INT, [None, 2])),
        longs(100, 100),
        longs(0, 2),
        Order(longs(1)),
        longs(100),
    )
    written = made.run({"S": stream}, slice_of(stream, moves(stream)))["A"].chunks
    assert [column.to_pylist() for column in written.columns] == [["x", None], [None, 2]]
    assert written.starts.tolist() == [0, 2]
    assert BEHIND not in places_of(written.order)[0]
