"""On-demand queries (grammar 12, semantics 11) against a checked app."""

from __future__ import annotations

import pytest

from lockstep.events import AttributeType
from lockstep.siddhiql import CheckedOnDemand, SiddhiQLError, ast, check, check_on_demand
from lockstep.siddhiql.checked import SourceKind
from lockstep.siddhiql.checking.on_demand import NOTHING_TO_ASK
from lockstep.siddhiql.scope import OUTPUT_SLOT
from tests.unit.siddhiql.refusals import STREAMS, says

APP = check(STREAMS)


def _ask(text: str) -> CheckedOnDemand:
    return check_on_demand(text, APP)


def _error(text: str) -> SiddhiQLError:
    with pytest.raises(SiddhiQLError) as caught:
        _ask(text)
    return caught.value


def test_find() -> None:
    """Plain names mean the store; outputs are what having sees."""
    found = _ask(
        "from T on i > 1 select s, sum(i) as t group by s having t > 2L order by t limit 3"
    )
    assert found.kind is SourceKind.TABLE
    assert found.output.types == (AttributeType.STRING, AttributeType.LONG)
    assert found.uses_aggregators
    assert found.having_scope.resolve(ast.Variable("t")).slot == OUTPUT_SLOT
    assert found.scope.resolve(ast.Variable("i", "T")).attribute == 1
    assert found.action_scope is None
    assert _ask("from W").output.names == ("s", "i")


def test_aggregations_need_their_range() -> None:
    """`within` and `per` are both needed, and only there."""
    found = _ask("from A within '2020-**-** **:**:**' per 'hours' select AGG_TIMESTAMP, total")
    assert found.kind is SourceKind.AGGREGATION
    says(_error("from A select total"), "needs 'within' and 'per'")
    says(_error("from T within 1L, 2L per 'sec' select s"), "for aggregations")
    says(_error("from A within '2017-06-** 12:**:**' per 'hours'"), "is no time")


def test_writes() -> None:
    """Values come from constants; the action sees the output row and the table's row."""
    inserted = _ask("select 'x' as s, 5 as i insert into T")
    assert inserted.kind is None
    assert inserted.output.name == "T"
    updated = _ask("select 5 as n update T set T.i = n + T.i on T.s == 'x'")
    assert updated.action_scope is not None
    assert updated.action_scope.resolve(ast.Variable("n")).slot == 0
    assert updated.action_scope.resolve(ast.Variable("i", "T")).slot == 1
    assert _ask("delete T on T.s == 'x'").selection == ()
    _ask("select 'x' as s, 5 as i update or insert into T on T.s == s")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("from X select a", ("'X' is not defined",)),
        ("from S select s", ("is a stream, which keeps no events",)),
        ("from T select x", ("'x' is not an attribute of T",)),
        ("from T as t select t.s", ("reference 't'",)),
        ("from T on i select s", ("must be a condition",)),
        ("select 5 as i insert into T", ("does not fit 'T'",)),
        ("select 5 as i insert into X", ("there is no table 'X'",)),
        ("select 'x' as s update or insert into T on T.s == s", ("lacks i",)),
        ("delete T", ("needs a condition",)),
        ("update T set T.x = 1 on T.i == 1", ("no attribute 'x'",)),
        ("select * insert into T", ("needs a store",)),
        ("select x as s, 5 as i insert into T", ("'x' is not",)),
        ("from T select", ("end of the text",)),
        ("fro T", ("expected 'from'",)),
    ],
)
def test_refused(text: str, parts: tuple[str, ...]) -> None:
    """The same errors as in apps."""
    says(_error(text), *parts)


def test_an_app_that_has_nothing_to_be_asked() -> None:
    """The hint says what could be."""
    app = check("define stream S (s string); from S select s insert into O;")
    with pytest.raises(SiddhiQLError) as caught:
        check_on_demand("from X select s", app)
    assert caught.value.hint == NOTHING_TO_ASK
    with pytest.raises(SiddhiQLError) as caught:
        check_on_demand("from O select s", app)
    assert "within" in (caught.value.hint or "")


def test_an_empty_question() -> None:
    """It is no app: the hint says what can be asked."""
    says(_error(" "), "the text is empty", "ask with 'from <table> …'")
