"""What lies between a query that asks a table and one that writes it, put together."""

from __future__ import annotations

import pytest

from lockstep.columns.pool import StringPool
from lockstep.columns.rule import NotLowerable
from lockstep.plan import AppPlan, QueryNode, plan_of
from lockstep.siddhiql import ast
from lockstep.tables import program_kernel as machine
from lockstep.tables.foretelling import ForetoldWrites, foretold_writer
from lockstep.tables.foretold import SEEN, prophecy
from lockstep.tables.kernel import UPSERT
from lockstep.tables.store import TableStore

APP = (
    "define stream S (k string, v int); @PrimaryKey('k') define table T (k string, v int);"
    " from S[v > 0] left outer join T on T.k == S.k"
    " select S.k as k, S.v + 1 as w, T.v as before insert into Mid;"
    " from Mid[w > before] select k, w - before as v insert into Next;"
    " from Next select k, v update or insert into T set T.v = v on T.k == k;"
)
KEY = (0,)


def planned(text: str) -> tuple[AppPlan, QueryNode]:
    """An app, and its last query."""
    plan = plan_of(text)
    node = plan.nodes[-1]
    assert isinstance(node, QueryNode)
    return plan, node


def test_conditions_and_values_speak_of_the_event_and_of_the_row_that_was_seen() -> None:
    """Those of all queries on the way; which stand where the run has them."""
    plan, node = planned(APP)
    found = prophecy(plan, node, KEY)
    assert found is not None
    assert (found.asker, found.source) == (plan.nodes[0].name, "S")
    assert found.places == (0, 1, 2)
    assert found.between == {"Mid", "Next"}
    seen = ast.Variable("v", SEEN)
    assert len(found.guard) == 2
    assert isinstance(found.guard[1], ast.Compare)
    assert found.guard[1].right == seen
    value = found.outputs[1]
    assert isinstance(value, ast.Arithmetic)
    assert value.right == seen
    assert isinstance(value.left, ast.Arithmetic)


def test_who_asks_for_nothing_is_not_foretold() -> None:
    """It writes as its rows come."""
    plan, node = planned(
        "define stream S (k string, v int); @PrimaryKey('k') define table T (k string, v int);"
        " from S select k, v insert into T;"
    )
    assert prophecy(plan, node, KEY) is None


def test_another_key_cannot_be_foretold() -> None:
    """The row that was seen is another one then."""
    plan, node = planned(APP.replace("select k, w - before as v", "select 'a' as k, w as v"))
    with pytest.raises(NotLowerable, match="another key"):
        prophecy(plan, node, KEY)


def test_the_writer_computes_what_looks_at_the_row() -> None:
    """What the event alone tells comes as columns, the rest as steps."""
    plan, node = planned(APP)
    found = prophecy(plan, node, KEY)
    assert found is not None
    table = TableStore(plan.schemas["T"], KEY, (), StringPool())
    writer = foretold_writer(node.query, found, table)
    assert writer.foretold is not None
    assert writer.kind == UPSERT
    assert set(writer.foretold.outputs) == {1}
    assert writer.foretold.guard[-1] == (machine.GREATER, 0)
    assert writer.foretold_attributes == {1}
    unit = ForetoldWrites(node, found, "T<-it")
    assert (unit.reads, unit.writes, unit.place) == (("S",), "T<-it", 0)
