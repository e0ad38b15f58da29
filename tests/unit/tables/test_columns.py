"""Keyed tables in columns: what queries write, what joins and states see of it."""

from __future__ import annotations

import numpy as np
import pytest

from lockstep.columns.chunks import Chunks
from lockstep.columns.column import Column, Unfit, from_values
from lockstep.columns.moves import Moves
from lockstep.columns.order import Order
from lockstep.columns.pool import StringPool
from lockstep.columns.units import States
from lockstep.events import Attribute, AttributeType, StreamSchema
from lockstep.execute.columnar import lowering_of
from lockstep.plan import plan_of
from lockstep.tables.columns import PassiveTable, TableUnit
from lockstep.tables.join import TableJoin, with_lonely
from lockstep.tables.rule import TABLE_JOIN
from lockstep.tables.store import TableStore
from tests.unit.columns.flows import DOUBLE, INT, STRING, longs
from tests.unit.side_by_side import Step, played, unit_of

S = (
    "define stream S (s string, i int); define stream R (s string, i int);"
    " define stream Gone (s string);"
    " @PrimaryKey('s') define table T (s string, i int, n int); "
)
JOIN = "from S {} join T on T.s == S.s {} select S.s as s, T.i as i, T.n as n insert into O;"


def unit(text: str) -> TableUnit:
    """The table of an app."""
    return unit_of(S + text, TableUnit)


def test_each_write_is_made_on_columns_if_it_can() -> None:
    """Else all of the table are made one by one."""
    upsert = "from R select s, i, i as n update or insert into T {} on T.s == s {};"
    assert not unit(upsert.format("", "")).is_one_by_one
    assert not unit(upsert.format("set T.n = T.n + 1", "")).is_one_by_one
    assert not unit(upsert.format("set T.n = n", "and T.i > 3")).is_one_by_one
    assert not unit(upsert.format("set T.n = T.n + n", "and T.i > 3")).is_one_by_one
    assert unit(upsert.format("", "and str:length(T.s) > 3")).is_one_by_one
    lengths = upsert.format("set T.n = str:length(T.s)", "")
    assert not unit(lengths).is_one_by_one
    tested = "from R select s, i delete T on T.s == s and T.i < i;"
    assert unit(lengths + tested).is_one_by_one


def test_rows_are_stored_in_the_order_in_which_they_came() -> None:
    """With the most there ever were; and loaded the same."""
    table = unit("from R select s, i, i as n insert into T;")
    state = (7, [(3, ("c", 30, 1)), (2, ("b", None, 2)), (5, ("a", 1, 1))])
    table.load(States({"table/T/rows": state}))
    stored = States({})
    table.store(stored)
    assert stored.operators == {"table/T/rows": state}
    assert len(table.state) == 3


def test_places_of_rows_that_went_are_given_again() -> None:
    """When the slice is over, with those that were not needed."""
    table = unit("from R select s, i, i as n update or insert into T on T.s == s;")
    (name,) = table.reads
    columns = [from_values(STRING, ["a", "b", "a"])] + [from_values(INT, [1, 2, 3])] * 2
    order = Order(longs(1, 3, 5), (0, 0))
    came = Chunks(tuple(columns), longs(0, 0, 0), longs(0, 1, 2, 3), order, longs(0, 0, 0))
    table.run({name: came}, Moves(longs(), longs(), leaps=False, before=0))
    assert len(table.state) == 2
    assert len(table.state.held) > 2
    table.settle()
    assert len(table.state.held) == 2


def test_nulls_in_keys_have_no_columnar_form() -> None:
    """Reads of null and NaN find nothing."""
    store = TableStore(
        unit("from R select s, i, i as n insert into T;").state.schema, (0,), (), StringPool()
    )
    with pytest.raises(Unfit, match="null or NaN in s"):
        store.check([from_values(STRING, ["a", None]), None, None])
    index = store.index((1, 2))
    nan = Column(DOUBLE, np.array([np.nan, 1.0]))
    one = Column(DOUBLE, np.array([1.0, 1.0]))
    assert index.ids([one, one], create=True).tolist() == [0, 0]
    assert index.ids([nan, one], create=False).tolist() == [-1, 0]


def test_of_old_rows_whose_key_is_nan_the_first_is_loaded() -> None:
    """Tables of earlier versions took several; each of them is one key now."""
    schema = StreamSchema("T", (Attribute("s", AttributeType.STRING), Attribute("d", DOUBLE)))
    store = TableStore(schema, (1,), (), StringPool())
    saved = [(5, ("a", float("nan"))), (6, ("b", 2.0)), (7, ("c", float("nan")))]
    store.load((3, saved))
    assert [data[0] for _, data in store.store()[1]] == ["a", "b"]


def test_a_table_that_no_query_touches_keeps_what_it_was_loaded_with() -> None:
    """A fresh one stores nothing of its own."""
    unit = PassiveTable("T")
    states = States({})
    unit.store(states)
    assert states.operators == {}
    unit.load(States({"table/T/rows": (1, ["row"])}))
    unit.store(states)
    assert states.operators == {"table/T/rows": (1, ["row"])}


