"""Whatever comes and goes: the value is that of what is present, and a snapshot changes nothing."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockstep.operators.state import decode, encode
from tests.unit.aggregators.test_aggregators import build

_INTS = st.none() | st.integers(-5, 5) | st.integers(-(2**31), 2**31 - 1)
_DOUBLES = st.none() | st.integers(-4, 4).map(float) | st.floats(-1e6, 1e6)
_TEXTS = st.none() | st.sampled_from(["a", "b", "c"])
_SETS = st.none() | st.frozensets(st.integers(0, 4))

Steps = list[tuple[bool, int, Any]]


def steps_of(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Steps]:
    """(whether one leaves, which one, what comes) again and again."""
    return st.lists(st.tuples(st.booleans(), st.integers(0, 100), values), max_size=40)


def _numbers(present: list[Any]) -> list[Any]:
    return [value for value in present if value is not None]


def _of_some(function: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Any]:
    return lambda present: function(_numbers(present)) if _numbers(present) else None


def _in_order(present: list[Any]) -> str:
    keys = _numbers(present)
    return ",".join(sorted(keys))


CASES: list[tuple[str, tuple[Any, ...], st.SearchStrategy[Any], Callable[[list[Any]], Any]]] = [
    ("sum", ("int",), _INTS, _of_some(sum)),
    ("sum", ("double",), _DOUBLES, _of_some(sum)),
    ("avg", ("int",), _INTS, _of_some(lambda v: sum(v) / len(v))),
    ("avg", ("double",), _DOUBLES, _of_some(statistics.fmean)),
    ("stdDev", ("int",), _INTS, _of_some(statistics.pstdev)),
    ("stdDev", ("double",), _DOUBLES, _of_some(statistics.pstdev)),
    ("min", ("int",), _INTS, _of_some(min)),
    ("max", ("double",), _DOUBLES, _of_some(max)),
    ("count", ("int",), _INTS, len),
    ("distinctCount", ("string",), _TEXTS, lambda present: len(set(present))),
    ("unionSet", ("object",), _SETS, lambda present: frozenset().union(*_numbers(present))),
    ("str:groupConcat", ("string", ",", False, "ASC"), _TEXTS, _in_order),
]


def _play(name: str, arguments: tuple[Any, ...], steps: Steps, cut: int | None) -> tuple[Any, Any]:
    """(the aggregator's value, what is present) after the steps, restored in between at `cut`."""
    aggregator, present = build(name, *arguments), list[Any]()
    constants = arguments[1:]
    for number, (leaves, which, value) in enumerate(steps):
        if number == cut:
            state = decode(encode(aggregator.snapshot()))
            aggregator = build(name, *arguments)
            aggregator.restore(state)
        if leaves and present:
            aggregator.remove(present.pop(which % len(present)), *constants)
        else:
            present.append(value)
            aggregator.add(value, *constants)
    return aggregator.value(), present


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[1][0]}")
@given(data=st.data())
def test_the_value_is_that_of_what_is_present(case: Any, data: st.DataObject) -> None:
    """Adding and removing in any order equals computing it anew."""
    name, arguments, values, recomputed = case
    steps = data.draw(steps_of(values))
    found, present = _play(name, arguments, steps, None)
    wanted = recomputed(present)
    if isinstance(wanted, float):
        scale = max((abs(v) for _, _, v in steps if v is not None), default=0.0)
        # A spread is the root of a difference of squares: half the digits of the largest value.
        assert found == pytest.approx(wanted, rel=1e-9, abs=1e-6 * (1 + scale))
    else:
        assert found == wanted


ORDERED: list[Any] = [
    ("list:collect", ("string",), _TEXTS, len),
    ("minForever", ("int",), _INTS, len),
]
"""Aggregators whose value depends on more than what is present."""


@pytest.mark.parametrize("case", [*CASES, *ORDERED], ids=lambda case: f"{case[0]}-{case[1][0]}")
@given(data=st.data())
def test_a_snapshot_changes_nothing(case: Any, data: st.DataObject) -> None:
    """Restored anywhere on the way, the end is the same to the last bit."""
    name, arguments, values, _ = case
    steps = data.draw(steps_of(values))
    cut = data.draw(st.integers(0, max(len(steps) - 1, 0)))
    assert _play(name, arguments, steps, None)[0] == _play(name, arguments, steps, cut)[0]
