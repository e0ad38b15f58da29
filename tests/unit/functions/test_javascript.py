"""Functions in JavaScript (extensions 28)."""

from __future__ import annotations

import math
from typing import Any

import pytest

from lockstep.events import AttributeType
from lockstep.functions.javascript import SAFE_MAX, compile_body
from lockstep.functions.javascript_engine import FUEL_PER_STEP, Machine
from lockstep.functions.script import check_script, compile_script
from lockstep.operators.errors import EventError
from lockstep.operators.limits import LimitError, Limits, in_force
from lockstep.siddhiql import SiddhiQLError, ast
from lockstep.testing import VirtualApp

AT = ast.Location(3, 5)
SMALL = Limits(function_steps=20_000, function_bytes=8 * 1024 * 1024)


def script(body: str, returns: str = "object") -> Any:
    """A function named f."""
    return compile_script(
        ast.FunctionDefinition("f", "JavaScript", AttributeType(returns), body, at=AT)
    )


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, False, 0, -7, SAFE_MAX, SAFE_MAX + 1, -(2**63), 2**63 - 1),
        *(
            1.5,
            -0.0,
            1e300,
            5e-324,
            math.inf,
            -math.inf,
            "",
            "x",
            "ä😀",
            "\n\u2028\0\"'</script>`${1}",
        ),
        *([], [1, [2.5, None]], {}, {"a": {"b": [True]}, "__proto__": 1, "": "x"}),
    ],
)
def test_values_come_back_as_they_went_in(value: Any) -> None:
    """Also those that JSON or a number of JavaScript has no form for."""
    back = compile_body("f", "return data[0]")([value])
    assert back == value
    assert type(back) is type(value) or isinstance(back, int)
    assert str(back) == str(value) or isinstance(value, float)


def test_no_number_and_large_integers() -> None:
    """NaN is NaN. A large long is exact in texts, and arithmetic with it says that it is not."""
    assert math.isnan(script("return data[0]")(math.nan))
    assert script("return 'id ' + data[0]")(2**62) == f"id {2**62}"
    with pytest.raises(EventError, match="TypeError"):
        script("return data[0] + 1")(2**62)


def test_results_take_the_promised_type() -> None:
    """As those of Python do."""
    assert script("return 2.9", "int")() == 2
    assert type(script("return 2", "double")()) is float
    assert script("return 12345678901", "long")() == 12345678901
    assert script("", "string")() is None
    with pytest.raises(EventError, match="returned 3, which is no string"):
        script("return 3", "string")()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return Date.now()", "no clock here: give the function a timestamp"),
        ("return new Date().getTime()", "no clock here"),
        ("return new (new Date(0).constructor)().getTime()", "no clock here"),
        ("return Date()", "no clock here"),
        ("return Math.random()", "no chance here"),
        ("return Java.type('java.lang.System')", "no Java here"),
        ("return java.lang.System.nanoTime()", "no Java here"),
        ("return nothing", "ReferenceError: nothing is not defined"),
        ("throw 'bare'", "Error: bare"),
        ("return function () {}", "a function is no value"),
        ("return (async () => 1)()", "a promise is no value"),
        ("return '\\ud800'", "half a character"),
        ("var o = {}; o.o = o; return o", "circular"),
    ],
)
def test_what_a_body_may_not_do_is_the_events_error(body: str, said: str) -> None:
    """With its reason, and the next call is as the first."""
    with pytest.raises(EventError, match="function f") as caught:
        script(body)()
    assert said in str(caught.value)


