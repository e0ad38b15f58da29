"""csv and text sources and sinks (extensions 13.4, 13.5)."""

from __future__ import annotations

import random
from typing import Any

import pytest

from lockstep.siddhiql import SiddhiQLError
from tests.unit.mapping.mappers import attributes, events, payload, rows, sink, source


@pytest.mark.parametrize(
    ("data", "options", "expected"),
    [
        ([("x", 5, 2.5)], {}, ["x,5,2.5\n"]),
        ([('he said "hi", ok', 5, 1e10)], {}, ['"he said ""hi"", ok",5,1.0E10\n']),
        ([(None, 5, None)], {}, ["null,5,null\n"]),
        ([("x", 1, 1.0), ("y", 2, 2.0)], {}, ["x,1,1.0\n", "y,2,2.0\n"]),
        (
            [("x", 1, 1.0), ("y", 2, 2.0)],
            {"event_grouping_enabled": "true", "delimiter": ";"},
            ["x;1;1.0\ny;2;2.0\n"],
        ),
        ([("a||b", 5, 2.5)], {"delimiter": "||"}, ['"a||b"||5||2.5\n']),
        ([("a|", 5, None)], {"delimiter": "||"}, ['"a|"||5||null\n']),
        ([('"', 5, 2.5)], {"delimiter": "--"}, ['""""--5--2.5\n']),
        ([("a\rb", 5, 2.5)], {}, ['"a\rb",5,2.5\n']),
        ([("a\r\nb", 5, 2.5)], {"delimiter": "--"}, ['"a\r\nb"--5--2.5\n']),
    ],
)
def test_csv_sink(data: list[Any], options: dict[str, Any], expected: list[str]) -> None:
    """Quoting where needed, null as a word, groups on demand."""
    assert sink("csv", **options).write(events(*data)) == expected


def test_csv_sink_with_columns_and_header() -> None:
    """The header is a message of its own, once."""
    mapper = sink("csv", payload(a="2", v="0", d="1"), header="true", delimiter=";")
    assert mapper.write(events(("x", 1, 1.0))) == ["v;d;a\n", "1;1.0;x\n"]
    assert mapper.write(events(("y", 2, 2.0))) == ["2;2.0;y\n"]


@pytest.mark.parametrize(
    ("text", "options", "expected", "refused"),
    [
        ("x,5,2.5\n", {}, [[("x", 5, 2.5)]], 0),
        ('"a,""b""",5,2.5,more', {}, [[('a,"b"', 5, 2.5)]], 0),
        (",5,2.5", {}, [[("", 5, 2.5)]], 0),
        ("x,null,null", {}, [[("x", None, None)]], 0),
        ("x,5", {}, [], 1),
        ("x,5", {"fail_on_unknown_attribute": "false"}, [[("x", 5, None)]], 0),
        ("x,five,2.5", {}, [], 1),
        ("x,five,2.5", {"fail_on_unknown_attribute": "false"}, [[("x", None, 2.5)]], 0),
        (" x , 5 , 2.5 ", {}, [[("x", 5, 2.5)]], 0),
        ("x \t 5\t2.5", {"delimiter": "\\t"}, [[("x", 5, 2.5)]], 0),
        ("x | 5 | 2.5\n", {"delimiter": " | "}, [[("x", 5, 2.5)]], 0),
        ("a|b||5||2.5", {"delimiter": "||"}, [[("a|b", 5, 2.5)]], 0),
        ('"a||""b"||5||2.5\n', {"delimiter": "||"}, [[('a||"b', 5, 2.5)]], 0),
        ("x;5;2.5", {"delimiter": ";;"}, [], 1),
        ("a,v,d\nx,1,1\n", {"event_grouping_enabled": "true", "header": "true"},
         [[("x", 1, 1.0)]], 0),
        ("x,1,1\ny,2,2", {}, [[("x", 1, 1.0)]], 1),
        ("x,1,1\ny,z,2\nw,3,3\n", {"event_grouping_enabled": "true"},
         [[("x", 1, 1.0), ("w", 3, 3.0)]], 1),
        ("a,v,d\nx,1,1\n", {"event_grouping_enabled": "true", "header_present": "true"},
         [[("x", 1, 1.0)]], 0),
    ],
)  # fmt: skip
def test_csv_source(text: str, options: dict[str, Any], expected: Any, refused: int) -> None:
    """A bad line is refused alone."""
    reading = source("csv", **options).read(text, 1)
    assert (rows(reading), len(reading.refused)) == (expected, refused)


@pytest.mark.parametrize("delimiter", [",", "||", "|;", "-->", "aba", "\ue000|"])
def test_delimiters_bring_back_what_they_stood_between(delimiter: str) -> None:
    """Also values that begin, end or consist of pieces of the delimiter."""
    options: dict[str, Any] = {"delimiter": delimiter, "event_grouping_enabled": "true"}
    chance = random.Random(delimiter)
    letters = f'{delimiter}{delimiter}x"\n\r'
    texts = ["".join(chance.choices(letters, k=chance.randrange(1, 6))) for _ in range(200)]
    data = [(text.strip() or "x", number, 0.5) for number, text in enumerate(texts)]
    [written] = sink("csv", **options).write(events(*data))
    assert rows(source("csv", **options).read(written, 1)) == [data]


