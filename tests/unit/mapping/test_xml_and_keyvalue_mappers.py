"""xml, keyvalue and passThrough sources and sinks (extensions 13.1, 13.3, 13.6)."""

from __future__ import annotations

import sys
from typing import Any
from urllib.parse import parse_qsl

import pytest

from lockstep.events import Attribute, AttributeType, Event, StreamSchema
from lockstep.mapping import MappingError, MessageWriter
from lockstep.mapping.forms import FixedForm
from lockstep.mapping.xml.columns import MAX_NAMES, XmlColumns, _form
from lockstep.mapping.xml.source import XmlSource
from lockstep.siddhiql import SiddhiQLError, ast
from tests.unit.mapping.mappers import annotation, attributes, events, payload, rows, sink, source

ONE = "<event><a>x</a><v>5</v><d>2.5</d></event>"


def test_xml_sink() -> None:
    """The default form, escaped; nulls; templates; what stands around."""
    assert sink("xml").write(events(("x", 5, 2.5))) == [f"<events>{ONE}</events>"]
    several = sink("xml").write(events(("x", 5, 2.5), ("<&>", 6, 1e10)))
    assert several == [
        f"<events>{ONE}<event><a>&lt;&amp;&gt;</a><v>6</v><d>1.0E10</d></event></events>"
    ]
    template = payload("<s>{{a}}</s>")
    assert sink("xml", template).write(events(("x", 5, 2.5))) == ["<s>x</s>"]
    around = sink("xml", template, enclosing_element='<p id="1">')
    assert around.write(events(("x", 5, 2.5), ("y", 6, 1.0))) == ['<p id="1"><s>x</s><s>y</s></p>']


def test_xml_validation() -> None:
    """A template that breaks is told of."""
    mapper = sink("xml", payload("<s>{{a}}</s>"), validate_xml="true")
    assert mapper.write(events(("x", 5, 2.5))) == ["<s>x</s>"]
    with pytest.raises(MappingError):
        mapper.write(events(("<", 5, 2.5)))


@pytest.mark.parametrize(
    ("text", "options", "expected", "refused"),
    [
        (f"<events>{ONE}{ONE}</events>", {}, [[("x", 5, 2.5), ("x", 5, 2.5)]], 0),
        ("<events><event><v>5</v><d>2</d><a/></event></events>", {}, [[("", 5, 2.0)]], 0),
        (f"<events>{ONE}<event><a>y</a></event></events>", {}, [[("x", 5, 2.5)]], 1),
        ("<events><event><a>y</a></event></events>", {"fail_on_missing_attribute": "false"},
         [[("y", None, None)]], 0),
        ("<events><event><a>y</a><v>five</v><d>1</d></event></events>", {}, [], 1),
        ("<events>", {}, [], 1),
        ("<!DOCTYPE x><events/>", {}, [], 1),
    ],
)  # fmt: skip
def test_xml_source(text: str, options: dict[str, Any], expected: Any, refused: int) -> None:
    """Elements by name in any order; each event is judged alone."""
    reading = source("xml", **options).read(text, 1)
    assert (rows(reading), len(reading.refused)) == (expected, refused)


def test_elements_as_text_have_a_limited_depth() -> None:
    """What is too deep to be written out is refused by its attribute's name."""

    def read(depth: int) -> Any:
        inner = "<b>" * depth + "</b>" * depth
        return source("xml").read(ONE.replace("x", inner).join(("<e>", "</e>")), 1)

    (((text, _, _),),) = rows(read(50))
    assert text.count("<b") == 50
    for depth in (sys.getrecursionlimit(), 30_000):
        (refused,) = read(depth).refused
        assert (refused.where, refused.message) == ("a", "the message is nested too deep")


def test_xml_nulls_come_back() -> None:
    """xsi:nil there and back."""
    sent = events((None, 5, None))
    (text,) = sink("xml").write(sent)
    assert rows(source("xml").read(text, 1)) == [[sent[0].data]]


