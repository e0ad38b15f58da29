"""The sketches behind `#approximate:` (extensions 21)."""

from __future__ import annotations

import math
from typing import Any

import pytest

from lockstep.siddhiql import SiddhiQLError, check
from lockstep.stream_functions.approximate.sketches import (
    CountMin,
    Distinct,
    DistinctEver,
    bits_for,
    size_for,
)


@pytest.mark.parametrize("many", [100, 3_000, 20_000])
@pytest.mark.parametrize("kind", [DistinctEver, Distinct])
def test_how_many_are_different(kind: type[DistinctEver], many: int) -> None:
    """Within the bounds: below and above 2.5 times the registers."""
    sketch = kind(0.05, 0.95)
    for number in range(many):
        sketch.change(f"value {number}", 1)
        sketch.change(f"value {number // 2}", 1)
    count, low, high = sketch.told(None)
    assert low <= many <= high
    assert (low, high) == (math.floor(count - count * 0.05), math.ceil(count + count * 0.05))


def test_what_leaves_is_as_if_it_had_never_come() -> None:
    """And a restored one goes on."""
    sketch, fewer = Distinct(0.1, 0.95), Distinct(0.1, 0.95)
    for number in range(3_000):
        sketch.change(number, 1)
    for number in range(1_000):
        fewer.change(number, 1)
    restored = Distinct(0.1, 0.95)
    restored.restore(sketch.snapshot())
    for number in range(1_000, 3_000):
        restored.change(number, -1)
    assert restored.told(0) == fewer.told(0)
    assert sorted(restored.snapshot()) == sorted(fewer.snapshot())


def test_how_often_a_value_came() -> None:
    """Never too low, and too high by at most the error of all."""
    sketch = CountMin(0.01, 0.99)
    for number in range(1, 201):
        for _ in range(number):
            sketch.change(number, 1)
    total = 200 * 201 // 2
    for number in range(1, 201):
        count, low, high = sketch.told(number)
        assert number <= count <= number + total * 0.01
        assert (low, high) == (max(0, count - int(total * 0.01)), count + int(total * 0.01))
    for number in range(1, 201):
        for _ in range(number):
            sketch.change(number, -1)
    assert sketch.snapshot() == (0, [])


@pytest.mark.parametrize("value", ["ä", "\ud800", 5, -5, 2**63 - 1, 0.5, math.nan, True])
def test_values_of_every_kind(value: Any) -> None:
    """Counted once each; NaN is the same as NaN."""
    sketch = DistinctEver(0.01, 0.95)
    sketch.change(value, 1)
    sketch.change(float("nan") if value != value else value, 1)
    assert sketch.told(value)[0] == 1


def test_a_confidence_may_be_a_float() -> None:
    """0.95 with 32 bits is not that with 64."""
    check(
        "define stream S (k string);"
        "from S#approximate:distinctCount(k, 0.1f, 0.95f) select k insert into O;"
    )


def test_sizes() -> None:
    """Of the published formulas; registers for two standard errors."""
    assert size_for(0.01, 0.99) == (5, 272)
    assert [bits_for(error) for error in (0.9, 0.1, 0.01)] == [4, 9, 16]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("count(k, 1.0, 0.9)", "relative.error is 1.0"),
        ("count(k, 0.1, 0.0)", "confidence is 0.0"),
        ("count(k, 0.000001, 0.9)", "takes 8154846 counters"),
        ("distinctCount(k, 0.1, 0.9)", "confidence is 0.9"),
        ("distinctCountEver(k, 0.001, 0.95)", "takes more than 1048576 registers"),
    ],
)
def test_refused(call: str, message: str) -> None:
    """What no sketch can be made for, when the app is checked."""
    with pytest.raises(SiddhiQLError, match=message):
        check(f"define stream S (k string); from S#approximate:{call} select k insert into O;")
