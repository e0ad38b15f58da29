"""`list:` and `map:` (extensions 6 and 7)."""

from __future__ import annotations

import math
from typing import Any

import pytest

from lockstep.aggregators.lists import ListCollect
from lockstep.aggregators.maps import MapCollect
from lockstep.events import AttributeType
from lockstep.operators.errors import EventError
from lockstep.plan import java
from lockstep.siddhiql.catalogue import Argument
from tests.unit.functions.calling import call

NAN = math.nan

TENTH = java.f32(0.1)


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("create", (), []),
        ("create", (1, "a"), [1, "a"]),
        ("add", ([1], 2), [1, 2]),
        ("add", ([1, 3], 2, 1), [1, 2, 3]),
        ("addAll", ([1], [1, 2]), [1, 1, 2]),
        ("addAll", ([1], [1, 2, 2], True), [1, 2]),
        ("clear", ([1],), []),
        ("contains", ([1, 2], 2), True),
        ("contains", ([1, 2], True), False),
        ("contains", ([1], 1.0), False),
        ("containsAll", ([1, 2, 3], [3, 1]), True),
        ("containsAny", ([1, 2], [3, 2]), True),
        ("get", ([1, 2], 1), 2),
        ("get", ([1, 2], 2), None),
        ("get", ([1, 2], -1), None),
        ("indexOf", (["a", "b", "b"], "b"), 1),
        ("lastIndexOf", (["a", "b", "b"], "b"), 2),
        ("lastIndexOf", (["a"], "c"), -1),
        ("isEmpty", ([],), True),
        ("isList", ("a",), False),
        ("remove", ([1, 2, 1], 1), [2, 1]),
        ("removeByIndex", ([1, 2], 0), [2]),
        ("removeAll", ([1, 2, 1, 3], [1, 3]), [2]),
        ("retainAll", ([1, 2, 1], [1]), [1, 1]),
        ("setValue", ([1, 2], 1, 9), [1, 9]),
        ("size", ([1, 2],), 2),
        ("sort", ([3, 1, 2],), [2, 1, 3]),
        ("sort", ([3, 1, 2], "ASC"), [1, 2, 3]),
        ("sort", (["b", "A", "a"], "desc"), ["b", "a", "A"]),
        ("sort", ([3.0, NAN, 1.0, NAN, 2], "ASC"), [1.0, 2, 3.0, NAN, NAN]),
        ("sort", ([NAN, 3.0, 1.0], "DESC"), [NAN, 3.0, 1.0]),
    ],
)
def test_lists(name: str, values: tuple[Any, ...], expected: Any) -> None:
    """Sorting reverses unless an order is given; 1, 1.0 and true differ."""
    assert call(f"list:{name}", *values) == expected


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("create", ("a", 1, "b", 2.0), {"a": 1, "b": 2.0}),
        ("createFromJSON", ("{symbol: IBM, 'n': {x: 1}}",), {"symbol": "IBM", "n": {"x": 1}}),
        (
            "createFromXML",
            ("<r><a>1</a><b>2.5</b><c>true</c><d><e>x</e></d></r>",),
            {"a": 1, "b": 2.5, "c": True, "d": {"e": "x"}},
        ),
        ("get", ({"a": 1}, "a"), 1),
        ("get", ({"a": 1}, "b", 7), 7),
        ("get", ({"a": 1}, "b"), None),
        ("put", ({"a": 1}, "a", 2), {"a": 2}),
        ("putAll", ({"a": 1}, {"a": 2, "b": 3}), {"a": 2, "b": 3}),
        ("putIfAbsent", ({"a": None}, "a", 2), {"a": 2}),
        ("replace", ({"a": 1}, "b", 2), {"a": 1}),
        ("replaceAll", ({"a": 1, "b": 2}, {"b": 3, "c": 4}), {"a": 1, "b": 3}),
        ("remove", ({"a": 1, "b": 2}, "a"), {"b": 2}),
        ("clear", ({"a": 1},), {}),
        ("combineByKey", ({"a": 1}, {"a": 2, "b": 3}), {"a": [1, 2], "b": [None, 3]}),
        ("containsKey", ({"a": 1}, "a"), True),
        ("containsValue", ({"a": 1}, 1.0), False),
        ("isMap", ({},), True),
        ("isMap", (None,), False),
        ("keys", ({"b": 1, "a": 2},), ["b", "a"]),
        ("values", ({"b": 1, "a": 2},), [1, 2]),
        ("size", ({"a": 1},), 1),
        ("toJSON", ({"a": 1e10, "b": [None, True]},), '{"a":1.0E10,"b":[null,true]}'),
        ("toXML", ({"a": "<", "b": {"c": 1}},), "<a>&lt;</a><b><c>1</c></b>"),
        ("toXML", ({"a": 1}, "r"), "<r><a>1</a></r>"),
    ],
)
def test_maps(name: str, values: tuple[Any, ...], expected: Any) -> None:
    """Maps keep the order in which keys came."""
    assert call(f"map:{name}", *values) == expected


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("list:add", (None, 1)),
        ("list:add", ([1], 2, 5)),
        ("list:removeByIndex", ([1], -1)),
        ("list:setValue", ([1], 1, 2)),
        ("list:sort", ([1, "a"], "ASC")),
        ("list:sort", ([True, False], "ASC")),
        ("list:size", ({"a": 1},)),
        ("map:get", ([1], "a")),
        ("map:createFromJSON", ("[1]",)),
        ("map:createFromJSON", ("{a:",)),
        ("map:createFromXML", ("<a>",)),
        ("map:createFromXML", ("<!DOCTYPE a []><a/>",)),
        ("map:combineByKey", ({"a": 1}, None)),
    ],
)
def test_refusals(name: str, values: tuple[Any, ...]) -> None:
    """What is no list or no map, positions outside, documents that do not parse."""
    with pytest.raises(EventError):
        call(name, *values)


