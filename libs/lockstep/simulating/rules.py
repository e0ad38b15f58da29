"""How the values of an attribute are drawn: one short rule each, the same on pages and in files.

A range `20..30`, a choice `attic|hall`, a pattern `room-[1-9]`, a regular expression
`/[a-z]{3}/`, a sequence `1++`, or `=text` that stays; DESIGN.md lists them. In JSON a number, a
truth value or null is always itself, and a list is a choice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from lockstep.clock import Randomness
from lockstep.simulating.errors import SimulationError
from lockstep.simulating.patterns import between, pattern_of
from lockstep.simulating.values import REAL, WHOLE, Columns, Rows, fitted, read

DECIMALS: Final = 3
"""Of numbers that are drawn from a range, unless its ends have more."""
MAX_DIGITS: Final = 30
"""Of a whole number in a rule."""
_NUMBER: Final = r"-?\d+(?:\.\d+)?"
_RANGE: Final = re.compile(rf"({_NUMBER})\.\.({_NUMBER})", re.ASCII)
_SEQUENCE: Final = re.compile(rf"({_NUMBER})\+\+({_NUMBER})?", re.ASCII)
Rule = Callable[[int, Randomness], Any]
"""The value of the event with that number."""


def example(kind: str) -> str:
    """A rule to begin with."""
    if kind in (*WHOLE, *REAL):
        return "15..35" if kind in REAL else "1..100"
    return {"string": "attic|hall|cellar", "bool": "true|false"}.get(kind, "null")


def rule_of(written: Any, name: str, kind: str) -> Rule:
    """The rule of an attribute; SimulationError when it cannot give values of that type."""
    if isinstance(written, list):
        if not written:
            raise SimulationError("a choice of nothing", where=name)
        return _choice([fitted(one, name, kind) for one in written])
    if not isinstance(written, str):
        return _always(fitted(written, name, kind))
    rule = written.strip()
    if rule.startswith("="):
        return _always(read(rule[1:], name, kind))
    if (found := _RANGE.fullmatch(rule)) is not None:
        return _ranged(found[1], found[2], name, kind)
    if (found := _SEQUENCE.fullmatch(rule)) is not None:
        return _counted(found[1], found[2] or "1", name, kind)
    if len(rule) > 1 and rule[0] == rule[-1] == "/":
        return _matching(rule[1:-1], name, kind, plain=False)
    if "|" in rule:
        return _choice([read(one.strip(), name, kind) for one in rule.split("|")])
    if kind not in ("string", *WHOLE, *REAL):
        return _always(read(rule, name, kind))
    return _matching(rule, name, kind, plain=True)


def drawn(rules: Sequence[Any], columns: Columns, count: int, randomness: Randomness) -> Rows:
    """Rows by a rule for each column; SimulationError for a rule that gives no such value."""
    made = [rule_of(rule, name, kind) for rule, (name, kind) in zip(rules, columns, strict=True)]
    return [[rule(number, randomness) for rule in made] for number in range(count)]


def _always(value: Any) -> Rule:
    return lambda _number, _randomness: value


def _choice(values: Sequence[Any]) -> Rule:
    return lambda _number, randomness: values[between(0, len(values) - 1, randomness)]


def _matching(written: str, name: str, kind: str, *, plain: bool) -> Rule:
    try:
        pattern = pattern_of(written, plain=plain)
    except SimulationError as error:
        raise SimulationError(f"{error.where}, {error.message}", where=name) from None
    return lambda _number, randomness: read(pattern.draw(randomness), name, kind)


def _ranged(low: str, high: str, name: str, kind: str) -> Rule:
    if kind in WHOLE or (kind == "string" and "." not in low + high):
        if "." in low + high:
            raise SimulationError(f"{low}..{high} has fractions, it is {kind}", where=name)
        first, last = _whole(low, name), _whole(high, name)
        _check_order(first, last, low, high, name)
        return lambda _number, randomness: fitted(between(first, last, randomness), name, kind)
    _check_number(f"{low}..{high}", name, kind)
    start, end = float(low), float(high)
    _check_order(start, end, low, high, name)
    places = max(DECIMALS, _places(low), _places(high))

    def draw(_number: int, randomness: Randomness) -> Any:
        # Rounding may pass an end that is itself no multiple of the last place.
        value = round(start + randomness.fraction() * (end - start), places)
        return fitted(min(max(value, start), end), name, kind)

    return draw


def _check_order(first: float, last: float, low: str, high: str, name: str) -> None:
    if first > last:
        raise SimulationError(f"{low} is more than {high}", where=name, hint=f"{high}..{low}")


def _whole(written: str, name: str) -> int:
    if len(written.removeprefix("-")) > MAX_DIGITS:
        raise SimulationError(f"a number of more than {MAX_DIGITS} digits", where=name)
    return int(written)


def _places(written: str) -> int:
    """Behind the point."""
    return len(written.partition(".")[2])


def _counted(first: str, step: str, name: str, kind: str) -> Rule:
    if "." not in first + step:
        start, by = _whole(first, name), _whole(step, name)
        _check_number(f"{first}++{step}", name, kind)
        return lambda number, _randomness: fitted(start + number * by, name, kind)
    if kind in WHOLE:
        raise SimulationError(f"{first}++{step} has fractions, it is {kind}", where=name)
    _check_number(f"{first}++{step}", name, kind)
    places = max(_places(first), _places(step))
    return lambda number, _randomness: fitted(
        round(float(first) + number * float(step), places), name, kind
    )


def _check_number(rule: str, name: str, kind: str) -> None:
    if kind not in ("string", *WHOLE, *REAL):
        raise SimulationError(f"{rule} gives numbers, it is {kind}", where=name)
