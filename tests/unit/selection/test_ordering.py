"""order by, limit and offset on columns."""

from __future__ import annotations

import numpy as np

from lockstep.columns.column import Column, from_values
from lockstep.columns.flow import CURRENT, EXPIRED
from lockstep.columns.frame import Rows
from lockstep.events import AttributeType
from lockstep.expressions.columns import Compiler
from lockstep.plan import build
from lockstep.selection.ordering import Ordering, ranks_of
from lockstep.siddhiql import check
from tests.unit.columns.flows import DOUBLE, INT, STRING, longs


def ordering(clauses: str) -> Ordering:
    """That of a query over the attributes s and i."""
    app = f"define stream S (s string, i int); from S select s, i {clauses} insert into O;"
    (query,) = build(check(app)).checked.execution
    return Ordering(query.query.selector, Compiler(query.having_scope))  # type: ignore[union-attr]


def rows(names: list[str | None], numbers: list[int | None]) -> Rows:
    """A frame of both."""
    columns = [from_values(STRING, names), from_values(INT, numbers)]
    none = np.zeros(len(names), np.int64)
    return Rows(len(names), lambda slot, at: columns[at], lambda: none, lambda: none)


def test_stable_and_nulls_last() -> None:
    """Both ways; equal rows keep their order."""
    frame = rows(["b", "a", None, "b"], [1, 2, 3, 4])
    chunk = longs(0, 0, 0, 0)
    assert ordering("order by s").arrange(frame, chunk, None).tolist() == [1, 0, 3, 2]
    assert ordering("order by s desc").arrange(frame, chunk, None).tolist() == [0, 3, 1, 2]
    assert ordering("order by s, i desc").arrange(frame, chunk, None).tolist() == [1, 3, 0, 2]


def test_each_chunk_and_each_run_of_a_kind_by_itself() -> None:
    """What left is not mixed with what came."""
    frame = rows(["x"] * 5, [3, 1, 2, 9, 0])
    kinds = np.array([EXPIRED, EXPIRED, CURRENT, CURRENT, CURRENT], np.int8)
    by_number = ordering("order by i")
    assert by_number.arrange(frame, longs(0, 0, 0, 0, 0), kinds).tolist() == [1, 0, 4, 2, 3]
    assert by_number.arrange(frame, longs(0, 0, 0, 1, 1), None).tolist() == [1, 2, 0, 4, 3]


def test_limit_and_offset_by_chunk() -> None:
    """Expired rows are never cut, but use the limit up."""
    frame = rows(["x"] * 5, [1, 2, 3, 4, 5])
    chunk = longs(0, 0, 0, 1, 1)
    assert ordering("limit 1").arrange(frame, chunk, None).tolist() == [0, 3]
    assert ordering("limit 1 offset 1").arrange(frame, chunk, None).tolist() == [1, 4]
    assert ordering("offset 2").arrange(frame, chunk, None).tolist() == [2]
    kinds = np.array([EXPIRED, EXPIRED, CURRENT, CURRENT, CURRENT], np.int8)
    assert ordering("limit 1").arrange(frame, longs(0, 0, 0, 0, 0), kinds).tolist() == [0, 1]


def test_nothing_asked() -> None:
    """Nothing to do."""
    assert not ordering("").is_active


def test_ranks() -> None:
    """Zeros are equal; strings go by their characters; NaN stands behind numbers, before null."""
    assert ranks_of(from_values(DOUBLE, [0.0, -0.0, -1.0]), descending=False).tolist() == [1, 1, 0]
    texts = from_values(STRING, ["ä", "b", "B"])
    ranks = ranks_of(texts, descending=False)
    assert np.argsort(ranks).tolist() == [2, 1, 0]
    reals = np.array([np.nan, 1.0, 0.0, np.inf, -np.nan])
    column = Column(AttributeType.DOUBLE, reals, np.array([False, False, True, False, False]))
    up, down = (ranks_of(column, descending=falls) for falls in (False, True))
    assert np.argsort(up, kind="stable").tolist() == [1, 3, 0, 4, 2]
    assert np.argsort(down, kind="stable").tolist() == [0, 4, 3, 1, 2]
    hidden = Column(AttributeType.DOUBLE, np.array([np.nan, 1.0]), np.array([True, False]))
    assert np.argsort(ranks_of(hidden, descending=True)).tolist() == [1, 0]
