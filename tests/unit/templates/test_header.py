"""What a template says of itself."""

from __future__ import annotations

import pytest

from lockstep.templates import Kind, Parameter, TemplateError, Value, template_of

TEXT = """-- Anything else may stand here, too.
-- template: Room too hot
-- about: Tells when a room is hotter
-- about: than it may be.

-- parameter room string = 'kitchen': The room: which one.
-- parameter limit double from 0 to 1e2 = 30: Degrees.
-- parameter unit string in ('C', "F")
-- parameter span time = '5 min'
-- parameter often int from 1 to 9
@app:name('${app}')
-- parameter late bool
"""


def test_parameters_are_read() -> None:
    """Those in front of the text, with what may be given."""
    found = template_of(TEXT)
    assert found.name == "Room too hot"
    assert found.about == "Tells when a room is hotter than it may be."
    assert found.parameters == (
        Parameter("room", Kind.STRING, "The room: which one.", "kitchen"),
        Parameter("limit", Kind.DOUBLE, "Degrees.", 30.0, (), 0.0, 100.0),
        Parameter("unit", Kind.STRING, "", None, ("C", "F")),
        Parameter("span", Kind.TIME, "", "5 min"),
        Parameter("often", Kind.INT, "", None, (), 1.0, 9.0),
    )
    assert [one.example for one in found.parameters] == ["kitchen", 30.0, "C", "5 min", 1]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("-- parameter a", "this is no parameter"),
        ("-- parameter a text", "there is no type 'text'"),
        ("-- parameter a string from 1 to 2", "has no 'from"),
        ("-- parameter a int = 1.5", "is no int"),
        ("-- parameter a int from 1 to 2 = 3", "3 is out of range"),
        ("-- parameter a string in ('x') = 'y'", "is 'y'"),
        ("-- parameter a string = '\"a\"'", "quotation marks that no text can have"),
        ("-- parameter app string", "two parameters 'app'"),
        ("-- parameter room string", "two parameters 'room'"),
        ("-- template: Another", "a template has one name"),
    ],
)
def test_what_is_wrong_is_told(line: str, why: str) -> None:
    """And where."""
    with pytest.raises(TemplateError, match=why) as caught:
        template_of(f"{line}\n{TEXT}")
    assert caught.value.where or caught.value.hint


@pytest.mark.parametrize(
    ("written", "value"),
    [("\"'a'\"", "'a'"), ("'a\"b'", 'a"b'), ('"a\'"', "a'"), ("''", ""), ("plain", "plain")],
)
def test_quotation_marks_within_a_default_are_part_of_it(written: str, value: str) -> None:
    """The outer pair alone encloses it; so do those of a choice."""
    name = "-- template: T\n-- parameter a string"
    assert template_of(f"{name} = {written}").parameters[0].default == value
    assert template_of(f"{name} in ({written})").parameters[0].choices == (value,)


@pytest.mark.parametrize(
    ("kind", "given", "value"),
    [
        ("int", " -5 ", -5),
        ("int", 7, 7),
        ("long", str(2**63 - 1), 2**63 - 1),
        ("double", "1e3", 1000.0),
        ("float", 2, 2.0),
        ("bool", "TRUE", True),
        ("bool", False, False),
        ("time", "1 hour 30 min", "1 hour 30 min"),
        ("string", 5, "5"),
        ("string", " a ", " a "),
    ],
)
def test_values_of_forms_and_of_json(kind: str, given: Value, value: Value) -> None:
    """A form has texts; numbers and switches are read out of them."""
    found = Parameter("a", Kind(kind)).value(given)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("int", "5 or 1 == 1"), ("int", str(2**31)), ("int", "1_0"), ("int", "٣"), ("long", "1e3"),
        ("double", "nan"), ("double", "1e999"), ("double", "5)"), ("bool", "1"), ("bool", ""),
        ("time", "5"), ("time", "0 sec"), ("time", "5 min) or (1"), ("time", "5\nmin"),
        ("string", "a\nb"), ("string", "${secret:a}"), ("string", "{{a}}"), ("string", 'a"""b'),
        ("string", 'a"'), ("string", "x" * 1_001), ("string", None),
    ],
)  # fmt: skip
def test_values_that_are_none(kind: str, given: Value | None) -> None:
    """Who gives them is told which parameter it is."""
    with pytest.raises(TemplateError) as caught:
        Parameter("limit", Kind(kind)).value(given)
    assert caught.value.where == "parameter 'limit'"
