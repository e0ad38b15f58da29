"""What queries do to a table by its primary key, and which do not go by it."""

from __future__ import annotations

import pytest

from lockstep.columns.pool import StringPool
from lockstep.columns.rule import NotLowerable
from lockstep.plan import QueryNode, plan_of
from lockstep.tables import kernel
from lockstep.tables.store import TableStore, Writer
from lockstep.tables.writers import writer_of

DEFINITIONS = (
    "define stream S (a int, b string, n long); @PrimaryKey('b') define table T (a int, b string); "
)


def writer(query: str) -> Writer:
    """Of a query of S."""
    plan = plan_of(f"{DEFINITIONS}from S {query};")
    (node,) = plan.nodes
    assert isinstance(node, QueryNode)
    return writer_of(node.query, TableStore(plan.checked.schemas["T"], (1,), StringPool()))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("select a, b insert into T", Writer(kernel.INSERT, (1,), (0, 1))),
        ("select b delete T on T.b == b", Writer(kernel.DELETE, (0,))),
        ("select b, a update T on b == T.b", Writer(kernel.UPDATE, (0,), (1, 0), (False, False))),
        (
            "select b, a update T set T.a = a on T.b == b",
            Writer(kernel.UPDATE, (0,), (1, None), (False, True)),
        ),
        (
            "select a, b update or insert into T on T.b == b",
            Writer(kernel.UPSERT, (1,), (0, 1), (False, False)),
        ),
    ],
)
def test_where_a_writer_finds_what(query: str, expected: Writer) -> None:
    """The key, the values, and what a row that is there keeps."""
    found = writer(query)
    assert found == expected
    assert found.keeps_attribute(0) is bool(expected.keeps and expected.keeps[0])


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("select a, b insert expired events into T", "expired rows"),
        ("select a, b update T on T.a == a", "primary key"),
        ("select a, b update T set T.a = T.a on T.b == b", "own values, or of another type"),
        ("select a, b update T set T.a = a + 1 on T.b == b", "computed"),
        ("select a, b, 'x' as c update T set T.b = c on T.b == b", "may change the primary key"),
    ],
)
def test_what_has_no_columnar_form_says_why(query: str, reason: str) -> None:
    """Those run on the reference."""
    with pytest.raises(NotLowerable, match=reason):
        writer(query)
