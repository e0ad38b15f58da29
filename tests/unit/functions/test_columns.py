"""Function calls on columns: the reference's function, once per row or per different value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lockstep.columns.column import Unfit, from_values
from lockstep.columns.frame import Evaluate, Rows
from lockstep.columns.rule import NotLowerable
from lockstep.events import AttributeType
from lockstep.expressions.columns import Compiler
from lockstep.functions.columns import Probe, mapped
from lockstep.plan import plan_of
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedQuery
from lockstep.testing import VirtualApp
from tests.unit.columns.flows import DOUBLE, INT, STRING

COLUMNS = (
    from_values(STRING, ["b", None, "a", "b"]),
    from_values(INT, [1, 2, None, 4]),
    from_values(DOUBLE, [0.5, None, -1.0, 1.0]),
)


def compiled(text: str) -> Evaluate:
    """A call over (s, i, d)."""
    app = f"define stream S (s string, i int, d double); from S select {text} as x insert into O;"
    (query,) = plan_of(app).checked.execution
    assert isinstance(query, CheckedQuery)
    call = query.selection[0].expression
    assert isinstance(call, ast.FunctionCall)
    return Compiler(query.scope).compile(call)


def value(text: str, rows: int = 4) -> list[Any]:
    """The call's values for some of the rows."""
    times = np.arange(rows, dtype=np.int64)
    columns = [column.take(times) for column in COLUMNS]
    frame = Rows(rows, lambda slot, at: columns[at], lambda: times, lambda: times)
    found: list[Any] = compiled(text)(frame).to_pylist()
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("str:upper(coalesce(s, 'z'))", ["B", "Z", "A", "B"]),
        ("str:concat(s, 'x', s)", ["bxb", "x", "axa", "bxb"]),
        ("math:abs(d)", [0.5, None, 1.0, 1.0]),
        ("str:length('abc')", [3, 3, 3, 3]),
        ("convert(i, 'string')", ["1", "2", None, "4"]),
        (f"convert(str:concat('{'9' * 5000}', ''), 'long')", [None] * 4),
        ("coalesce(s, 'none')", ["b", "none", "a", "b"]),
        ("default(i, 9)", [1, 2, 9, 4]),
        ("ifThenElse(i > 1, s, 'z')", ["z", None, "z", "b"]),
    ],
)
def test_values(text: str, expected: list[Any]) -> None:
    """What the reference's functions give, nulls and all; nothing for no rows."""
    assert value(text) == expected
    assert value(text, rows=0) == []


def test_functions_of_the_app_have_no_columnar_form() -> None:
    """They may be of one text alone, and still do what they like."""
    app = (
        "define function tag[python] return string { return str(data[0]) };"
        " define stream S (s string); from S select tag(s) as x insert into O;"
    )
    (query,) = plan_of(app).checked.execution
    assert isinstance(query, CheckedQuery)
    call = query.selection[0].expression
    assert isinstance(call, ast.FunctionCall)
    with pytest.raises(NotLowerable, match="the app's own"):
        Compiler(query.scope).compile(call)


def test_a_function_of_one_text_is_called_once_per_different_text() -> None:
    """And once for null, where there is one; what is fixed is handed on."""
    asked: list[tuple[Any, ...]] = []

    def tell(*values: Any) -> str:
        asked.append(values)
        return repr(values)

    seven = ast.Constant(7, INT)
    times = np.arange(4, dtype=np.int64)
    frame = Rows(4, lambda slot, at: COLUMNS[0], lambda: times, lambda: times)
    arguments: list[Evaluate] = [lambda frame: frame.column(0, 0)] * 2
    found = mapped(tell, arguments, [None, seven], STRING, frame)
    assert found.to_pylist() == ["('b', 7)", "(None, 7)", "('a', 7)", "('b', 7)"]
    assert set(asked) == {("a", 7), ("b", 7), (None, 7)}
    assert mapped(tell, [], [seven], STRING, frame).to_pylist() == ["(7,)"] * 4
    assert len(asked) == 4


@pytest.mark.parametrize(
    ("type_", "values", "calls"),
    [
        (INT, [7, None, 7, 0, None], [0, 7]),
        (AttributeType.LONG, [1 << 40, None, 1 << 40, -1, -1], [-1, 1 << 40]),
        (AttributeType.BOOL, [True, None, True, False, True], [False, True]),
        (DOUBLE, [0.5, None, 0.5, 0.5, -1.0], [-1.0, 0.5, 0.5, 0.5]),
    ],
)
def test_a_function_of_one_value_is_called_once_per_different_value(
    type_: AttributeType, values: list[Any], calls: list[Any]
) -> None:
    """Floating numbers hardly come again: for these it is not looked for."""
    asked: list[Any] = []

    def tell(value: Any) -> str:
        asked.append(value)
        return repr(value)

    times = np.arange(len(values), dtype=np.int64)
    column = from_values(type_, values)
    frame = Rows(len(values), lambda slot, at: column, lambda: times, lambda: times)
    found = mapped(tell, [lambda frame: frame.column(0, 0)], [None], STRING, frame)
    assert found.to_pylist() == list(map(repr, values))
    assert sorted(one for one in asked if one is not None) == calls


def test_functions_that_ask_for_more_have_no_columnar_form() -> None:
    """State and an engine are refused beforehand, the clock when it is read."""
    probe: Any = Probe()
    with pytest.raises(NotLowerable, match="a function with state"):
        probe.register("seen", None)
    with pytest.raises(NotLowerable, match="needs engine"):
        _ = probe.engine
    with pytest.raises(Unfit, match="reads the clock"):
        probe.wall_ms()


def test_a_function_that_fails_leaves_the_slice_to_the_reference() -> None:
    """Which knows what to do with the event."""
    with pytest.raises(Unfit, match="a function failed"):
        value("str:upper(s)")


@pytest.mark.parametrize("value", [True, 3, 2.5, None])
def test_an_object_keeps_its_kind_under_another_type(value: object) -> None:
    """cast only gives it a type; a column of doubles would make 1.0 of true."""
    text = "define stream S (o object); from S select cast(o, 'double') as d insert into O;"
    found = {}
    for executor in ("reference", "columnar"):
        app = VirtualApp(text, executor=executor)
        app.send("S", [1.5])
        app.send("S", [value])
        found[executor] = [event.data for event in app.stream("O")]
    assert repr(found["columnar"]) == repr(found["reference"])


@pytest.mark.parametrize("call", ["math:abs", "math:ceil"])
def test_calls_in_calls_are_worked_out_once_each(call: str) -> None:
    """Were each worked out twice, forty of them would take as long as 2^40."""
    depth = 40
    text = f"{call}(" * depth + "d" + ")" * depth
    assert value(text)[1] is None
    assert len(value(text)) == 4
