"""On-demand writes in the log: once per request id, the same however the log is cut."""

from __future__ import annotations

import pytest

from lockstep.events import (
    EventsRecord,
    InputEvent,
    LogEntry,
    OutputRow,
    TickRecord,
    WriteRecord,
)
from lockstep.execute.columnar import ColumnarExecutor
from lockstep.execute.contract import WriteOutcome
from lockstep.execute.local import LocalExecutor, open_local
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.operators.errors import EventError
from lockstep.plan import build, plan_of
from lockstep.siddhiql import SiddhiQLError, check
from lockstep.testing import VirtualApp

APP = """
define stream S (k string, v int);
@PrimaryKey('k') @store(type='rdbms', jdbc.url='jdbc:postgresql://none/t')
define table T (k string, t long);
@info(name='q') from S#window.timeBatch(1 sec) select k, sum(v) as t group by k
update or insert into T on T.k == k;
from S#window.length(3) select k, sum(v) as s insert into O;
"""
INSERT = "select 'z' as k, 7L as t insert into T"
ADD = "update T set T.t = T.t + 1 on T.k == 'z'"


def events(position: int, clock_ms: int, *rows: tuple[str, int]) -> LogEntry:
    """One chunk of S."""
    chunk = tuple(InputEvent(clock_ms, row) for row in rows)
    return LogEntry(position, EventsRecord("S", clock_ms, (chunk,)))


def write(position: int, clock_ms: int, text: str, request_id: str) -> LogEntry:
    """A write."""
    return LogEntry(position, WriteRecord(text, request_id, clock_ms))


LOG = [
    write(1, 0, INSERT, "1"),
    events(2, 100, ("a", 1), ("b", 2)),
    write(3, 1200, ADD, "2"),
    write(4, 1200, INSERT, "3"),
    events(5, 1300, ("a", 4)),
    write(6, 1400, ADD, "2"),
    write(7, 1500, "delete T on T.nothing == 1", "4"),
    write(8, 1500, "from T select k, t", "5"),
    write(9, 2600, "delete T on T.k == 'b'", "6"),
    LogEntry(10, TickRecord(4000)),
]


def run(executor: LocalExecutor, length: int) -> tuple[list[OutputRow], list[WriteOutcome]]:
    """All rows and outcomes of the log in slices of that length."""
    rows: list[OutputRow] = []
    outcomes: list[WriteOutcome] = []
    for at in range(0, len(LOG), length):
        result = executor.run_slice(LOG[at : at + length])
        rows += result.rows
        outcomes += result.writes
    return rows, outcomes


def open_both() -> tuple[ReferenceExecutor, ColumnarExecutor]:
    """The same app on both executors."""
    plan = build(check(APP))
    return ReferenceExecutor(plan), ColumnarExecutor(plan)


def test_outcomes() -> None:
    """Rows changed, at which position; an id again gives its first outcome; errors have places."""
    reference, _ = open_both()
    rows, outcomes = run(reference, 100)
    told = [(one.position, one.request_id, one.rows_changed) for one in outcomes]
    assert told == [(1, "1", 1), (3, "2", 1), (4, "3", 0), (3, "2", 1), (7, "4", 0), (8, "5", 0),
                    (9, "6", 1)]  # fmt: skip
    problems = [one.problem for one in outcomes if one.problem is not None]
    assert [(p.line, p.column) for p in problems] == [(1, 13), (1, 6)]
    assert sorted(reference.on_demand("from T select k, t")) == [("a", 4), ("z", 8)]
    assert [row.id.position for row in rows if row.data[0] == "z"] == [1, 3]


@pytest.mark.parametrize("length", [1, 2, 3, 100])
def test_the_cut_and_the_executor_do_not_matter(length: int) -> None:
    """Rows, identities and outcomes of the columnar executor are those of the reference."""
    expected = run(open_both()[0], 100)
    for executor in open_both():
        assert run(executor, length) == expected