def test_time_zones_of_the_machine_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """Local time is UTC."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert script("return new Date(2020, 0, 1).toISOString()")() == "2020-01-01T00:00:00.000Z"


def test_nothing_passes_from_a_call_to_the_next() -> None:
    """Neither a global nor what became of the language's own library."""
    keep = script("seen = typeof seen === 'undefined' ? 1 : seen + 1; Math.max = null; return seen")
    assert [keep(), keep(), keep()] == [1, 1, 1]
    grow = script("big = 'x'.repeat(data[0]); return big.length + typeof other")
    assert [grow(1), grow(3_000_000), grow(1)] == ["1undefined", "3000000undefined", "1undefined"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("for (;;) {}", "limits.function_steps"),
        (
            "try { for (;;) {} } catch (e) { return 1 } finally { return 2 }",
            "limits.function_steps",
        ),
        ("return /(a+)+$/.test('a'.repeat(60) + 'b')", "limits.function_steps"),
        ("return 'x'.repeat(1 << 28)", "limits.function_bytes"),
        ("return f(data)", "nest too deep"),
        (
            "function g(n) { return [n].map(function (x) { return g(x + 1) }) } g(0)",
            "nest too deep",
        ),
    ],
)
def test_a_function_without_an_end_ends(body: str, said: str) -> None:
    """A limit that it cannot catch; the function can be called again."""
    function = script(f"if (data[0] === 0) return 'well'; {body}")
    with in_force(SMALL):
        for _ in range(2):
            with pytest.raises(LimitError, match=said):
                function(1)
        assert function(0) == "well"


def test_a_limit_is_reached_at_the_same_step_whatever_ran_before() -> None:
    """Fresh, after other calls, after a limit, after memory has grown: the same turns fit in."""
    body = "var n = 0; for (var i = 0; i < data[0]; i++) n += i; return n"

    def passes(function: Any, turns: int) -> bool:
        try:
            function(turns)
        except LimitError:
            return False
        return True

    with in_force(SMALL):
        most, over = 1, SMALL.function_steps * FUEL_PER_STEP
        fresh = script(body)
        while over - most > 1:  # also a search that meets a limit many times
            middle = (most + over) // 2
            most, over = (middle, over) if passes(fresh, middle) else (most, middle)
        used = script(body)
        for before in (3, over, 10_000_000, 7):
            passes(used, before)
        digits = len(str(most)) == len(str(over))  # as many bytes of arguments
        assert digits
        assert (passes(used, most), passes(used, over)) == (True, False)


def test_memory_and_depth_are_the_same_in_every_machine() -> None:
    """The largest that fits is the same in two machines with different pasts."""
    body = (
        "if (data[0] === 'depth') { function g(n) { return n ? g(n - 1) : 0 } return g(data[1]) }"
        " return 'x'.repeat(data[1]).length"
    )
    one, other = script(body), script(body)
    with in_force(SMALL):
        for what, most in (("depth", 5_000), ("memory", 20_000_000)):
            low, high = 1, most
            while high - low > 1:
                middle = (low + high) // 2
                try:
                    one(what, middle)
                    low = middle
                except LimitError:
                    high = middle
            assert high < most
            other(what, low)
            with pytest.raises(LimitError):
                other(what, high)


def test_long_arguments_take_no_steps() -> None:
    """A text of some megabytes is read, whatever the limit of steps."""
    with in_force(Limits(function_steps=100)):
        assert script("return data[0].length")("y" * 2_000_000) == 2_000_000


def test_bodies_that_cannot_be_compiled_are_refused_with_their_place() -> None:
    """What the engine says of them stands in the error."""
    for body in ("return data[0;", "var class = 1", "return '"):
        with pytest.raises(SiddhiQLError, match="is no JavaScript: SyntaxError") as caught:
            check_script(ast.FunctionDefinition("f", "javascript", AttributeType.INT, body, at=AT))
        assert (caught.value.line, caught.value.column) == (3, 5)


def test_a_start_that_is_no_program_says_why() -> None:
    """The machine gives the engine's own words."""
    with pytest.raises(Exception, match="TypeError: not so"):
        Machine("throw new TypeError('not so')")


@pytest.mark.parametrize("executor", ["reference", "columnar"])
def test_an_event_over_a_limit_is_left_out_and_the_next_is_not(executor: str) -> None:
    """In both executors, as with Python."""
    text = """
    define function spin[JavaScript] return int { while (data[0] < 0) {} return data[0] * 2; };
    define stream S (v int);
    @info(name='q') from S select spin(v) as w insert into O;
    """
    with in_force(SMALL), VirtualApp(text, executor=executor) as app:
        for value in (4, -1, 5):
            app.send("S", [value])
        assert [event.data for event in app.stream("O")] == [(8,), (10,)]
