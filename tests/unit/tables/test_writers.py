"""What queries do to a table on columns, and which of them only the reference's rows can follow."""

from __future__ import annotations

import pytest

from lockstep.columns.pool import StringPool
from lockstep.columns.rule import NotLowerable
from lockstep.operators.contract import StreamEvent
from lockstep.plan import AppPlan, QueryNode, plan_of
from lockstep.tables import kernel
from lockstep.tables.one_by_one import OneByOne
from lockstep.tables.store import TableStore
from lockstep.tables.writers import Writer, action_of, keeps_up, writer_of

DEFINITIONS = (
    "define stream S (a int, b string, n long); @PrimaryKey('b') define table T (a int, b string); "
)


def planned(query: str) -> tuple[AppPlan, QueryNode]:
    """A query of S."""
    plan = plan_of(f"{DEFINITIONS}from S {query};")
    (node,) = plan.nodes
    assert isinstance(node, QueryNode)
    return plan, node


def writer(query: str) -> tuple[Writer, TableStore]:
    """Of a query of S."""
    plan, node = planned(query)
    table = TableStore(plan.checked.schemas["T"], (1,), (), StringPool())
    return writer_of(node.query, table), table


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("select a, b insert into T", (kernel.INSERT, (), (0, 1), ())),
        ("select b delete T on T.b == b", (kernel.DELETE, (1,), (), ())),
        ("select a delete T on T.a == a", (kernel.DELETE, (0,), (), ())),
        ("select a delete T on T.a > a", (kernel.DELETE, (), (), ())),
        ("select a, b delete T on T.a == a and T.b == b", (kernel.DELETE, (1,), (), ())),
        ("select b, a update T on b == T.b", (kernel.UPDATE, (1,), (), (1, 0))),
        ("select b, a update T set T.a = a on T.b == b", (kernel.UPDATE, (1,), (), (1, None))),
        ("select a, b update or insert into T on T.b == b", (kernel.UPSERT, (1,), (0, 1), (0, 1))),
        ("select a, b insert expired events into T", (kernel.INSERT, (), (0, 1), ())),
    ],
)
def test_where_a_writer_finds_what(query: str, expected: tuple[object, ...]) -> None:
    """The index, the values of new rows, and what a row that is there keeps."""
    found, _ = writer(query)
    shown = found.kind, found.index.attributes, tuple(found.inserted), tuple(found.changed)
    assert shown == expected


def test_an_index_that_a_change_may_break() -> None:
    """Its rows' keys are known only when the rows are."""
    found, table = writer("select a, b update T set T.a = T.a + a on T.b == b")
    assert list(found.computed) == [0]
    assert keeps_up(found, table)
    table.index((0,))
    assert not keeps_up(found, table)
    found, table = writer("select a, b update T set T.a = a on T.b == b")
    table.index((0, 1))
    assert not keeps_up(found, table)


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("select a, b update T on T.a == a", "primary key"),
        ("select a, b delete T on str:length(T.b) > a", "of a row"),
        ("select a, b delete T on T.b == b and eventTimestamp() > a", "of a row"),
        ("select a, b, 'x' as c update T set T.b = c on T.b == b", "may change the primary key"),
    ],
)
def test_what_is_done_one_by_one_says_why(query: str, reason: str) -> None:
    """By the reference's actions on rows."""
    with pytest.raises(NotLowerable, match=reason):
        writer(query)
    plan, node = planned(query)
    rows = OneByOne(plan.checked.tables["T"], plan.checked.schemas["T"])
    assert action_of(node.query, rows.table, rows.context).apply(StreamEvent(0, (1, "b", 2))) == 0