@pytest.mark.parametrize("cut", range(1, len(LOG)))
def test_a_restored_executor_knows_what_was_applied(cut: int) -> None:
    """Also when the repeated request comes after the restart."""
    rows, outcomes = run(open_both()[0], 100)
    for first, second in (open_both(), open_both()[::-1]):
        before = first.run_slice(LOG[:cut])
        second.restore(first.snapshot())
        after = second.run_slice(LOG[cut:])
        assert [*before.rows, *after.rows] == rows
        assert [*before.writes, *after.writes] == outcomes


def test_ids_are_forgotten_in_order() -> None:
    """Only the latest are remembered."""
    executor = ReferenceExecutor(plan_of(APP), dedup_ids_max=2)
    entries = [write(n, 0, ADD, f"{n % 3}") for n in range(2, 8)]
    executor.run_slice([write(1, 0, INSERT, "in"), *entries])
    assert executor.on_demand("from T select t") == [(13,)]


def test_virtual_apps_write_through_their_log() -> None:
    """Row counts and errors as a client of a cluster sees them; random ids differ."""
    app = VirtualApp(APP)
    assert app.write(INSERT, request_id="x") == 1
    assert app.write(ADD, request_id="y") == app.write(ADD, request_id="y") == 1
    assert app.on_demand("from T select t") == [(8,)]
    with pytest.raises(SiddhiQLError, match="changes nothing"):
        app.write("from T select t", request_id="z")
    numbered = VirtualApp("@PrimaryKey('v') define table T (v int);")
    with pytest.raises(EventError, match="null"):
        numbered.write("select convert('x', 'int') as v insert into T", request_id="n")
    texts = VirtualApp("define table T (k string);")
    for _ in range(2):
        texts.on_demand("select UUID() as k insert into T")
    assert len(set(texts.on_demand("from T select k"))) == 2


FAILING = """
    define stream S (k string, v int);
    @Index('v') define table T (k string, v int);
    @store(type='rdbms') @PrimaryKey('v') define table Numbered (k string, v int);
    from S insert into T;
    """
TAKEN = (("z", 9),)


@pytest.mark.parametrize("columnar", [False, True])
@pytest.mark.parametrize(
    ("action", "found"),
    [
        ("from T select k, v insert into Numbered", TAKEN),
        ("from T select k, v update or insert into Numbered on Numbered.v == v", TAKEN),
        (
            "from T select k, ifThenElse(k == 'b', convert('x', 'int'), 1) as v"
            " update Numbered set Numbered.v = v, Numbered.k = k on Numbered.v == 9 or v != 0",
            TAKEN,
        ),
    ],
)
def test_a_write_that_fails_part_way_changes_nothing(
    action: str, found: tuple[tuple[str, int], ...], columnar: bool
) -> None:
    """No row of the table, none of the output log, and the outcome says 0; what comes after it
    stands, as it would without the write."""
    rows = (InputEvent(0, ("a", 1)), InputEvent(0, ("b", 0)), InputEvent(0, ("c", 3)))
    bad = (
        action
        if "ifThenElse" in action
        else action.replace(
            "select k, v", "select k, ifThenElse(k == 'b', convert('x', 'int'), v) as v"
        )
    )
    log = [
        LogEntry(1, EventsRecord("S", 0, (rows,))),
        write(2, 0, "select 'z' as k, 9 as v insert into Numbered", "1"),
        write(3, 0, bad, "2"),
        write(4, 0, "select 'y' as k, 5 as v insert into Numbered", "3"),
    ]
    plan = build(check(FAILING))
    executor = open_local(plan_of(FAILING)) if columnar else ReferenceExecutor(plan)
    result = executor.run_slice(log)
    assert [one.rows_changed for one in result.writes] == [1, 0, 1]
    problem = result.writes[1].problem
    assert problem is not None
    assert "null" in problem.message
    assert executor.on_demand("from Numbered select k, v") == [("y", 5), *found]
    assert [(row.id.position, row.data) for row in result.rows] == [(2, ("z", 9)), (4, ("y", 5))]
