"""Keyed tables in columns: what queries write, what joins and states see of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lockstep.columns.column import Column, Unfit, from_values
from lockstep.columns.keys import KeySpace
from lockstep.columns.order import Order
from lockstep.columns.pool import StringPool
from lockstep.columns.units import States
from lockstep.events import Attribute, StreamSchema
from lockstep.tables import kernel
from lockstep.tables.columns import PassiveTable
from lockstep.tables.join import TableJoin
from lockstep.tables.rule import TABLE_JOIN
from lockstep.tables.store import TableStore, key_ids
from tests.unit.columns.flows import DOUBLE, INT, STRING, chunks, longs
from tests.unit.side_by_side import Step, played, reasons, unit_of

S = (
    "define stream S (s string, i int); define stream R (s string, i int);"
    " define stream Gone (s string);"
    " @PrimaryKey('s') define table T (s string, i int, n int); "
)
JOIN = "from S {} join T on T.s == S.s {} select S.s as s, T.i as i, T.n as n insert into O;"


def schema(*types: Any) -> StreamSchema:
    """A table `T` of attributes a, b, …"""
    return StreamSchema("T", tuple(Attribute("abc"[i], type_) for i, type_ in enumerate(types)))


def insert(table: TableStore, *keys: int, kind: int = kernel.INSERT) -> list[int]:
    """Writes rows (key, 10 times the key); what `write` gives."""
    columns = [from_values(INT, keys), from_values(INT, [10 * key for key in keys])]
    places = table.held.add(columns, longs(*keys))
    ids = key_ids(table.keys, columns[:1], create=True)
    order = Order(np.arange(len(keys), dtype=np.int64) * 2 + 1)
    return table.write(np.full(len(keys), kind, np.int64), ids, places, order).tolist()  # type: ignore[no-any-return]


def test_refused_rows_give_their_places_back() -> None:
    """When the slice is over; as those that are replaced do."""
    table = TableStore(schema(INT, INT), (0,), StringPool())
    assert insert(table, 1, 2, 1) == [-1, -1, kernel.NOTHING]
    assert (len(table), len(table.held)) == (2, 3)
    table.settle()
    assert len(table.held) == 2
    insert(table, 2, kind=kernel.UPSERT)
    assert len(table.held) == 3
    table.settle()
    assert (len(table), len(table.held)) == (2, 2)


def test_rows_are_stored_in_the_order_in_which_they_came() -> None:
    """With the most there ever were; and loaded the same."""
    table = TableStore(schema(INT, INT), (0,), StringPool())
    insert(table, 3, 1, 2)
    insert(table, 1, kind=kernel.DELETE)
    table.settle()
    assert table.store() == (3, [(3, (3, 30)), (2, (2, 20))])
    other = TableStore(schema(INT, INT), (0,), StringPool())
    other.load(table.store())
    assert other.store() == table.store()
    empty = TableStore(schema(INT, INT), (0,), StringPool())
    empty.load((7, []))
    assert empty.store() == (7, [])


def test_reads_of_null_and_nan_find_nothing() -> None:
    """They are equal to no key; written they have no columnar form."""
    nan = Column(DOUBLE, np.array([np.nan, 1.0]))
    with pytest.raises(Unfit, match="null in a primary key"):
        key_ids(KeySpace(), [nan], create=True)
    with pytest.raises(Unfit, match="null in a primary key"):
        key_ids(KeySpace(), [from_values(STRING, ["a", None])], create=True)
    table = TableStore(schema(DOUBLE), (0,), StringPool())
    columns = [from_values(DOUBLE, [1.0])]
    ids = key_ids(table.keys, columns, create=True)
    places = table.held.add(columns, longs(1))
    table.write(longs(kernel.INSERT), ids, places, Order(longs(1)))
    asked = chunks([1], [2])
    assert table.read([nan], asked, Order(longs(0, 0))).tolist() == [-1, -1]
    assert table.read([nan], asked, Order(longs(3, 3))).tolist() == [-1, int(places[0])]


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


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("from S join T on T.i == S.i select T.s as s insert into O;", "fix the primary key"),
        ("from S join T[i > 1] on T.s == S.s select T.s as s insert into O;", "table's side"),
        ("from S select s, i, i as n update T set T.n = T.n + n on T.s == s;", "computed"),
    ],
)
def test_what_has_no_columnar_form_says_why(text: str, reason: str) -> None:
    """The rest of the app runs in columns beside it."""
    assert reason in reasons(S + text)[0]
