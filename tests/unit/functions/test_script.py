"""Functions that an app defines itself (grammar 6.5)."""

from __future__ import annotations

import pytest

from lockstep.events import AttributeType
from lockstep.functions.script import check_script, compile_script
from lockstep.operators.errors import EventError
from lockstep.siddhiql import SiddhiQLError, ast
from lockstep.testing import VirtualApp


def script(body: str, returns: str = "int", language: str = "python") -> ast.FunctionDefinition:
    """A definition named f."""
    at = ast.Location(3, 5)
    return ast.FunctionDefinition("f", language, AttributeType(returns), body, at=at)


def test_the_body_sees_its_arguments_as_data() -> None:
    """One line, several lines, an indented block."""
    assert compile_script(script(" return data[0] + data[1] "))(1, 2) == 3
    several = "\n    total = 0\n    for v in data:\n        total += v\n    return total\n"
    assert compile_script(script(several))(1, 2, 3) == 6


def test_results_take_the_promised_type() -> None:
    """Numbers are converted as `convert` does it, other types are refused; null stays null."""
    assert compile_script(script("return 2.9"))() == 2
    assert type(compile_script(script("return 2", "double"))()) is float
    assert compile_script(script("return None"))() is None
    with pytest.raises(EventError, match="no int"):
        compile_script(script("return 'x'"))()


def test_what_the_body_raises_is_the_events_error() -> None:
    """The process goes on; the message names the function."""
    with pytest.raises(EventError, match="function f: ZeroDivisionError"):
        compile_script(script("return 1 / data[0]"))(0)


@pytest.mark.parametrize(
    "definition",
    [
        script("return ("),
        script("return (", language="javascript"),
        script("1", language="scala"),
    ],
)
def test_bad_definitions_are_refused_with_their_place(definition: ast.FunctionDefinition) -> None:
    """A body that is no Python, a language that is not run here."""
    with pytest.raises(SiddhiQLError) as caught:
        check_script(definition)
    assert (caught.value.line, caught.value.column) == (3, 5)


def test_a_failing_function_drops_the_chunk_alone() -> None:
    """What came before and comes after is unharmed."""
    text = """
    define function half[python] return double {
        if data[0] < 0:
            raise ValueError('negative')
        return data[0] / 2
    };
    define stream S (v int);
    from S select half(v) as h insert into O;
    """
    with VirtualApp(text) as app:
        for value in (4, -1, 5):
            app.send("S", [value])
        assert [event.data for event in app.stream("O")] == [(2.0,), (2.5,)]
        assert len(app.faults()) == 1


@pytest.mark.parametrize(
    ("returns", "body", "why"),
    [
        ("string", "return 'a' + chr(0xd83d)", "half a character"),
        ("object", "return [chr(0xd83d)]", "surrogates not allowed"),
        ("object", "return print", "builtin_function_or_method; objects are made of"),
        ("object", "l = [1]\nl.append(l)\nreturn l", "nested"),
        ("long", "return 2 ** 63", "9223372036854775808, which is no long"),
    ],
)
def test_what_no_log_can_hold_is_the_events_error(returns: str, body: str, why: str) -> None:
    """It would stop the app where it leaves it."""
    with pytest.raises(EventError, match=why):
        compile_script(script(body, returns))()
