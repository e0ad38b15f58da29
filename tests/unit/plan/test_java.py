"""Java's arithmetic: what wraps, truncates, rounds, and how values print."""

from __future__ import annotations

import math

import pytest

from lockstep.plan import java


@pytest.mark.parametrize(
    ("value", "wrapped"),
    [(2**31 - 1, 2**31 - 1), (2**31, -(2**31)), (-(2**31) - 1, 2**31 - 1), (2**32 + 5, 5)],
)
def test_int_overflow_wraps(value: int, wrapped: int) -> None:
    """32-bit integers wrap silently."""
    assert wrapped == java.wrap_int(value)


def test_long_overflow_wraps() -> None:
    """64-bit integers wrap silently."""
    assert java.wrap_long(2**63) == -(2**63)


@pytest.mark.parametrize(
    ("left", "right", "quotient", "rest"),
    [(7, 2, 3, 1), (-7, 2, -3, -1), (7, -2, -3, 1), (-7, -2, 3, -1), (1, 0, None, None)],
)
def test_division_truncates(left: int, right: int, quotient: int | None, rest: int | None) -> None:
    """Division goes towards zero, the remainder has the dividend's sign, by zero is null."""
    assert quotient == java.divide_integers(left, right)
    assert rest == java.remainder_integers(left, right)


def test_smallest_int_by_minus_one_wraps() -> None:
    """The one quotient that does not fit."""
    assert java.divide_ints(-(2**31), -1) == -(2**31)
    assert java.divide_longs(-(2**63), -1) == -(2**63)


def test_floats_divide_by_zero_to_null() -> None:
    """No infinities from divisions (grammar 13.2)."""
    assert java.divide_floats(1.0, 0.0) is None
    assert java.remainder_floats(1.0, 0.0) is None
    assert java.divide_f32(1.0, 0.0) is None


def test_remainder_of_an_infinity_is_not_a_number() -> None:
    """As Java has it."""
    assert math.isnan(java.remainder_floats(math.inf, 2.0) or 0.0)


def test_floats_round_to_32_bits() -> None:
    """16777217 is no float; what is too large is infinite."""
    assert java.f32(16777217.0) == 16777216.0
    assert java.f32(1e39) == math.inf
    assert java.f32(-1e39) == -math.inf


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1.0"),
        (1e7, "1.0E7"),
        (9999999.0, "9999999.0"),
        (12345678.9, "1.23456789E7"),
        (0.001, "0.001"),
        (0.00099, "9.9E-4"),
        (-0.0, "-0.0"),
        (math.nan, "NaN"),
        (-math.inf, "-Infinity"),
    ],
)
def test_doubles_print_as_in_java(value: float, text: str) -> None:
    """Plain between a thousandth and ten million, scientific beyond."""
    assert text == java.text(value)


def test_floats_print_their_shortest_text() -> None:
    """A 32-bit 0.1 is 0.1 and not its 64-bit neighbour."""
    assert java.text(java.f32(0.1), single=True) == "0.1"
    assert java.text(java.f32(55.6), single=True) == "55.6"


def test_other_values_print_plainly() -> None:
    """null, true, integers and texts."""
    assert [java.text(v) for v in (None, True, False, 5, "x")] == [
        "null",
        "true",
        "false",
        "5",
        "x",
    ]


def test_every_nan_is_one_key() -> None:
    """Also within a tuple; everything else is its own key."""
    assert len({java.key(math.nan), java.key(float("nan")), java.key(1.0), java.key("NaN")}) == 3
    assert java.key((float("nan"), ("a", None))) == java.key((float("nan"), ("a", None)))
    assert java.key((1, "a")) == (1, "a")


def test_nan_is_sorted_behind_all_numbers() -> None:
    """And stays where it was beside another one."""
    values = [(math.nan, "a"), (2.0, "b"), (float("nan"), "c"), (math.inf, "d")]
    ordered = sorted(values, key=lambda pair: java.rank(pair[0]))
    assert [name for _, name in ordered] == ["b", "d", "a", "c"]
