"""Expressions on columns: Java's arithmetic, nulls, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lockstep.columns.column import from_values
from lockstep.columns.frame import Rows
from lockstep.columns.rule import NotLowerable
from lockstep.expressions.columns import Compiler
from lockstep.plan import build
from lockstep.siddhiql import check
from lockstep.siddhiql.checked import CheckedQuery
from tests.unit.columns.flows import DOUBLE, INT, LONG, STRING

COLUMNS = (
    from_values(STRING, ["a", None, "b"]),
    from_values(INT, [7, -7, None]),
    from_values(LONG, [2, 0, 3]),
    from_values(DOUBLE, [0.5, -0.0, None]),
)


def value(text: str) -> list[Any]:
    """An expression over three rows of (s, i, l, d)."""
    app = f"define stream S (s string, i int, l long, d double); from S select {text} as x insert into O;"  # noqa: E501
    (query,) = build(check(app)).checked.execution
    assert isinstance(query, CheckedQuery)
    times = np.array([10, 20, 30])
    frame = Rows(3, lambda slot, at: COLUMNS[at], lambda: times, lambda: times + 1)
    return Compiler(query.scope).compile(query.selection[0].expression)(frame).to_pylist()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("i + 1", [8, -6, None]),
        ("i / 2", [3, -3, None]),
        ("i % 4", [3, -3, None]),
        ("i / l", [3, None, None]),
        ("l / 0", [None, None, None]),
        ("d / 0.0", [None, None, None]),
        ("i * 2.0", [14.0, -14.0, None]),
        ("i > 0", [True, False, False]),
        ("s == 'a'", [True, False, False]),
        ("s != 'a'", [False, True, True]),
        ("not (i > 0)", [False, True, True]),
        ("i > 0 or s is null", [True, True, False]),
        ("coalesce(i, 1)", [7, -7, 1]),
        ("ifThenElse(i > 0, s, 'z')", ["a", "z", "z"]),
        ("eventTimestamp()", [10, 20, 30]),
        ("currentTimeMillis()", [11, 21, 31]),
        ("2147483647 + i", [-2147483642, 2147483640, None]),
    ],
)
def test_values(text: str, expected: list[Any]) -> None:
    """What the reference brings."""
    assert value(text) == expected


def test_what_has_no_columnar_form_is_refused_beforehand() -> None:
    """Never while events go through."""
    with pytest.raises(NotLowerable):
        value("math:rand()")
