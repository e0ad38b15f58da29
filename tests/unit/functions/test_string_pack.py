"""`str:` and `regex:` (extensions 2 and 8)."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep.operators.errors import EventError
from tests.unit.functions.calling import call


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("charAt", ("WSO2", 0), "W"),
        ("charFrequency", ("WSO2,W", "W"), 2),
        ("coalesce", (None, "a"), "a"),
        ("concat", ("a", 1, True), "a1true"),
        ("concat", ("a", None, 1e10), "a1.0E10"),
        ("contains", ("21 products", "products"), True),
        ("contains", (None, "a"), False),
        ("equalsIgnoreCase", ("WSO2", "wso2"), True),
        ("equalsIgnoreCase", ("a", None), False),
        ("fillTemplate", ("{{1}} is {{ 2 }}", "x", 3), "x is 3"),
        ("fillTemplate", ("{{k}} and {{none}}", {"k": 5.0}), "5.0 and none"),
        ("hex", ("My",), "4d79"),
        ("unhex", ("4d79",), "My"),
        ("length", ("Hello",), 5),
        ("locate", ("b", "abab"), 1),
        ("locate", ("b", "abab", 2), 3),
        ("locate", ("x", "abab"), -1),
        ("lower", ("ABC",), "abc"),
        ("upper", ("aß",), "ASS"),
        ("regexp", ("WSO2 abc", "WSO2(.*)"), True),
        ("regexp", ("xWSO2", "WSO2"), False),
        ("repeat", ("ab", 3), "ababab"),
        ("replaceAll", ("hello hi hello", "(h)(e)", "$2$1"), "ehllo hi ehllo"),
        ("replaceAll", ("a.b", r"\.", r"\$"), "a$b"),
        ("replaceFirst", ("hello WSO2 A hello", "WSO2(.*)A", "XXXX"), "hello XXXX hello"),
        ("reverse", ("Hello",), "olleH"),
        ("split", ("a,b,,c,,", ",", 3), "c"),
        ("strcmp", ("abbc", "ABBC"), 32),
        ("strcmp", ("ab", "abcd"), -2),
        ("substr", ("AbCDefghiJ", 4), "efghiJ"),
        ("substr", ("abc", 3), ""),
        ("substr", ("AbCDefghiJ", 2, 4), "CDef"),
        ("substr", ("WSO2D efghi", "WSO2D(.*)"), "WSO2D efghi"),
        ("substr", ("WSO2 cep WSO2 XX E", "WSO2(.*)E(.*)", 2), ""),
        ("substr", ("abc", "x+"), ""),
        ("trim", ("\t a \n",), "a"),
    ],
)
def test_values(name: str, values: tuple[Any, ...], expected: Any) -> None:
    """What the functions give."""
    found = call(f"str:{name}", *values)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("name", "values", "types"),
    [
        ("str:charAt", ("abc", 3), None),
        ("str:charAt", (None, 0), "string int"),
        ("str:charFrequency", ("abc", "ab"), None),
        ("str:contains", ("a", None), "string string"),
        ("str:length", (None,), "string"),
        ("str:split", ("a,b", ",", 2), None),
        ("str:split", (",", ",", 0), None),
        ("str:substr", ("abc", 4), None),
        ("str:substr", ("abc", "b", 1), None),
        ("str:unhex", ("4g",), None),
        ("str:unhex", ("4",), None),
        ("str:replaceAll", ("a", "(a", "b"), None),
        ("str:replaceAll", ("a", "a", "$1"), None),
        ("str:fillTemplate", ("{{5}}", "a"), None),
        ("regex:group", ("a", None, 0), "string string int"),
        ("regex:find", (None, "a"), "string string"),
    ],
)
def test_refusals(name: str, values: tuple[Any, ...], types: str | None) -> None:
    """Null, positions outside and broken expressions drop the event, and say why."""
    with pytest.raises(EventError):
        call(name, *values, types=types)


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("find", (r"\d\d(.*)WSO2", "21 products are produced by WSO2"), True),
        ("find", ("WSO2", "WSO2 x", 1), False),
        ("find", ("a", None), False),
        ("matches", ("WSO2(.*)middleware(.*)", "WSO2 is situated, middleware"), True),
        ("matches", ("a", "ab"), False),
        ("lookingAt", (r"\d\d(.*)WSO2", "21 products by WSO2 x"), True),
        ("lookingAt", ("b", "ab"), False),
        ("group", (r"\d\d(.*)(WSO2.*)", "21 products by WSO2 now", 2), "WSO2 now"),
        ("group", ("a", "b", 0), None),
        ("group", ("a", "a", 4), None),
    ],
)
def test_regex(name: str, values: tuple[Any, ...], expected: Any) -> None:
    """The pattern comes first."""
    types = " ".join("int" if isinstance(value, int) else "string" for value in values)
    assert call(f"regex:{name}", *values, types=types) == expected
