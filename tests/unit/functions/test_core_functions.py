"""Functions without namespace (semantics 21)."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep.operators.errors import EventError
from lockstep.testing import VirtualApp
from tests.unit.functions.calling import call
from tests.unit.operators.plain_context import PlainContext


@pytest.mark.parametrize(
    ("value", "own", "wanted", "expected"),
    [
        (2.7, "double", "int", 2),
        (-2.7, "double", "int", -2),
        (1e20, "double", "int", 2147483647),
        (-1e20, "double", "long", -9223372036854775808),
        (float("nan"), "double", "int", 0),
        (4294967297, "long", "int", 1),
        ("1.5", "string", "int", None),
        ("+15", "string", "int", 15),
        (" 15", "string", "int", None),
        ("2147483648", "string", "int", None),
        ("2147483648", "string", "long", 2147483648),
        ("9" * 5000, "string", "int", None),
        ("-" + "9" * 5000, "string", "long", None),
        ("9" * 5000, "string", "double", float("inf")),
        ("+" + "0" * 5000 + "15", "string", "int", 15),
        ("-" + "0" * 5000 + "9223372036854775808", "string", "long", -9223372036854775808),
        ("0" * 5000, "string", "long", 0),
        (" 1e3f ", "string", "double", 1000.0),
        ("NaN", "string", "double", pytest.approx(float("nan"), nan_ok=True)),
        ("0x1.8p1", "string", "double", 3.0),
        ("0x1p99999", "string", "double", float("inf")),
        ("-0x1p99999", "string", "float", float("-inf")),
        ("1_0", "string", "double", None),
        ("0.1", "string", "float", 0.10000000149011612),
        ("TRUE", "string", "bool", True),
        ("1", "string", "bool", False),
        (1.0, "double", "bool", True),
        (2, "int", "bool", False),
        (True, "bool", "double", 1.0),
        (1e10, "double", "string", "1.0E10"),
        (0.10000000149011612, "float", "string", "0.1"),
        (True, "bool", "string", "true"),
        ({"a": [1, 2.0]}, "object", "string", "{a=[1, 2.0]}"),
        (None, "string", "int", None),
        (None, "string", "bool", False),
    ],
)
def test_convert(value: Any, own: str, wanted: str, expected: Any) -> None:
    """Toward zero, saturating, exact forms only, and null to bool is false."""
    found = call("convert", value, wanted, types=f"{own} string")
    assert found == expected
    assert type(found) is type(expected) or value == "NaN"


def test_convert_of_an_exception_gives_message_and_cause() -> None:
    """An error in an object reads as its message and cause."""
    error = ValueError("no")
    error.__cause__ = KeyError("k")
    text = call("convert", error, "string", types="object string")
    assert text.startswith("message : no\n cause :")


@pytest.mark.parametrize(
    ("name", "values", "types", "expected"),
    [
        ("cast", (7, "double"), None, 7.0),
        ("coalesce", (None, 3, 4), "int int int", 3),
        ("coalesce", (None, None), "int int", None),
        ("default", (None, 5), "int int", 5),
        ("default", (0, 5), None, 0),
        ("ifThenElse", (None, 1, 2), "bool int int", 2),
        ("ifThenElse", (True, 1, 2), None, 1),
        ("maximum", (1, None, 3), "int int int", 3),
        ("minimum", (None, None), "int int", None),
        ("instanceOfInteger", (5,), "int", True),
        ("instanceOfInteger", (None,), "int", False),
        ("instanceOfLong", (5,), "int", False),
        ("instanceOfFloat", (0.5,), "float", True),
        ("instanceOfString", ("x",), "object", True),
        ("instanceOfLong", (2**40,), "object", True),
        ("instanceOfBoolean", (1,), "object", False),
        ("sizeOfSet", (frozenset({1, 2}),), "object", 2),
        ("sizeOfSet", (None,), "object", 0),
    ],
)
def test_values(name: str, values: tuple[Any, ...], types: str | None, expected: Any) -> None:
    """The edge cases of the table."""
    found = call(name, *values, types=types)
    assert found == expected
    assert type(found) is type(expected)


def test_a_set_of_one() -> None:
    """createSet and sizeOfSet fit together."""
    assert call("sizeOfSet", call("createSet", "a")) == 1


def test_size_of_what_is_no_set_is_refused() -> None:
    """A list is not a set."""
    with pytest.raises(EventError, match="set"):
        call("sizeOfSet", [1, 2])


def test_uuids_are_unique_in_form_and_the_same_on_replicas() -> None:
    """Two contexts in the same place draw the same; one never draws twice the same."""
    first, second = PlainContext(), PlainContext()
    mine = [call("UUID", context=first) for _ in range(2)]
    # One function, called twice, as a query does.
    assert mine[0] == call("UUID", context=second)
    assert mine[0].count("-") == 4
    assert mine[0][14] == "4"


def test_uuids_go_on_after_a_restore() -> None:
    """Snapshot, restore and go on equals never having stopped; the draws all differ."""
    text = "define stream S (v int); @info(name='q') from S select UUID() as u, v insert into O;"
    whole, cut = VirtualApp(text), VirtualApp(text)
    for app in (whole, cut):
        app.send("S", [1])
        app.send("S", [2])
    cut = VirtualApp.restore(text, cut.snapshot())
    whole.send("S", [3])
    cut.send("S", [3])
    drawn = [event.data[0] for event in whole.stream("O")]
    assert len(set(drawn)) == 3
    assert cut.stream("O")[-1].data[0] == drawn[2]


def test_two_calls_in_one_query_draw_differently() -> None:
    """Each call has a counter of its own."""
    text = "define stream S (v int); from S select UUID() as a, UUID() as b insert into O;"
    with VirtualApp(text) as app:
        app.send("S", [1])
        a, b = app.stream("O")[0].data
    assert a != b
