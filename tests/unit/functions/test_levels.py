"""How deep lists and maps may be nested that functions make: for deeper ones the event fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lockstep.events import InvalidEventError
from lockstep.events.objects import LEVELS_MAX, decode_object, encode_object
from lockstep.functions import json_documents
from lockstep.functions.levels import LevelsError, check_levels
from lockstep.testing import VirtualApp
from tests.unit.functions.calling import call

WRAPS: dict[str, Callable[[Any], Any]] = {
    "list": lambda value: [value],
    "map": lambda value: {"a": value},
    "map of numbers": lambda value: {1: value},
    "tuple": lambda value: (value,),
    "set": lambda value: frozenset([value]),
}


def nested(levels: int, wrap: Callable[[Any], Any] = WRAPS["map"]) -> Any:
    """A value with so many levels."""
    value: Any = 1
    for _ in range(levels):
        value = wrap(value)
    return value


def text_of(levels: int) -> str:
    """The same as JSON."""
    return '{"a":' * levels + "1" + "}" * levels


def xml_of(levels: int) -> str:
    """The same as XML."""
    return "<r>" + "<a>" * levels + "1" + "</a>" * levels + "</r>"


MAKING: dict[str, Callable[[int], Any]] = {
    "json:getObject": lambda n: call("json:getObject", text_of(n), "$"),
    "json:toObject": lambda n: call("json:toObject", text_of(n)),
    "json:setElement": lambda n: call("json:setElement", {}, "$", nested(n - 1), "k"),
    "json:setElement of a text": lambda n: call("json:setElement", {}, "$", text_of(n - 1), "k"),
    "json:getString": lambda n: call("json:getString", text_of(n), "$.b"),
    "map:createFromJSON": lambda n: call("map:createFromJSON", text_of(n)),
    "map:createFromXML": lambda n: call("map:createFromXML", xml_of(n)),
    "map:create": lambda n: call("map:create", "k", 1, "l", nested(n - 1)),
    "map:put": lambda n: call("map:put", {}, "k", nested(n - 1)),
    "map:putIfAbsent": lambda n: call("map:putIfAbsent", {}, "k", nested(n - 1)),
    "map:replace": lambda n: call("map:replace", {"k": 1}, "k", nested(n - 1)),
    "map:combineByKey": lambda n: call("map:combineByKey", nested(n - 1), {"a": 1}),
    "list:create": lambda n: call("list:create", 1, nested(n - 1)),
    "list:add": lambda n: call("list:add", [], nested(n - 1)),
    "list:setValue": lambda n: call("list:setValue", [1], 0, nested(n - 1)),
}


@pytest.mark.parametrize("make", MAKING.values(), ids=MAKING)
def test_what_functions_make_is_nested_so_deep_and_no_deeper(make: Callable[[int], Any]) -> None:
    """Each that puts something into something else, and each that reads a text."""
    found = make(LEVELS_MAX)
    check_levels(found, "test")
    encode_object(found)
    for levels in (LEVELS_MAX + 1, LEVELS_MAX + 2, 900):
        with pytest.raises(LevelsError, match=f"nested {LEVELS_MAX} deep"):
            make(levels)


def test_texts_without_end_are_refused_before_anything_looks_into_them() -> None:
    """The reader itself gives up; a text that is no JSON is told from one that is too deep."""
    for text in ("[" * 100_000, text_of(20_000), '["\\u00e9",' + text_of(5_000) + "]"):
        with pytest.raises(LevelsError):
            json_documents.document(text)
        with pytest.raises(LevelsError):
            call("json:toObject", text)
    assert call("json:toObject", "{" + "x" * 5_000) is None
    wide = [{"a": [1]}] * 1_000
    assert call("json:toObject", json_documents.text(wide)) == wide


@pytest.mark.parametrize("wrap", WRAPS.values(), ids=WRAPS)
def test_what_travels_can_be_read_by_everybody(wrap: Callable[[Any], Any]) -> None:
    """With the stack that Python gives a process, of which a part is in use."""
    value = nested(LEVELS_MAX + 2, wrap)  # a value, its row, and the rows of an event that failed

    def read(stack: int) -> Any:
        return decode_object(encode_object(value)) if not stack else read(stack - 1)

    assert read(300) == value
    for levels in (LEVELS_MAX + 20, 900):
        with pytest.raises(InvalidEventError, match=f"nested {LEVELS_MAX} deep"):
            encode_object(nested(levels, wrap))


def test_what_stands_in_many_places_is_looked_at_once() -> None:
    """A list of twice the same list of twice the same list …"""
    twice: list[Any] = [1]
    for _ in range(90):
        twice = [twice, twice]
    check_levels(twice, "test")


APP = """
define stream J (t string);
define stream P (n int);
from J select json:getObject(t, '$') as o insert into Made;
from J select json:toObject(t) as o insert into Made;
from J select map:create('a', json:getObject(t, '$.a')) as o insert into Made;
from Made select 1 as n, o insert into Out;
"""


@pytest.mark.parametrize("executor", ["reference", "columnar"])
@pytest.mark.parametrize("levels", [LEVELS_MAX + 1, 900, 5_000, 20_000])
def test_an_event_with_too_many_levels_fails_alone(executor: str, levels: int) -> None:
    """Its reason says so, and the next event goes on."""
    with VirtualApp(APP, executor=executor) as app:
        app.send("J", [text_of(levels)])
        assert not app.stream("Out")
        (fault,) = app.faults()
        assert f"nested {LEVELS_MAX} deep" in fault.reason
        app.send("J", [text_of(LEVELS_MAX)])
        assert len(app.stream("Out")) == 3


GROWING = """
define stream J (t string);
@PrimaryKey('k') define table T (k int, o object);
from J[t == 'new'] select 1 as k, map:create('a', 1) as o insert into T;
from J[t == 'more']#window.length(1) join T select T.k as k, map:put(T.o, 'a', T.o) as o
update T set T.o = o on T.k == k;
from J[t == 'show']#window.length(1) join T select T.o as o insert into Out;
"""


@pytest.mark.parametrize("executor", ["reference", "columnar"])
def test_what_grows_with_every_event_grows_no_further(executor: str) -> None:
    """A map that is put into itself is as deep as it may be in the end; the app goes on."""
    with VirtualApp(GROWING, executor=executor) as app:
        app.send("J", ["new"])
        for _ in range(LEVELS_MAX + 5):
            app.send("J", ["more"])
        app.send("J", ["show"])
        assert len(app.stream("Out")) == 1
        assert len(app.faults()) == 6