PORTFOLIO = """
<doc><portfolio xmlns:dt="urn:x">
  <stock exchange="nasdaq"><n><volume>100</volume></n><price dt:type="number">55.6</price></stock>
  <stock exchange="nyse"><n><volume>200</volume></n><price dt:type="text">75.6</price></stock>
</portfolio></doc>
"""


def test_xml_paths() -> None:
    """The children of the enclosing element are the events; attributes, namespaces, depth."""
    mapper = source(
        "xml",
        attributes(a="@exchange", v="n/volume", d="price"),
        enclosing_element="//portfolio",
    )
    assert rows(mapper.read(PORTFOLIO, 1)) == [[("nasdaq", 100, 55.6), ("nyse", 200, 75.6)]]
    itself = source(
        "xml",
        attributes(a="price/@dt:type", v="n/volume/text()", d="price"),
        enclosing_element="//stock",
        enclosing_element_as_event="true",
        namespaces="dt=urn:x",
    )
    assert rows(itself.read(PORTFOLIO, 1)) == [[("number", 100, 55.6), ("text", 200, 75.6)]]
    root = source("xml", attributes(a="portfolio/stock/n", v=".//volume", d=".//price"))
    assert rows(root.read(PORTFOLIO, 1)) == [[("<n><volume>100</volume></n>", 100, 55.6)]]
    assert mapper.read("<doc/>", 1).refused


def test_xml_names_are_in_the_default_namespace() -> None:
    """Where one is declared; without one they are in none."""
    document = '<o xmlns="urn:x"><n><a>x</a><a>z</a><v>5</v><d>2.5</d></n></o>'
    paths = attributes(a="a", v="v", d="d")
    within = source("xml", paths, enclosing_element="o", namespaces="=urn:x")
    assert rows(within.read(document, 1)) == [[("x", 5, 2.5)]]
    plain = document.replace(' xmlns="urn:x"', "")
    assert within.read(plain, 1).refused
    assert rows(source("xml", paths, enclosing_element="o").read(plain, 1)) == [[("x", 5, 2.5)]]


@pytest.mark.parametrize(
    ("nested", "options"),
    [
        ((attributes(a="a[", v="v", d="d"),), {}),
        ((attributes(a="p:a", v="v", d="d"),), {}),
        ((), {"namespaces": "urn"}),
    ],
)
def test_wrong_xml_options(nested: Any, options: dict[str, Any]) -> None:
    """Paths that are none, prefixes that nobody declared."""
    with pytest.raises(SiddhiQLError):
        source("xml", *nested, **options)
    with pytest.raises(SiddhiQLError):
        sink("xml", enclosing_element="<a><b>")


def test_keyvalue_source() -> None:
    """Exact types unless casts are allowed; several maps are one chunk."""
    exact = source("keyvalue")
    assert rows(exact.read({"a": "x", "v": 5, "d": 2.5}, 1)) == [[("x", 5, 2.5)]]
    assert exact.read({"a": "x", "v": "5", "d": 2.5}, 1).refused[0].where == "v"
    assert exact.read({"a": "x", "v": 5}, 1).refused
    assert exact.read("text", 1).refused
    casting = source("keyvalue", attributes(a="s", v="n", d="p"), implicit_cast_enable="true")
    both = casting.read([{"s": 1, "n": "5", "p": 2}, {"s": "y", "n": 6, "p": "x"}], 1)
    assert (rows(both), len(both.refused)) == ([[("1", 5, 2.0)]], 1)


def test_keyvalue_sink() -> None:
    """Typed values by name; an attribute's name gives the object, back quotes the literal."""
    assert sink("keyvalue").write(events(("x", 5, None))) == [{"a": "x", "v": 5, "d": None}]
    mapper = sink("keyvalue", payload(x="v", y="hi {{v}}", z="`d`"))
    assert mapper.write(events(("x", 5, 2.5))) == [{"x": 5, "y": "hi 5", "z": "d"}]
    assert sink("keyvalue", payload("hi {{v}}")).write(events(("x", 5, 2.5))) == [{"null": "hi 5"}]