def test_changes_leave_the_original_alone() -> None:
    """An event that holds a list keeps what it had."""
    items, entries = [1, 2], {"a": 1}
    assert call("list:add", items, 3) == [1, 2, 3]
    assert call("list:sort", items) == [2, 1]
    assert call("map:put", entries, "b", 2) == {"a": 1, "b": 2}
    assert (items, entries) == ([1, 2], {"a": 1})


@pytest.mark.parametrize(
    ("name", "values", "types", "expected"),
    [
        ("list:create", (TENTH, TENTH), "float double", [0.1, TENTH]),
        ("list:add", ([], TENTH), "object float", [0.1]),
        ("list:setValue", ([1], 0, TENTH), "object int float", [0.1]),
        ("list:contains", ([0.1], TENTH), "object float", True),
        ("list:indexOf", ([1, 0.1], TENTH), "object float", 1),
        ("list:remove", ([0.1], TENTH), "object float", []),
        ("map:get", ({}, "a", TENTH), "object string float", 0.1),
        ("map:get", ({0.1: 1}, TENTH), "object float", 1),
        ("map:containsKey", ({0.1: 1}, TENTH), "object float", True),
        ("map:remove", ({0.1: 1}, TENTH), "object float", {}),
        ("json:setElement", ({"a": 1}, "$.a", TENTH), "object string float", {"a": 0.1}),
        ("json:setElement", ({}, "$", TENTH, "a"), "object string float string", {"a": 0.1}),
        ("createSet", (TENTH,), "float", frozenset([0.1])),
        ("createSet", (TENTH,), "double", frozenset([TENTH])),
    ],
)
def test_floats_in_collections(
    name: str, values: tuple[Any, ...], types: str, expected: Any
) -> None:
    """They are kept as they print, and found again; a double stays what it is."""
    assert call(name, *values, types=types) == expected


def test_collected_floats() -> None:
    """As they print, also out of a snapshot that holds them as they came; what leaves is found."""
    number = Argument(AttributeType.FLOAT, is_constant=False, value=None)
    items, entries = ListCollect([number]), MapCollect([number, number])
    items.restore([TENTH])
    entries.restore([(TENTH, TENTH, 1)])
    assert (items.value(), entries.value()) == ([0.1], {0.1: 0.1})
    items.add(TENTH)
    entries.add(TENTH, TENTH)
    assert (items.value(), entries.value()) == ([0.1, 0.1], {0.1: 0.1})
    for _ in range(2):
        items.remove(TENTH)
        entries.remove(TENTH, TENTH)
    assert items.is_empty()
    assert entries.is_empty()
