"""A table that queries on the reference and queries in columns use: it is written in the order of
the run, and each reader sees it as it is at its place."""

from __future__ import annotations

from random import Random

import pytest

from lockstep.execute.columnar import ColumnarExecutor, lowering_of
from lockstep.execute.columnar.hosted.queries import HostedQueries
from lockstep.execute.columnar.hosted.tables import SharedTable
from lockstep.execute.in_process import InProcessExecutor
from lockstep.execute.observe import Observe
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.plan import plan_of
from tests.property.executors_model import Apps, compared, entries, fold
from tests.unit.side_by_side import TICK, Step, entries_of, in_one_slice, stepped

STREAMS = (
    "define stream New (k string, v int); define stream Ask (k string, v int);"
    " define stream Count (k string, v int); "
)
OWN = (
    "@info(name='own') from Count as c left outer join T on c.k == T.k and T.v < 1000"
    " select c.k as k, c.v + coalesce(T.v, 0) as v update or insert into T on T.k == k;"
)
OTHERS = (
    "@info(name='in') from Ask[(Ask.k == T.k and Ask.v <= T.v) in T] select k insert into O;"
    " @info(name='new') from New select k, v insert into T;"
    " @info(name='joined') from Ask join T on Ask.k == T.k select T.k as k, T.v as v insert into P;"
)
STEPS: list[Step] = [
    (100, "New", [["a", 1], ["b", 2]]),
    (200, "Count", [["a", 10], ["c", 5], ["c", 6]]),
    (300, "Ask", [["a", 11], ["b", 3], ["c", 1]]),
    (400, "New", [["d", 7]]),
    (500, TICK, []),
    (600, "Count", [["d", 1]]),
    (600, "Ask", [["d", 8], ["c", 6], ["e", 0]]),
]
KEYED = "@PrimaryKey('k') define table T (k string, v int); "
KINDS = [KEYED, "define table T (k string, v int); ", f"@store(type='rdbms') {KEYED}"]


@pytest.mark.parametrize("table", KINDS)
@pytest.mark.parametrize("order", [(OWN, OTHERS), (OTHERS, OWN)])
def test_only_the_query_that_reads_what_it_writes_is_on_the_reference(
    table: str, order: tuple[str, str]
) -> None:
    """The others are not, whole, step by step, and over restores."""
    text = STREAMS + table + "".join(order)
    lowering = lowering_of(plan_of(text))
    rules = {choice.query: choice.rule for choice in lowering.choices}
    assert rules["own"] is None
    assert None not in (rules["in"], rules["new"], rules["joined"])
    expected = stepped(text, STEPS, "reference", restored=False)
    assert stepped(text, STEPS, "columnar", restored=False) == expected
    assert stepped(text, STEPS, "columnar", restored=True) == expected
    assert in_one_slice(plan_of(text), STEPS) == expected
    shown = [str(seen) for seen in expected]
    assert any("('a', 11)" in each for each in shown)
    assert any("('d', 8)" in each for each in shown)


@pytest.mark.parametrize("seed", range(12))
def test_a_query_that_is_kept_on_the_reference_takes_no_other_along(seed: int) -> None:
    """Queries that share nothing but the table go together, so that it has one place; the rows of
    a stored table come out as they do on the reference."""
    random = Random(seed)
    apps = Apps(random)
    table = f"@store(type='rdbms') @PrimaryKey('s') define table L{seed} (s string, i int);"
    name = f"L{seed}"
    text = (
        "define stream S (s string, i int, l long, d double, f float, b bool, t long);"
        f" define stream R (s string, i int, d double, t long); {table}"
        f" from S[not (s is null)]#window.sort(2, s) join {name} on S.s == {name}.s"
        f" select S.s as s, {name}.i as i insert into {apps.name()};"
        f" from R[not (s is null)] select s, i update or insert into {name} on {name}.s == s;"
        f" from S[not (s is null) and i > 3] select s, i insert into {name};"
        f" from R join {name} on R.s == {name}.s select R.s as s, {name}.i as i"
        f" insert into {apps.name()};"
    )
    plan = plan_of(text)
    hosted = [each for each in lowering_of(plan).units if isinstance(each, HostedQueries)]
    assert [sorted(each.members.tables) for each in hosted] == [[name]]
    assert len(hosted[0].members.nodes) == 1
    log = entries(random, 40, in_event_time=False)
    whole = fold(plan, [log], columnar=False)
    assert compared(plan, log, whole, random) == "columnar"


