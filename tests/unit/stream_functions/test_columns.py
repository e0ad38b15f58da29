"""Stream functions in front of columns, against the reference."""

from __future__ import annotations

import pytest

from lockstep.events import EventsRecord, InputEvent, LogEntry, OutputRow
from lockstep.execute.columnar import ColumnarExecutor, NotColumnar, Unfit, lowering_of
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.plan import plan_of
from lockstep.stream_functions.columns import HostedFunction
from lockstep.streams.columns import StreamQuery
from tests.unit.side_by_side import unit_of

STREAM = "define stream S (k string, t string, v double);\n"
LINES = [
    (1000, [("a", "x y", 1.0), ("b", "y", 2.0)]),
    (1100, [("a", "z", 3.0)]),
    (1250, [("a", "", 4.0), ("b", "x x", 5.0), ("a", "x", 6.0)]),
]
LOG = [
    LogEntry(at, EventsRecord("S", now, (tuple(InputEvent(now, row) for row in rows),)))
    for at, (now, rows) in enumerate(LINES, 1)
]


def brought(text: str) -> list[tuple[object, ...]]:
    """What comes out for LOG: of the reference, and of columns that stop after each record."""
    plan = plan_of(STREAM + text)
    expected = list(ReferenceExecutor(plan).run_slice(LOG).rows)
    executor = ColumnarExecutor(plan)
    assert all(each.rule for each in executor.lowering.choices)
    found: list[OutputRow] = []
    for entry in LOG:
        found += executor.run_slice([entry]).rows
        snapshot = executor.snapshot()
        executor = ColumnarExecutor(plan)
        executor.restore(snapshot)
    assert found == expected
    return [row.data for row in found]


def refusal(text: str) -> str | None:
    """Why a query stays on the reference, beside one that does not."""
    plan = plan_of(f"{STREAM}from S select k insert into P; {text}")
    return lowering_of(plan).choices[1].reason


def test_events_become_more_and_go_on_into_a_window() -> None:
    """The window holds what the function added."""
    text = (
        "from S[v > 1.0]#str:tokenize(t, ' ')#window.length(2)"
        " select token, count() as n group by token insert into O;"
    )
    assert brought(text) == [("y", 1), ("z", 1), ("", 1), ("x", 2)]


def test_what_is_dropped_is_remembered_through_snapshots() -> None:
    """Of each key one event in 200 ms; a chunk that is empty then is none."""
    text = "from S#unique:deduplicate(k, 200) select k, sum(v) as s insert into O;"
    assert brought(text) == [("b", 3.0), ("b", 12.0)]


def test_each_partition_instance_remembers_its_own() -> None:
    """The same key is new to another instance."""
    text = (
        "partition with (k of S) begin"
        " from S#unique:deduplicate('one', 150) select k, count() as n insert into O; end;"
    )
    assert brought(text) == [("a", 1), ("b", 1), ("a", 2), ("b", 2)]


def test_values_are_added_and_filtered() -> None:
    """A filter behind the function reads what it added."""
    rows = brought("from S#pol2Cart(v, v)[y > 0.1] select k, x + y as z insert into O;")
    assert [row[0] for row in rows] == ["a", "a", "b", "a"]


def test_objects_that_are_added_go_on_or_are_cast() -> None:
    """They pass through, but are not kept in a window."""
    text = "from S#list:tokenize(list:create(k, t)){} select {} as e insert into O;"
    assert len(brought(text.format("", "cast(value, 'string')"))) == 12
    assert len(brought(text.format("", "value"))) == 12
    window = text.format("#window.length(2)", "cast(value, 'string')")
    assert refusal(window) == "an attribute of type object in a window"


@pytest.mark.parametrize(
    ("handlers", "reason"),
    [
        ("#window.length(2)#str:tokenize(t, ' ')", "a stream function behind a window"),
        ("#reorder:kslack(l)", "a stream function with timers"),
        ("#extrema:topK(k, 1)", "a stream function that takes rows back"),
        ("#str:tokenize(UUID(), ' ')", "a function that needs engine"),
    ],
)
def test_what_stays_on_the_reference(handlers: str, reason: str) -> None:
    """Where expired events would have to be known again, where timers bring events, and where
    events leave that no window held."""
    source = "from S select k, t, 1L as l insert into L; "
    plan = plan_of(f"{STREAM}{source} from L{handlers} select k insert into O;")
    assert lowering_of(plan).choices[1].reason == reason


def test_an_event_that_is_refused_is_for_the_reference() -> None:
    """It drops the chunk, which columns cannot."""
    executor = ColumnarExecutor(plan_of(f"{STREAM}from S#str:tokenize(t, 'x') insert into O;"))
    null = EventsRecord("S", 1000, ((InputEvent(1000, ("a", None, 1.0)),),))
    with pytest.raises(Unfit, match="str:tokenize takes no null text"):
        executor.run_slice([LogEntry(1, null)])


def test_an_app_of_what_has_no_columns_is_not_columnar() -> None:
    """One query with timers, and nothing else."""
    text = "define stream L (l long);\nfrom L#reorder:kslack(l) select l insert into O;"
    with pytest.raises(NotColumnar, match="a stream function with timers"):
        ColumnarExecutor(plan_of(text))


@pytest.mark.parametrize(
    ("call", "expected"), [("log('x')", False), ("unique:deduplicate(k, 1 sec)", True)]
)
def test_which_functions_have_state(call: str, expected: bool) -> None:
    """Each partition instance has a link of its own only for those."""
    unit = unit_of(f"{STREAM}from S#{call} select k insert into O;", StreamQuery)
    (function,) = unit._functions
    assert isinstance(function, HostedFunction)
    assert function.has_state is expected
