"""json sources and sinks (extensions 13.2)."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep.events import Attribute, AttributeType, StreamSchema
from lockstep.mapping import MappingError
from lockstep.siddhiql import SiddhiQLError
from tests.unit.mapping.mappers import (
    NARROW,
    SCHEMA,
    attributes,
    events,
    payload,
    rows,
    sink,
    source,
)

FULL = '{"a":"x","v":5,"d":2.5,"l":7,"b":true,"f":1.5}'
ROW = ("x", 5, 2.5, 7, True, 1.5)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f'{{"event":{FULL}}}', [[ROW]]),
        (FULL, [[ROW]]),
        (f'[{FULL},{{"event":{FULL}}}]', [[ROW, ROW]]),
        ('{"f":1.5,"b":true,"l":7,"d":2.5,"v":5,"a":"x"}', [[ROW]]),
        (FULL.replace('"x"', "3"), [[("3", *ROW[1:])]]),
        (FULL.replace('"x"', "null"), [[(None, *ROW[1:])]]),
        (FULL.replace("2.5", "2"), []),
        (FULL.replace("1.5", "1"), [[(*ROW[:5], 1.0)]]),
        (FULL.replace('"x"', '{"k": [1, 2.5]}'), [[('{"k":[1,2.5]}', *ROW[1:])]]),
        (FULL.replace(":5", ':"5"'), []),
        (FULL.replace(":5", ":5.7"), []),
        (FULL.replace(":5", ":2147483648"), []),
        (FULL.replace(":7", ":9223372036854775808"), []),
        (FULL.replace("true", '"true"'), []),
        (FULL.replace('"v":5,', ""), []),
        (FULL.replace('"v"', '"w"'), []),
        (FULL.replace('{"a"', '{"z":1,"a"'), []),
        ("{a:1}", []),
        ("5", []),
        ("", []),
        (b"\xff", []),
        (FULL.encode(), [[ROW]]),
    ],
)
def test_default_source(text: str | bytes, expected: list[Any]) -> None:
    """Strict types, every member and no other; what is refused says why."""
    reading = source("json", schema=SCHEMA).read(text, 1000)
    assert rows(reading) == expected
    assert bool(reading.refused) is not bool(expected)


def test_one_bad_event_of_an_array_is_refused_alone() -> None:
    """With the attribute that does not fit."""
    reading = source("json").read('[{"a":"x","v":1,"d":1.0},{"a":"y","v":"1","d":1.0}]', 1000)
    assert rows(reading) == [[("x", 1, 1.0)]]
    assert [error.where for error in reading.refused] == ["v"]


def test_source_options() -> None:
    """Missing members as null, events one at a time."""
    loose = source("json", fail_on_missing_attribute="false", event_grouping_enabled="false")
    assert rows(loose.read('[{"a":"x"},{"v":1}]', 5)) == [[("x", None, None)], [(None, 1, None)]]
    assert loose.read('{"a":"x"}', 5).chunks[0][0].timestamp_ms == 5


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"x":{"a":"k"},"v":"5","d":2}', [[("k", 5, 2.0)]]),
        ('{"x":{"a":{"b":1}},"v":5,"d":"2.5"}', [[('{"b":1}', 5, 2.5)]]),
        ('{"x":{"a":null},"v":5,"d":1.0}', [[(None, 5, 1.0)]]),
        ('{"x":{"a":1},"v":5.9,"d":1.0}', []),
        ('{"x":{},"v":5,"d":1.0}', []),
    ],
)
def test_custom_source(text: str, expected: list[Any]) -> None:
    """Paths relative to each element, lenient conversion."""
    mapper = source("json", attributes(a="$.x.a", v="v", d="d"))
    assert rows(mapper.read(text, 1)) == expected


def test_enclosing_element_and_transport_properties() -> None:
    """An object is one event, an array several; `trp:` reads what the transport says."""
    mapper = source("json", attributes(a="trp:key", v="v", d="d"), enclosing_element="$.portfolio")
    one = mapper.read('{"portfolio":{"v":1,"d":2.0}}', 1, {"key": "k"})
    assert rows(one) == [[("k", 1, 2.0)]]
    several = mapper.read('{"portfolio":[{"v":1,"d":2.0},{"v":2,"d":3.0}]}', 1, {"key": "k"})
    assert rows(several) == [[("k", 1, 2.0), ("k", 2, 3.0)]]
    assert mapper.read('{"portfolio":{"v":1,"d":2.0}}', 1).refused[0].where == "a"
    assert mapper.read("{}", 1).refused


@pytest.mark.parametrize(
    ("data", "options", "expected"),
    [
        ([("x", 5, 2.5)], {}, ['{"event":{"a":"x","v":5,"d":2.5}}']),
        (
            [("x", 5, 1e10), ("y", 6, 1.0)],
            {},
            ['[{"event":{"a":"x","v":5,"d":1.0E10}},{"event":{"a":"y","v":6,"d":1.0}}]'],
        ),
        (
            [("x", 5, 2.5), ("y", 6, 1.0)],
            {"event_grouping_enabled": "false"},
            ['{"event":{"a":"x","v":5,"d":2.5}}', '{"event":{"a":"y","v":6,"d":1.0}}'],
        ),
        ([(None, 5, None)], {}, ['{"event":{"a":"undefined","v":5,"d":"undefined"}}']),
        ([(None, 5, None)], {"validate_json": "true"}, ['{"event":{"v":5}}']),
        (
            [(None, 5, None)],
            {"enable_null_attribute_value": "true"},
            ['{"event":{"a":null,"v":5,"d":null}}'],
        ),
        ([('a"b', 5, 2.5)], {}, ['{"event":{"a":"a\\"b","v":5,"d":2.5}}']),
        (
            [("x", 5, 2.5)],
            {"enclosing_element": "$.p.s"},
            ['{"p":{"s":{"event":{"a":"x","v":5,"d":2.5}}}}'],
        ),
    ],
)
def test_default_sink(data: list[Any], options: dict[str, Any], expected: list[str]) -> None:
    """One event, several, nulls, quotes, and what stands around."""
    assert sink("json", **options).write(events(*data)) == expected


def test_custom_sink() -> None:
    """Templates per event; quotes in values are the template's business."""
    template = payload('{"S":"{{a}}","V":{{v}}}')
    mapper = sink("json", template, enclosing_element="$.p.s")
    assert mapper.write(events(("x", 5, 2.5))) == ['{"p":{"s":{"S":"x","V":5}}}']
    assert mapper.write(events(("x", 5, 2.5), ("y", 6, 1.0))) == [
        '{"p":{"s":[{"S":"x","V":5},\n{"S":"y","V":6}]}}'
    ]


