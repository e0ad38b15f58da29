"""`math:` (extensions 3)."""

from __future__ import annotations

import math
from typing import Any

import pytest

from lockstep.operators.errors import EventError
from lockstep.testing import VirtualApp
from tests.unit.functions.calling import call

INF, NAN = math.inf, math.nan


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("abs", (-5,), 5.0),
        ("acos", (2.0,), NAN),
        ("atan", (1.0,), math.pi / 4),
        ("atan", (12.0, 5.0), math.atan2(12, 5)),
        ("bin", (-1,), "1" * 32),
        ("bin", (9,), "1001"),
        ("cbrt", (-27.0,), -3.0),
        ("sqrt", (-1.0,), NAN),
        ("ceil", (-0.5,), -0.0),
        ("floor", (-0.5,), -1.0),
        ("floor", (INF,), INF),
        ("conv", ("7f", 16, 10), "127"),
        ("conv", ("-ff", 16, 2), "-11111111"),
        ("copySign", (5.6, -3.0), -5.6),
        ("cosh", (1000.0,), INF),
        ("sinh", (-1000.0,), -INF),
        ("e", (), math.e),
        ("exp", (1000.0,), INF),
        ("ln", (0,), -INF),
        ("ln", (-1,), NAN),
        ("log2", (8,), 3.0),
        ("log10", (0,), -INF),
        ("log", (8, 2), 3.0),
        ("log", (8, 1), INF),
        ("getExponent", (60984.1,), 15),
        ("getExponent", (0.0,), -1023),
        ("getExponent", (INF,), 1024),
        ("hex", (200,), "c8"),
        ("hex", (-1,), "ffffffff"),
        ("hex", (3.0,), "0x1.8p1"),
        ("hex", (0.0,), "0x0.0p0"),
        ("hex", (5e-324,), "0x0.0000000000001p-1022"),
        ("isInfinite", (INF,), True),
        ("isInfinite", (None,), False),
        ("isNan", (None,), False),
        ("isNan", (0.0,), False),
        ("max", (123.67, 91), 123.67),
        ("min", (NAN, 1.0), NAN),
        ("oct", (99,), "143"),
        ("parseInt", ("123",), 123),
        ("parseDouble", (" 1e3 ",), 1000.0),
        ("power", (5.6, 3.0), 175.61599999999996),
        ("power", (0.0, -1.0), INF),
        ("power", (-8.0, 1 / 3), NAN),
        ("power", (-10.0, 401.0), -INF),
        ("power", (1.0, INF), NAN),
        ("round", (2.5,), 3),
        ("round", (-2.5,), -2),
        ("round", (0.49999999999999994,), 0),
        ("round", (1e300,), 9223372036854775807),
        ("signum", (-6.32,), -1),
        ("signum", (NAN,), 0),
        ("sin", (INF,), NAN),
        ("toDegrees", (math.pi,), 180.0),
        ("toRadians", (180,), math.pi),
    ],
)
def test_values(name: str, values: tuple[Any, ...], expected: Any) -> None:
    """Doubles out, infinities and NaN where there is no number, never an error."""
    found = call(f"math:{name}", *values)
    assert type(found) is type(expected)
    if isinstance(expected, float):
        assert found == pytest.approx(expected, nan_ok=True, rel=1e-15)
    else:
        assert found == expected
    if expected == 0.0:
        assert math.copysign(1, found) == math.copysign(1, expected)


@pytest.mark.parametrize(
    ("name", "value", "type_", "expected"),
    [
        ("round", 2.5, "float", 3),
        ("round", 1e20, "float", 2147483647),
        ("hex", -1, "long", "f" * 16),
        ("hex", 2.0**-149, "float", "0x0.000002p-126"),
        ("bin", -2, "long", "1" * 63 + "0"),
        ("abs", None, "double", None),
        ("parseInt", None, "string", None),
        ("round", None, "double", None),
    ],
)
def test_by_type(name: str, value: Any, type_: str, expected: Any) -> None:
    """The argument's type decides the width; null gives null."""
    assert call(f"math:{name}", value, types=type_) == expected


@pytest.mark.parametrize(
    ("name", "values"),
    [("parseInt", ("12.5",)), ("parseLong", ("x",)), ("conv", ("g", 16, 10)), ("conv", ("", 2, 3))],
)
def test_what_is_no_number_is_refused(name: str, values: tuple[Any, ...]) -> None:
    """Parsing fails loudly."""
    with pytest.raises(EventError):
        call(f"math:{name}", *values)


def test_a_seed_gives_javas_numbers() -> None:
    """The first number of seed 42, and going on after a restore."""
    text = "define stream S (v int); from S select math:rand(42) as r insert into O;"
    app = VirtualApp(text)
    app.send("S", [1])
    assert app.stream("O")[0].data[0] == 0.7275636800328681
    restored = VirtualApp.restore(text, app.snapshot())
    app.send("S", [2])
    restored.send("S", [2])
    assert restored.stream("O")[-1].data == app.stream("O")[-1].data
    assert app.stream("O")[-1].data[0] != 0.7275636800328681


def test_without_a_seed_replicas_draw_the_same() -> None:
    """Numbers in [0, 1), different from each other, the same in two apps that saw the same."""
    text = "define stream S (v int); from S select math:rand() as r insert into O;"
    drawn = []
    for _ in range(2):
        with VirtualApp(text) as app:
            for value in range(20):
                app.send("S", [value])
            drawn.append([event.data[0] for event in app.stream("O")])
    assert drawn[0] == drawn[1]
    assert len(set(drawn[0])) == 20
    assert all(0 <= number < 1 for number in drawn[0])


def test_the_larger_of_two_zeros() -> None:
    """Minus zero is below zero, in any order."""
    for zeros in ((0.0, -0.0), (-0.0, 0.0)):
        assert math.copysign(1, call("math:max", *zeros)) == 1
        assert math.copysign(1, call("math:min", *zeros)) == -1
    assert math.copysign(1, call("math:max", -0.0, -0.0)) == -1
    assert math.copysign(1, call("math:min", 0.0, 0.0)) == 1