def test_pass_through() -> None:
    """Events as they are; rows get the time; a list is one chunk."""
    mapper = source("passThrough")
    event = Event(7, ("x", 5, 2.5))
    assert mapper.read(event, 1).chunks == [[event]]
    assert mapper.read([("x", 5, 2.5), event], 1).chunks == [[Event(1, event.data), event]]
    assert mapper.read("text", 1).refused
    assert sink("passThrough").write([event]) == [event]
    assert sink("passThrough").write([event, event]) == [[event, event]]


def test_line_ends_in_texts_come_back() -> None:
    """Parsers read a carriage return that is written as it is as a newline."""
    sent = events(("a\rb\r\n\tc&#13;", 5, 2.5))
    (text,) = sink("xml").write(sent)
    assert rows(source("xml").read(text, 1)) == [[event.data for event in sent]]


@pytest.mark.parametrize("character", ["\x00", "\x01", "\x1f", "\ufffe", "\uffff"])
def test_what_xml_has_no_character_for_is_refused(character: str) -> None:
    """By the attribute's name, instead of a document that nobody can read."""
    with pytest.raises(MappingError, match="XML has no character") as caught:
        sink("xml").write(events((f"a{character}b", 5, 2.5)))
    assert caught.value.where == "a"
    (text,) = sink("xml").write(events(("\x7f\U0010ffff\ue000\ufffd", 5, 2.5)))
    assert source("xml").read(text, 1).chunks


@pytest.mark.parametrize(("names", "reads"), [(MAX_NAMES, True), (MAX_NAMES + 1, False)])
def test_expressions_for_a_limited_number_of_names(
    names: int, reads: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More are parsed: an expression takes the square of them. Nor is one made in vain."""
    made = []

    def form(event: str, of: tuple[str, ...]) -> FixedForm:
        made.append(len(of))
        return _form(event, of)

    monkeypatch.setattr("lockstep.mapping.xml.columns._form", form)
    mapper = source("xml")
    assert isinstance(mapper, XmlSource)
    more = "".join(f"<m{at}>7</m{at}>" for at in range(names - 3))
    event = f"<event><a>x</a><v>5</v><d>2.5</d>{more}</event>"
    found = XmlColumns(mapper).columns(f"<events>{event * 2}</events>", {})
    assert [list(map(str, each)) for each in found.values] == [["x"] * 2, ["5"] * 2, ["2.5"] * 2]
    assert made == ([names] if reads else [])
    assert XmlColumns(mapper).read("<events><event><b>x</b></event></events>", {}) is None
    assert len(made) == reads


def test_forms_have_texts_as_java_writes_them() -> None:
    """Over HTTP and the like a map is a form, which has texts alone; null is an empty one."""
    kinds = {"b": "bool", "f": "float", "d": "double", "o": "object", "n": "string"}
    schema = StreamSchema(
        "K", tuple(Attribute(name, AttributeType(kind)) for name, kind in kinds.items())
    )
    sent = events((True, 0.10000000149011612, 1e20, [1, "a", None], None))

    def written(*nested: ast.Annotation) -> dict[str, str]:
        mapping = annotation("keyvalue", nested=nested)
        body = MessageWriter(schema, ast.Annotation("sink", (), (mapping,))).write(sent)
        return dict(parse_qsl(body.decode(), keep_blank_values=True))

    expected = {"b": "true", "f": "0.1", "d": "1.0E20", "o": "[1, a, null]", "n": ""}
    assert written() == expected
    own = written(payload(x="f", y="hi {{b}}", z="`d`", n="n"))
    assert own == {"x": "0.1", "y": "hi true", "z": "d", "n": ""}