def test_validation() -> None:
    """A template that breaks is told of, not sent."""
    mapper = sink("json", payload('{"S":"{{a}}"}'), validate_json="true")
    assert mapper.write(events(("x", 1, 1.0))) == ['{"S":"x"}']
    with pytest.raises(MappingError):
        mapper.write(events(('a"b', 1, 1.0)))


@pytest.mark.parametrize(
    ("options", "written"),
    [({}, "undefined"), ({"enable_null_attribute_value": "true"}, "null")],
)
def test_validation_takes_nulls(options: dict[str, Any], written: str) -> None:
    """The word that stands for a null is no mistake; what is wrong beside it is."""
    mapper = sink("json", payload('{"S":"{{a}}","V":{{v}}}'), validate_json="true", **options)
    assert mapper.write(events(("x", None, 1.0))) == [f'{{"S":"x","V":{written}}}']
    assert mapper.write(events((None, None, 1.0), ("y", 2, 1.0))) == [
        f'[{{"S":"{written}","V":{written}}},\n{{"S":"y","V":2}}]'
    ]
    with pytest.raises(MappingError):
        mapper.write(events(('a"b', None, 1.0)))
    undefined = sink("json", payload('{"V":undefined,"W":{{v}}}'), validate_json="true")
    with pytest.raises(MappingError):
        undefined.write(events(("x", None, 1.0)))


def test_sinks_leave_their_events_alone() -> None:
    """The null is still null for the next sink."""
    sent = events((None, 1, None))
    sink("json").write(sent)
    assert sent[0].data == (None, 1, None)


def test_what_sinks_write_sources_read() -> None:
    """There and back with both spellings of the default form."""
    sent = events(("x", 5, 2.5), (None, None, None))
    (text,) = sink("json", enable_null_attribute_value="true").write(sent)
    assert rows(source("json").read(text, 1)) == [[event.data for event in sent]]


@pytest.mark.parametrize(
    ("nested", "options"),
    [
        ((attributes(a="$.a", v="$.v"),), {}),
        ((attributes("$.a", "$.v"),), {}),
        ((attributes("$.a", v="$.v"),), {}),
        ((), {"fail_on_missing_attribute": "maybe"}),
    ],
)
def test_wrong_source_options_are_refused(nested: Any, options: dict[str, Any]) -> None:
    """When the mapper is built."""
    with pytest.raises(SiddhiQLError):
        source("json", *nested, schema=NARROW, **options)


def test_unknown_names_in_templates_are_refused() -> None:
    """With the names that there are."""
    with pytest.raises(SiddhiQLError, match="a, v, d"):
        sink("json", payload("{{nope}}"))


def test_unknown_mappers_are_refused() -> None:
    """With the mappers that there are."""
    with pytest.raises(SiddhiQLError, match="keyvalue"):
        source("yaml")


@pytest.mark.parametrize(
    ("filter_", "found"),
    [
        ("@.n in $.wanted", "[]"),
        ("@.n nin $.wanted", "[]"),
        ("@.n in $.text", "[]"),
        ("@.n in $.some", "[1]"),
        ("@.n nin $.some", "[2]"),
        ("@.t =~ $.wanted", "[]"),
        ("@.t =~ $.text", "[]"),
        ("@.t =~ /a.*/", "[1]"),
    ],
)
def test_filters_that_compare_with_what_is_not_there(filter_: str, found: str) -> None:
    """No element is in what is no list, and none fits what is no expression."""
    mapper = source("json", attributes(a=f"$.items[?({filter_})].n", v="v", d="d"))
    items = '"items":[{"n":1,"t":"ab"},{"n":2,"t":"b"}],"some":[1],"text":"a"'
    assert rows(mapper.read(f'{{{items},"v":1,"d":1}}', 1)) == [[(found, 1, 1.0)]]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_json_has_not_are_refused(value: float) -> None:
    """As they are and within objects; no reader of JSON would take them."""
    with pytest.raises(MappingError, match="JSON has no"):
        sink("json").write(events(("x", 1, value)))
    held = StreamSchema("O", (Attribute("o", AttributeType.OBJECT),))
    for data in ([value], {"k": [1, {"l": value}]}):
        with pytest.raises(MappingError, match="JSON has no"):
            sink("json", schema=held).write(events((data,)))