def test_a_refused_line_of_several_characters_is_a_message_again() -> None:
    """Its piece brings the same refusal."""
    options: dict[str, Any] = {
        "delimiter": "||", "event_grouping_enabled": "true", "header": "true",
    }  # fmt: skip
    [refusal] = source("csv", **options).read('a||v||d\n"x||"||five||1\n', 1).refused
    assert refusal.piece == b'header\n"x||"||five||1\n'
    [again] = source("csv", **options).read(refusal.piece, 1).refused
    assert (again.message, again.piece) == (refusal.message, refusal.piece)


def test_csv_source_with_columns() -> None:
    """Numbers of columns, counted from 0; the header line in front of single lines comes once."""
    mapper = source("csv", attributes(a="2", v="0", d="1"), header_present="true", delimiter=";")
    assert rows(mapper.read("v;d;a", 1)) == []
    assert rows(mapper.read("1;2.5;x", 1)) == [[("x", 1, 2.5)]]


@pytest.mark.parametrize(
    ("nested", "options"),
    [
        ((), {"delimiter": '"'}),
        ((attributes(a="x", v="0", d="1"),), {}),
        ((attributes(a="²", v="0", d="1"),), {}),
        ((attributes(a="9" * 5_000, v="0", d="1"),), {}),
    ],
)
def test_wrong_csv_options(nested: Any, options: dict[str, Any]) -> None:
    """Refused when the mapper is built."""
    with pytest.raises(SiddhiQLError):
        source("csv", *nested, **options)
    with pytest.raises(SiddhiQLError):
        sink("csv", payload(a="0", v="0"))
    for number in ("²", "9" * 5_000, "-1"):
        with pytest.raises(SiddhiQLError, match="number of column"):
            sink("csv", payload(a=number, v="1", d="2"))


DEFAULT = 'a:"x",\nv:5,\nd:2.5'


def test_text_sink() -> None:
    """One attribute per line; groups with a delimiter line; templates."""
    assert sink("text").write(events(("x", 5, 2.5))) == [DEFAULT]
    assert sink("text").write(events((None, 5, None))) == ["a:null,\nv:5,\nd:null"]
    grouped = sink("text", event_grouping_enabled="true").write(
        events(("x", 5, 2.5), ("x", 5, 2.5))
    )
    assert grouped == [f"{DEFAULT}\n~~~~~~~~~~\n{DEFAULT}"]
    custom = sink("text", payload("a is {{a}}, v={{ v }}, {{{d}}}"))
    assert custom.write(events(("x", None, 1e7))) == ["a is x, v=null, 1.0E7"]


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        (DEFAULT, {}, [[("x", 5, 2.5)]]),
        ("d:2.5,\n a : 'y:z' ,\nv:5", {}, [[("y:z", 5, 2.5)]]),
        ("a:null,\nv:null,\nd:null", {}, [[(None, None, None)]]),
        ('a:"x", v:5, d:2.5', {}, []),
        (f"{DEFAULT}\na:'y'", {"event_grouping_enabled": "true"}, [[("x", 5, 2.5)]]),
        ('a:"x"', {"fail_on_missing_attribute": "false"}, [[("x", None, None)]]),
        ('a:"x"', {"fail_on_unknown_attribute": "false"}, [[("x", None, None)]]),
        ('a:"x"', {"fail_on_unknown_attribute": "true"}, []),
        (f"{DEFAULT}\n~~~~~~~~~~\n{DEFAULT}\n", {"event_grouping_enabled": "true"},
         [[("x", 5, 2.5)], [("x", 5, 2.5)]]),
        (f"{DEFAULT}\n--\na:'y'", {"event_grouping_enabled": "true", "delimiter": "--"},
         [[("x", 5, 2.5)]]),
    ],
)  # fmt: skip
def test_text_source(text: str, options: dict[str, Any], expected: Any) -> None:
    """Each attribute on its own line; a group is delivered one event at a time."""
    assert rows(source("text", **options).read(text, 1)) == expected


def test_text_source_by_patterns() -> None:
    """Group 1 and 2 of A, the first group of B."""
    mapper = source(
        "text",
        attributes(a="A[1]", d="A[2]", v="B"),
        regex_A=r"(\w+)\s([-.0-9]+)",
        regex_B=r"volume\s(\d+)",
    )
    assert rows(mapper.read("wso2 550.5 volume 100", 1)) == [[("wso2", 100, 550.5)]]
    assert mapper.read("wso2 550.5", 1).refused[0].where == "v"


@pytest.mark.parametrize(
    ("nested", "options"),
    [
        ((attributes(a="A", v="B", d="C"),), {"regex_A": "(.)"}),
        ((), {"regex_A": "("}),
    ],
)
def test_wrong_text_options(nested: Any, options: dict[str, Any]) -> None:
    """Patterns that are none, groups of patterns that are not there."""
    with pytest.raises(SiddhiQLError):
        source("text", *nested, **options)


LONG = "9" * 5000


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("csv", f"x,{LONG},2.5"),
        ("text", f"a:x,\nv:{LONG},\nd:2.5"),
        ("xml", f"<events><event><a>x</a><v>{LONG}</v><d>2.5</d></event></events>"),
    ],
)
def test_a_number_of_thousands_of_digits_is_refused(kind: str, text: str) -> None:
    """As any that is too large: its event is refused, and nothing else happens."""
    reading = source(kind).read(text, 1)
    assert rows(reading) == []
    assert ["is no int" in refusal.message for refusal in reading.refused] == [True]
