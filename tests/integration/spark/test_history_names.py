"""Spark SQL over streams whose names or types are easily taken for one another."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lockstep.archive.place import Place
from lockstep.batch.header import Language, header_of
from lockstep.batch.marks import marks_of
from lockstep.batch.model import Run
from lockstep.batch.results import Results, formed, shape_of
from lockstep.batch.views import Batch
from lockstep.events import AttributeType
from lockstep.execute.spark.bulk import QueryRefusedError
from lockstep.history.asking import History, answered
from lockstep.history.errors import HistoryError
from lockstep.settings import load_settings
from tests.unit.archive.streams import Archived

SETTINGS = load_settings({"LOCKSTEP_SPARK__MASTER": "local[2]"})
INT, LONG, STRING = AttributeType.INT, AttributeType.LONG, AttributeType.STRING
BOOL, DOUBLE = AttributeType.BOOL, AttributeType.DOUBLE
pytestmark = pytest.mark.spark


@pytest.fixture
def place(tmp_path: Path, spark_env: None) -> Place:
    """Empty."""
    return Place(str(tmp_path))


def rows(place: Place, sql: str, app: str | None = None) -> list[tuple[Any, ...]]:
    """Of a query."""
    found = answered(History(place, SETTINGS), sql, app, 100).to_pylist()
    return [tuple(one.values()) for one in found]


def test_names_that_differ_in_case_are_refused_and_not_taken_for_one_another(place: Place) -> None:
    """Spark does not tell them apart; the error names both, and Python has each."""
    big = Archived(place, "Big")
    big.take("Click", {"n": INT}, (1,))
    big.take("click", {"n": INT}, (100,))
    big.take("Out", {"n": INT}, (7,))
    for name in ("Click", "click", "Big__click", "CLICK__in"):
        with pytest.raises(HistoryError, match="may be what came in as 'Click' of the app") as told:
            rows(place, f"select n from {name}")
        assert "Python tells streams apart" in str(told.value)
    history = History(place, SETTINGS)
    assert [one.n for one in history.stream("Big", "Click").collect()] == [1]
    assert [one.n for one in history.stream("Big", "click").collect()] == [100]
    assert rows(place, "select n as click, 'Click' as s from Out") == [(7, "Click")]


def test_apps_whose_streams_are_called_alike(place: Place) -> None:
    """The short name may be either's; the long ones are each its own."""
    for app, stream, value in (("A", "Click", 1), ("B", "click", 2), ("My__App", "Sale", 3)):
        Archived(place, app).take(stream, {"n": INT}, (value,))
    with pytest.raises(HistoryError, match="ask for A__Click or B__click"):
        rows(place, "select n from Click")
    assert rows(place, "select n from a__click") == [(1,)]
    assert rows(place, "select n from B__click") == [(2,)]
    assert rows(place, "select n from Click", "A") == [(1,)]
    for name in ("Sale", "Sale__in", "My__App__Sale", "My__App__Sale__in"):
        assert rows(place, f"select n from {name}") == [(3,)]


def test_what_an_earlier_query_named_is_nothing_to_the_next(place: Place) -> None:
    """One app's stream, and then another app that has none of that name."""
    Archived(place, "A").take("Click", {"n": INT}, (1,))
    Archived(place, "B").take("Sale", {"n": INT}, (2,))
    history = History(place, SETTINGS)
    assert answered(history, "select n from Click", "A", 9).to_pylist() == [{"n": 1}]
    with pytest.raises(QueryRefusedError, match="Click"):
        answered(history, "select n from Click", "B", 9)


def test_a_stream_whose_type_has_changed_can_be_asked(place: Place) -> None:
    """All its rows, each type under a name of its own; other streams as ever."""
    big = Archived(place, "Big")
    for stream in ("Click", "In"):
        big.take(stream, {"page": STRING, "n": INT}, ("a", 1), ("b", 2))
        big.take(stream, {"page": STRING, "n": BOOL}, ("c", True))
    big.take("Out", {"s": STRING, "k": LONG}, ("click", 7))
    assert rows(place, "select count(*) from Click") == [(3,)]
    asked = "select page, n__number, n__bool from Click order by page"
    assert rows(place, asked) == [("a", 1, None), ("b", 2, None), ("c", None, True)]
    assert rows(place, "select min(k) from Out where s = 'click'") == [(7,)]
    for column in ("n", "c.n"):
        with pytest.raises(HistoryError, match="'Click' has no 'n' of one type") as told:
            rows(place, f"select {column} from Click as c")
        assert "int since 20" in str(told.value)
        assert "Z and bool since 20" in str(told.value)
        assert "ask for n__number or n__bool" in str(told.value)
    with pytest.raises(QueryRefusedError, match="nothing"):
        rows(place, "select nothing from Click")
    frame = History(place, SETTINGS).stream("Big", "In")
    assert sorted(one.page for one in frame.where("n__bool").collect()) == ["c"]


def test_numbers_become_the_wider_type(place: Place) -> None:
    """And text of a stream that was a number is no number."""
    big = Archived(place, "Big")
    big.take("Click", {"n": INT}, (1,))
    big.take("Click", {"n": DOUBLE}, (0.5,))
    assert sorted(rows(place, "select n from Click")) == [(0.5,), (1.0,)]
    big.take("Click", {"n": STRING}, ("x",))
    asked = "select n__number, n__string from Click order by 1, 2"
    assert rows(place, asked) == [(None, "x"), (0.5, None), (1.0, None)]


def test_scripts_see_the_same(place: Place) -> None:
    """What is new of a stream, and a stream whose name begins so; what other scripts put out."""
    big = Archived(place, "Big")
    big.take("Click", {"n": INT}, (1,))
    after = marks_of(place)
    big.take("Click", {"n": BOOL}, (True,))
    big.take("Sale", {"n": INT}, (1,))
    big.take("new_Sale", {"n": INT}, (2,))
    batch = Batch(History(place, SETTINGS), 60_000, 0, after, marks_of(place))

    def given(sql: str) -> list[tuple[Any, ...]]:
        return [tuple(one) for one in batch.sql(sql).collect()]

    assert given("select n__number, n__bool from new_Click") == [(None, True)]
    assert given("select count(*) from Click where _time < :until") == [(0,)]
    with pytest.raises(HistoryError, match="'new_Sale' may be"):
        given("select n from new_Sale")
    assert given("select n from Big__new_Sale") == [(2,)]
    results = Results(place, header_of("-- output: table daily\nselect 1", Language.SQL, "s"))
    for due_ms, values in enumerate((pa.array([1]), pa.nulls(1), pa.array(["x"])), 1):
        run = Run("s", 1, "d", due_ms)
        table = formed(pa.table({"v": values}), run)
        results.keep(table, replace(run, shape=shape_of(table)))
        if due_ms == 2:
            assert given("select v from batch__daily order by _due_ms") == [(1,), (None,)]
    asked = "select v__number, v__string from batch__daily order by _due_ms"
    assert given(asked) == [(1, None), (None, None), (None, "x")]
