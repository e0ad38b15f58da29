"""How rows come into a table on columns, and how events find them."""

from __future__ import annotations

import numpy as np

from lockstep.columns.chunks import Chunks
from lockstep.columns.column import from_values
from lockstep.columns.order import Order
from lockstep.columns.pairs import beside
from lockstep.columns.pool import StringPool
from lockstep.execute.columnar import lowering_of
from lockstep.plan import AppPlan, QueryNode, plan_of
from lockstep.siddhiql.checked import CheckedJoin
from lockstep.tables import kernel
from lockstep.tables.columns import TableUnit
from lockstep.tables.coming import Coming
from lockstep.tables.following import Followed, Layout
from lockstep.tables.lookup import Lookup
from lockstep.tables.rows import Rows
from lockstep.tables.store import TableStore
from lockstep.tables.values import brought, fill, sought
from lockstep.tables.writers import writer_of
from lockstep.tables.writing import write
from tests.unit.columns.flows import INT, STRING, longs

DEFINITIONS = "define stream S (s string, i int); define table T (s string, i int); "
JOIN = "from S join T on T.s == S.s and T.i > S.i select S.s as s insert into O;"


def planned(query: str) -> tuple[AppPlan, QueryNode]:
    """A query of S."""
    plan = plan_of(f"{DEFINITIONS}{query}")
    (node,) = plan.nodes
    assert isinstance(node, QueryNode)
    return plan, node


def came(texts: list[str | None], numbers: list[int | None]) -> Chunks:
    """Events of S, a chunk each."""
    count = len(texts)
    columns = (from_values(STRING, texts), from_values(INT, numbers))
    each = np.arange(count + 1, dtype=np.int64)
    return Chunks(columns, each[:-1], each, Order(2 * each[:-1] + 1), each[:-1])


def test_an_event_finds_the_rows_that_match_when_it_comes() -> None:
    """By the index first, then by what else has to hold; null is equal to nothing."""
    plan, node = planned(JOIN)
    join = node.query.input
    assert isinstance(join, CheckedJoin)
    table = TableStore(plan.checked.schemas["T"], (), (), StringPool())
    found = Lookup(join.input.on, join.scope, 1, table)
    table.load((3, [(1, ("a", 1)), (2, ("b", 5)), (3, ("a", 7))]))
    events = beside(came(["a", "b", None, "a"], [0, 5, 0, 6]), 0)
    reads, places = found.find(events, longs(0, 0, 0, 0))
    assert reads.tolist() == [0, 0, 3]
    assert table.held.column(1, places).to_pylist() == [1, 7, 7]
    assert found.contains(events, longs(0, 0, 0, 0)).tolist() == [True, False, False, True]


def test_the_keys_of_rows_are_known_before_their_values() -> None:
    """A writer brings the one, and then the other is filled in."""
    plan, node = planned("from S update or insert into T set T.i = T.i + i on T.s == s;")
    table = TableStore(plan.checked.schemas["T"], (), (), StringPool())
    writer, chunks = (
        writer_of(node.query, table),
        came(["a", "b", "a", *map(str, range(60))], [1, 2, 3, *range(60)]),
    )
    new, changed = brought(writer, chunks, table)
    assert new[writer.index.number].tolist() == [0, 1, 0, *range(2, 62)]
    assert set(changed[writer.index.number].tolist()) == {-1}
    kind, index, wanted = sought(writer, chunks)
    assert wanted.tolist() == new[writer.index.number].tolist()
    rows = Rows([(writer, chunks)], [None], np.arange(63))
    followed = Followed(Layout([writer], 2), rows, table)
    made = kernel.Writes(kind, index, wanted, new, changed)
    write(table, made, chunks.order, followed)
    assert table.journal is not None
    fill(table, table.journal.entries, rows, followed)
    assert table.column(1, table.places()).to_pylist() == [4, 2, *range(60)]
    assert isinstance(table.coming, Coming)
    table.settle()
    for attribute, values in enumerate((["a", "b", *map(str, range(60))], [4, 2, *range(60)])):
        assert table.held.column(attribute, table.places()).to_pylist() == values


def test_a_table_runs_in_front_of_those_who_read_it() -> None:
    """Also without anything that came."""
    parts = lowering_of(plan_of(f"{DEFINITIONS}{JOIN}")).units
    (unit,) = (part for part in parts if isinstance(part, TableUnit))
    assert parts.index(unit) == 0
    assert unit.reads == ()
    assert unit.due_ms() is None