def test_what_is_asked_on_demand() -> None:
    """The rows that the reference's operators have."""
    text = STREAMS + KEYED + OWN + OTHERS
    plan = plan_of(text)
    found = []
    for executor in (ReferenceExecutor(plan, start_ms=0), ColumnarExecutor(plan, start_ms=0)):
        executor.run_slice(entries_of(plan, STEPS))
        asked = "from T select k, v", "from T on T.k == 'c' select k, v"
        found.append([sorted(executor.on_demand(each)) for each in asked])
    assert found[0] == found[1]
    assert found[0][1] == [("c", 6)]


def test_writers_in_columns_are_known_by_name() -> None:
    """Their rows go to the table of the reference, at their place."""
    plan = plan_of(STREAMS + KEYED + OWN + OTHERS)
    (hosted,) = [each for each in lowering_of(plan).units if isinstance(each, HostedQueries)]
    (table,) = hosted.shared
    assert isinstance(table, SharedTable)
    assert table.name == "T"
    assert len(table.writers) == 1
    assert set(table.writers) <= set(hosted.reads)
    assert "T" in hosted.writes


@pytest.mark.parametrize("table", KINDS)
def test_a_query_that_writes_in_front_of_the_next_one_is_seen(table: str) -> None:
    """In a partition, which runs as one on the reference: what its second query gives out is read
    in columns, and looks at the table behind the first one's change."""
    text = (
        f"define stream Count (k string, v int); {table}partition with (k of Count) begin {OWN}"
        " from Count select k, v insert into Given; end;"
        " from Given[(T.k == k and T.v == v) in T] select k, v insert into Same;"
        " from Given join T on Given.k == T.k select T.k as k, T.v as v insert into Now;"
    )
    steps: list[Step] = [
        (100, "Count", [["a", 4], ["b", 1]]),
        (200, "Count", [["a", 5]]),
        (300, "Count", [["a", 9], ["a", 2], ["b", 3]]),
    ]
    rules = {choice.query: choice.rule for choice in lowering_of(plan_of(text)).choices}
    assert rules["own"] is None
    expected = stepped(text, steps, "reference", restored=False)
    assert stepped(text, steps, "columnar", restored=False) == expected
    assert stepped(text, steps, "columnar", restored=True) == expected
    assert in_one_slice(plan_of(text), steps) == expected
    assert any("('a', 4)" in str(seen) for seen in expected)


@pytest.mark.parametrize("index", ["@PrimaryKey('k')", "@Index('k')"])
@pytest.mark.parametrize("cut", [1, 2, 3])
def test_a_row_that_the_table_refuses_is_told_and_the_others_stay(index: str, cut: int) -> None:
    """Also where its slice is folded again: then the table has each row once."""
    text = (
        "define stream New (k int, v int); define stream Ask (k int, v int);"
        f" {index} define table T (k int, v int); from New select k, v insert into T;"
        " partition with (k of Ask) begin from Ask#window.expression('count() < 3')"
        " join T on T.k == Ask.k select T.v as v insert into O; end;"
    )
    plan = plan_of(text)
    (hosted,) = [each for each in lowering_of(plan).units if isinstance(each, HostedQueries)]
    assert [each.name for each in hosted.shared] == ["T"]
    log = entries_of(
        plan,
        [
            (100, "New", [[1, 1], [2, 2]]),
            (200, "New", [[3, 3], [None, 4], [5, 5]]),
            (300, "Ask", [[3, 0], [5, 0]]),
        ],
    )
    found = []
    for kind in (ReferenceExecutor, InProcessExecutor):
        executor = kind(plan, start_ms=0, observe=Observe.OUTSIDE_PARTITIONS)
        told, seen = [], []
        for start in range(0, len(log), cut):
            faults = executor.run_slice(log[start : start + cut]).faults
            told += [(each.stream, [event.data for event in each.events]) for each in faults]
            seen += list(map(str, executor.take_observations()))
        found.append((sorted(executor.on_demand("from T select k, v")), told, seen))
    assert found[0] == found[1]
    assert found[0][:2] == ([(1, 1), (2, 2), (3, 3), (5, 5)], [("New", [(None, 4)])])
