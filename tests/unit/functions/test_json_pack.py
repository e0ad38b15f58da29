"""`json:`, JSONPath and the two ways of reading JSON."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep.functions import json_documents
from lockstep.functions.json_path import MissingError, PathError, compile_path
from lockstep.operators.errors import EventError
from tests.unit.functions.calling import call

DOCUMENT = {
    "name": "John",
    "age": 25,
    "ok": True,
    "n": "23",
    "d": 1.7,
    "none": None,
    "cars": [
        {"brand": "Ford", "price": 10.5, "tags": ["a", "b"]},
        {"brand": "BMW", "price": 20, "old": False},
    ],
    "odd key": 1,
}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("$", DOCUMENT),
        ("$.name", "John"),
        ("name", "John"),
        ("$['odd key']", 1),
        ("$.cars[0].brand", "Ford"),
        ("$.cars[-1].brand", "BMW"),
        ("$.cars[*].brand", ["Ford", "BMW"]),
        ("$.cars[0,1].price", [10.5, 20]),
        ("$.cars[0:1].brand", ["Ford"]),
        ("$.cars[::-1].brand", ["BMW", "Ford"]),
        ("$..brand", ["Ford", "BMW"]),
        ("$..tags[0]", ["a"]),
        ("$.cars.length()", 2),
        ("$.cars[?(@.price > 10.5)].brand", ["BMW"]),
        ("$.cars[?(@.price >= 10.5 && @.tags)].brand", ["Ford"]),
        ("$.cars[?(@.brand == 'BMW' || @.price < 1)].price", [20]),
        ("$.cars[?(!(@.old))].brand", ["Ford"]),
        ("$.cars[?(@.brand =~ /f.*/i)].brand", ["Ford"]),
        ("$.cars[?(@.brand in ['BMW', 'VW'])].brand", ["BMW"]),
        ("$.cars[?(@.price == $.cars[1].price)].brand", ["BMW"]),
        ("$..xyz", []),
        ("$.cars[?(@.none)]", []),
    ],
)
def test_paths(path: str, expected: Any) -> None:
    """One value for a definite path, a list for one that may match more."""
    assert compile_path(path).read(DOCUMENT) == expected


@pytest.mark.parametrize("path", ["$.nope", "$.cars[5]", "$.name.first", "$.nope[*]"])
def test_paths_that_lead_nowhere(path: str) -> None:
    """Told apart from null."""
    with pytest.raises(MissingError):
        compile_path(path).read(DOCUMENT)


@pytest.mark.parametrize("path", ["$.", "$[", "$.a[?(@.b ==)]", "$.a b", "$['a", "$.f()"])
def test_what_is_no_path(path: str) -> None:
    """Refused with the column."""
    with pytest.raises(PathError):
        compile_path(path)


@pytest.mark.parametrize(
    ("name", "path", "expected"),
    [
        ("getString", "$.name", "John"),
        ("getString", "$.cars[0].tags", '["a","b"]'),
        ("getString", "$.nope", None),
        ("getInt", "$.n", 23),
        ("getInt", "$.d", None),
        ("getInt", "$..age", 25),
        ("getInt", "$..brand", None),
        ("getLong", "$.age", 25),
        ("getDouble", "$.age", 25.0),
        ("getFloat", "$.d", 1.7000000476837158),
        ("getBool", "$.ok", True),
        ("getBool", "$.nope", False),
        ("getBool", "$.name", False),
        ("getObject", "$.cars[1]", {"brand": "BMW", "price": 20, "old": False}),
        ("isExists", "$.none", True),
        ("isExists", "$.nope", False),
    ],
)
def test_readers(name: str, path: str, expected: Any) -> None:
    """From an object and from its text the same; missing and unfit give null (false for bools)."""
    text = json_documents.text(DOCUMENT)
    for document, kind in ((DOCUMENT, "object"), (text, "string")):
        found = call(f"json:{name}", document, path, types=f"{kind} string")
        assert found == expected
        assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (('{"a":{"b":1}}', "$.a.b", 2), {"a": {"b": 2}}),
        (('{"a":[1]}', "$.a", 2), {"a": [1, 2]}),
        (('{"a":[1]}', "$.a[0]", "x"), {"a": ["x"]}),
        (('{"a":{}}', "$.a", '{"c":1}', "k"), {"a": {"k": {"c": 1}}}),
        (("{}", "$", '{c:"x", d:[1]}', "k"), {"k": {"c": "x", "d": [1]}}),
        (("[]", "$", "{'c':true}"), [{"c": True}]),
        (("{}", "$", "{c", "k"), {"k": "{c"}),
        (('{"a":1}', "$.nope", 2), {"a": 1}),
        (("{'item' : 'pen'}", "$", "book", "item"), {"item": "book"}),
        (('[{"a":1},{"a":2}]', "$[*].a", 0), [{"a": 0}, {"a": 0}]),
    ],
)
def test_set_element(values: tuple[Any, ...], expected: Any) -> None:
    """Replaces, appends to arrays, or puts a key; a missing path changes nothing."""
    assert call("json:setElement", *values) == expected


def test_texts_and_objects() -> None:
    """toObject and toString; quotes escaped on demand; a text that is no JSON gives null."""
    assert call("json:toObject", '{"a":[1,2.5]}') == {"a": [1, 2.5]}
    assert call("json:toObject", "{a:'x', b:[1]}") == {"a": "x", "b": [1]}
    assert call("json:toObject", "{a:1") is None
    assert call("json:toString", {"a": 1e10}) == '{"a":1.0E10}'
    assert call("json:toString", {"a": "x"}, True) == '"{\\"a\\":\\"x\\"}"'


@pytest.mark.parametrize(
    ("name", "values", "types"),
    [
        ("getString", (None, "$.a"), "object string"),
        ("getString", ("{a:", "$.a"), None),
        ("getInt", ({}, None), "object string"),
        ("toObject", (None,), "string"),
    ],
)
def test_refusals(name: str, values: tuple[Any, ...], types: str | None) -> None:
    """Null documents and texts that are not even leniently JSON."""
    with pytest.raises(EventError):
        call(f"json:{name}", *values, types=types)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{name:\"J\", age:25, ok:false, 'x':'it''s'}", None),
        ('{name:"J", age:25, ok:false, x:null,}', {"name": "J", "age": 25, "ok": False, "x": None}),
        ("[a b, 1.5e3, -2]", ["a b", 1500.0, -2]),
        (r"{'a':'\u0041\n\''}", {"a": "A\n'"}),
        ("{a:1} x", None),
        ("plain", None),
        ("{a:1,", None),
    ],
)
def test_lenient_reading(text: str, expected: Any) -> None:
    """What people write by hand; None stands for a refusal."""
    if expected is None:
        with pytest.raises(EventError):
            json_documents.parse_lenient(text)
    else:
        assert json_documents.parse_lenient(text) == expected


def test_deep_documents_are_refused() -> None:
    """Neither reader nor writer runs out of stack."""
    for text in ("[" * 100_000, "[x," * 100_000):
        with pytest.raises(EventError):
            json_documents.parse_lenient(text)
    deep: list[Any] = []
    for _ in range(1000):
        deep = [deep]
    with pytest.raises(EventError):
        json_documents.text(deep)