WRITES = {
    "insert": "from R select s, i, i as n insert into T;",
    "upsert": "from R select s, i, i as n update or insert into T on T.s == s;",
    "update": "from R select s, i, i as n insert into T;"
    " from R select s, i, i + 1 as n update T set T.n = n on T.s == s;",
    "delete": "from R select s, i, i as n insert into T; from Gone delete T on T.s == s;",
}
STEPS: list[Step] = [
    (100, "R", [["a", 1], ["b", 2], ["a", 3]]),
    (200, "S", [["a", 0], [None, 0], ["z", 0]]),
    (300, "Gone", [["a"], ["z"]]),
    (300, "S", [["a", 0], ["b", 0]]),
    (400, "R", [["a", 7]]),
    (400, "S", [["a", 0], ["b", 0]]),
]


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("outer", ["", "left outer"])
def test_a_join_sees_each_write_when_it_was_made(write: str, outer: str) -> None:
    """Within a slice, too; who meets nobody stands alone in an outer join."""
    text = S + WRITES[write] + JOIN.format(outer, "")
    assert unit_of(text, TableJoin).shows_timers is False
    rows = played(text, *STEPS, rule=TABLE_JOIN.name)
    seen = [row for chunk in rows for row in chunk if row[1] is not None]
    first = {"insert": 1, "upsert": 3, "update": 1, "delete": 1}[write]
    number = {"insert": 1, "upsert": 3, "update": 4, "delete": 1}[write]
    assert seen[0] == ("a", first, number)
    assert (None, None, None) in [row for chunk in rows for row in chunk] or not outer


def test_a_condition_beside_the_key() -> None:
    """Only rows that meet it count."""
    text = S + WRITES["upsert"] + JOIN.format("", "and T.i > 2")
    assert played(text, *STEPS, rule=TABLE_JOIN.name) == [
        [("a", 3, 3)],
        [("a", 3, 3)],
        [("a", 7, 7)],
    ]


ANY = {
    "a filter on the table's side": JOIN.format("", "").replace("join T", "join T[i > 2]"),
    "no equality": JOIN.format("", "").replace("T.s == S.s", "T.i > S.i"),
    "aggregates": "from S join T on T.i >= S.i select S.s as s, count() as n, sum(T.n) as t"
    " insert into O;",
    "groups": "from S join T select T.s as s, max(T.i) as m group by T.s insert all events into O;",
    "expired rows": JOIN.format("left outer", "").replace("insert", "insert all events"),
    "a table of its own": JOIN.format("", "").replace("into O", "into U")
    + "from S join U on U.s == S.s select S.s as s, U.n as n insert into O;",
    "membership": "from S[(T.s == S.s and T.i > 1) in T] select s, i insert into O;",
    "membership behind a window": "from S#window.length(1)[not ((T.s == S.s) in T)]"
    " select s, count() as n insert into O;",
}


@pytest.mark.parametrize("query", ANY)
@pytest.mark.parametrize(
    "key", ["@PrimaryKey('s')", "@PrimaryKey('i')", "@PrimaryKey('i', 's')", ""]
)
def test_what_a_query_may_ask_of_a_table(query: str, key: str) -> None:
    """Whatever its key is."""
    text = S.replace("@PrimaryKey('s')", key) + "define table U (s string, i int, n int); "
    found = lowering_of(plan_of(text + WRITES["insert"] + ANY[query]))
    assert None not in [choice.rule for choice in found.choices]
    played(text + WRITES["insert"] + ANY[query], *STEPS, rule=found.choices[-1].rule or "")


CHANGES = {
    "computed": "update T set T.n = T.n + n on T.s == s;",
    "computed again and again": "update or insert into T set T.n = T.n + n, T.i = T.n on T.s == s;",
    "not by equality": "update T set T.n = n on T.i < i;",
    "of the key": "update T set T.s = s on T.i == i;",
    "deletions": "delete T on T.i < i;",
    "tested": "update or insert into T set T.n = T.n + n on T.s == s and T.i % 3 != i % 3;",
    "tested deletions": "delete T on T.s == s and (T.n > n or T.n is null);",
    "what no program says": "update T set T.n = n on T.s == s and str:length(T.s) < i;",
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("key", ["@PrimaryKey('s')", "@store(type='rdbms')", "@Index('i')"])
def test_changes_of_any_kind(change: str, key: str) -> None:
    """On columns or one by one; the rows of a hot key are computed one by one, too."""
    text = S.replace("@PrimaryKey('s')", key) + WRITES["insert"]
    text += f"from R select s, i, i as n {CHANGES[change]}" + JOIN.format("", "")
    hot: list[Step] = [(500, "R", [["a", i + at] for i in range(20)]) for at in (0, 20, 40)]
    assert played(text, *STEPS, *hot, *STEPS[1:2], rule=TABLE_JOIN.name)


def test_a_program_beside_what_has_none() -> None:
    """Also where a slice brings only what has one."""
    text = S + "from R select s, i, i as n insert into T;"
    text += "from Gone update T set T.n = str:length(T.s) on T.s == s;"
    text += "from Gone update T set T.i = T.i + 1 on T.s == s;"
    text = text.replace("from Gone update", "from Went update", 1).replace(
        "define stream Gone", "define stream Went (s string); define stream Gone"
    )
    text += JOIN.format("", "")
    steps: list[Step] = [*STEPS[:3], (300, "S", [["a", 0]]), (400, "Went", [["a"]]), STEPS[5]]
    assert not unit_of(text, TableUnit).is_one_by_one
    assert [("a", 2, 1)] in played(text, *steps, rule=TABLE_JOIN.name)


def test_who_meets_nobody_stands_alone() -> None:
    """In the order of the events."""
    events, places = with_lonely(longs(1, 1), longs(7, 8), 3)
    assert (events.tolist(), places.tolist()) == ([0, 1, 1, 2], [-1, 7, 8, -1])
