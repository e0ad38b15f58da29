"""Streams whose names or types are easily taken for one another: own rows, or a refusal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lockstep.archive.answering import answered
from lockstep.archive.place import Place
from lockstep.archive.questions import Answer, Question
from lockstep.archive.shapes import Shape, layout_of
from lockstep.archive.view_names import Claim, by_name, named_in, told
from lockstep.events import AttributeType
from lockstep.events.columns import default_names
from tests.unit.archive.streams import Archived

INT, LONG, FLOAT, DOUBLE = (
    AttributeType.INT, AttributeType.LONG, AttributeType.FLOAT, AttributeType.DOUBLE,
)  # fmt: skip
STRING, BOOL = AttributeType.STRING, AttributeType.BOOL


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Empty."""
    return Place(str(tmp_path))


def asked(place: Place, sql: str) -> Answer:
    """In this process."""
    return answered(Question(place.folder, {}, "Big", sql, 20, 0, 0))


# --- another type ------------------------------------------------------------------------------


def test_a_stream_whose_type_has_changed_can_be_asked(place: Place) -> None:
    """All rows at once, each type under a name of its own, and the plain name says how."""
    big = Archived(place)
    big.take("Click", {"page": STRING, "n": INT}, ("a", 1), ("b", 2))
    big.take("Click", {"page": STRING, "n": BOOL}, ("c", True))
    assert asked(place, "select count(*) from Click").rows == [[3]]
    sql = "select page, n__number, n__bool from Click order by page"
    assert asked(place, sql).rows == [["a", 1, None], ["b", 2, None], ["c", None, True]]
    assert asked(place, "select sum(n__number) from Click").rows == [[3]]
    for column in ("n", "c.n"):
        error = asked(place, f"select {column} from Click c").error
        assert error is not None
        assert "'Click' has no 'n' of one type: it was archived as int since 20" in error
        assert "Z and bool since 20" in error
        assert "ask for n__number or n__bool" in error
    assert "nothing" in str(asked(place, "select nothing from Click").error)


def test_another_stream_is_not_spoilt_by_it(place: Place) -> None:
    """Neither where its name stands in a text, nor where a word only has it in it."""
    big = Archived(place)
    for stream in ("Click", "In"):
        big.take(stream, {"n": STRING}, ("x",))
        big.take(stream, {"n": BOOL}, (True,))
    big.take("Out", {"s": STRING, "k": LONG}, ("click", 7), ("in", 8))
    assert asked(place, "select s, k from Out where s = 'click'").rows == [["click", 7]]
    assert asked(place, "select min(k) as click from Out").rows == [[7]]
    assert asked(place, "select k from Out where s in ('in') -- Click").rows == [[8]]


@pytest.mark.parametrize(
    ("types", "values", "expected"),
    [
        ((INT, LONG), (1, 2**40), [1, 2**40]),
        ((INT, FLOAT), (16_777_217, 0.5), [16_777_217.0, 0.5]),
        ((FLOAT, DOUBLE), (0.5, 1e300), [0.5, 1e300]),
    ],
)
def test_what_holds_all_values_keeps_the_plain_name(
    place: Place, types: Sequence[AttributeType], values: Sequence[Any], expected: list[Any]
) -> None:
    """Numbers become the wider type."""
    big = Archived(place)
    for kind, value in zip(types, values, strict=True):
        big.take("Click", {"n": kind}, (value,))
    found = asked(place, "select n from Click order by _position")
    assert [one for (one,) in found.rows] == expected
    assert found.error is None


def test_nulls_alone_are_no_type_of_their_own(place: Place) -> None:
    """Records of values alone: what had nothing but nulls fits any type."""
    big = Archived(place)
    (name,) = default_names(1)
    big.take("Click", {}, (1,))
    big.take("Click", {}, (None,))
    assert asked(place, f"select {name} from Click order by _position").rows == [[1], [None]]
    big.take("Click", {}, (True,))
    sql = f"select {name}__number, {name}__bool from Click order by _position"
    assert asked(place, sql).rows == [[1, None], [None, None], [None, True]]


def shape(name: str, *, holds: bool = True, **columns: str) -> Shape:
    """Made when its name says."""
    return Shape(name, columns, lambda: len(name) * 1_000, lambda _: holds)


def test_names_that_are_taken_already() -> None:
    """A column that is called as one kind would be gets another one; case may not count."""
    layout = layout_of(
        [shape("a", n="bigint", N__bool="string"), shape("bb", N="boolean")], str.casefold
    )
    assert layout.names == [
        {"n": "n__number", "N__bool": "N__bool"}, {"N": "n__bool_2"},
    ]  # fmt: skip
    (clash,) = layout.clashes
    assert (clash.column, clash.types) == ("n", [("long", 1_000), ("bool", 2_000)])
    apart = layout_of([shape("a", n="bigint"), shape("b", N="boolean")], str)
    assert (apart.names, apart.clashes) == ([{"n": "n"}, {"N": "N"}], [])


def test_a_text_without_a_value_is_looked_at_where_no_name_says_it() -> None:
    """A script's table: its column of nulls is text there."""
    texts = shape("b", holds=False, n="string")
    layout = layout_of([shape("a", n="double"), texts], str)
    assert (layout.names, layout.clashes) == ([{"n": "n"}, {}], [])
    assert layout_of([shape("a", n="double"), shape("b", n="string")], str).clashes


# --- names -------------------------------------------------------------------------------------


def test_names_that_differ_in_case_are_two_here(place: Place) -> None:
    """The tables' own library tells them apart."""
    big = Archived(place)
    big.take("Click", {"n": INT}, (1,))
    big.take("click", {"n": INT}, (2,))
    assert asked(place, "select n from Click").rows == [[1]]
    assert asked(place, "select n from click").rows == [[2]]


def test_a_stream_that_is_called_as_the_side_of_another(place: Place) -> None:
    """Nobody gets the one for the other."""
    big = Archived(place)
    big.take("Click", {"n": INT}, (1,))
    big.take("Click__in", {"n": INT}, (2,))
    assert asked(place, "select n from Click").rows == [[1]]
    assert asked(place, "select n from Click__in__in").rows == [[2]]
    error = asked(place, "select n from Click__in").error
    assert error is not None
    assert "'Click__in' may be what came in as 'Click', or what came in as 'Click__in'" in error
    assert "ask for Click or Click__in__in" in error


def test_a_query_names_whole_words() -> None:
    """In whatever case; a name that is no word has to stand there as it is."""
    names = ["In", "Click", "Click__in", "my stream", "new_Click"]
    assert named_in("select min(v) from INNER join within", names) == []
    assert named_in("select * from CLICK where x = `In`", names) == ["In", "Click"]
    assert named_in("select * from `My Stream`, new_click", names) == ["my stream", "new_Click"]


def test_who_wants_a_name() -> None:
    """One thing under two names is one; where not all have a name, Python has them."""
    claims = [Claim("A__x", 1, "a"), Claim("x", 1, "a"), Claim("X", 2, "b"), Claim("B__x", 2, "b")]
    wanted = by_name([*claims, Claim("x", 1, "a")])
    assert [(name, len(several)) for name, several in wanted.items()] == [
        ("a__x", 1), ("x", 2), ("b__x", 1),
    ]  # fmt: skip
    assert told("x", wanted["x"], wanted) == ("'x' may be a, or b", "ask for A__x or B__x")
    wanted = by_name(claims[1:])
    assert told("x", wanted["x"], wanted)[1].startswith("Python tells streams apart")
