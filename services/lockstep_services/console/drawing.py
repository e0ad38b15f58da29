"""Values for events: read from fields and CSV, drawn at random by range, choice or pattern, and
written as words of a test. Pure but for the randomness that is passed in."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from typing import Any, Final

from lockstep.clock import Randomness, SystemRandomness

MAX_EVENTS: Final = 1_000
_RANGE: Final = re.compile(r"(-?\d+(?:\.\d+)?)\.\.(-?\d+(?:\.\d+)?)")
_CLASS: Final = re.compile(r"\[([^\]]+)\]|\\d|(.)", re.DOTALL)
_PLAIN: Final = re.compile(r"[A-Za-z0-9_.+-]+")
_WHOLE: Final = ("int", "long")
_REAL: Final = ("float", "double")
Columns = Sequence[Sequence[str]]
_RANDOM: Final = SystemRandomness()


def read(value: Any, name: str, kind: str) -> Any:
    """What a person wrote, as a value of that type; ValueError says which attribute."""
    written = str(value if value is not None else "").strip()
    try:
        if kind == "string":
            return str(value or "")
        if written in ("", "null"):
            return None
        if kind in _WHOLE:
            return int(written)
        if kind in _REAL:
            return float(written)
        if kind == "bool":
            return {"true": True, "false": False}[written.lower()]
        return json.loads(written)
    except (ValueError, KeyError):
        raise ValueError(f"{name}: {written[:60]!r} is no {kind}") from None


def row_of(values: Sequence[Any], columns: Columns) -> list[Any]:
    """A row of what a person wrote; ValueError."""
    return [read(value, name, kind) for value, (name, kind) in zip(values, columns, strict=True)]


def csv_rows(written: str, columns: Columns) -> list[list[Any]]:
    """The rows of a CSV; a first line of attribute names says which column is which."""
    lines = [row for row in csv.reader(io.StringIO(written)) if row]
    order = list(range(len(columns)))
    names = [name for name, _ in columns]
    if lines and {one.strip() for one in lines[0]} >= set(names):
        order = [[one.strip() for one in lines[0]].index(name) for name in names]
        lines = lines[1:]
    if len(lines) > MAX_EVENTS:
        raise ValueError(f"{len(lines)} lines: {MAX_EVENTS} fit at once")
    rows = []
    for number, line in enumerate(lines, 1):
        if len(line) <= max(order, default=0):
            raise ValueError(f"line {number}: {len(line)} values, expected {len(columns)}")
        rows.append(row_of([line[at] for at in order], columns))
    return rows


def example(kind: str) -> str:
    """A rule to begin with."""
    if kind in (*_WHOLE, *_REAL):
        return "15..35" if kind in _REAL else "1..100"
    return {"string": "attic|hall|cellar", "bool": "true|false"}.get(kind, "null")


def drawn(
    rules: Sequence[str], columns: Columns, count: int, randomness: Randomness = _RANDOM
) -> list[list[Any]]:
    """Rows by a rule for each column; ValueError for a rule that gives no such value."""
    return [
        [
            read(_draw(rule.strip(), kind, randomness), name, kind)
            for rule, (name, kind) in zip(rules, columns, strict=True)
        ]
        for _ in range(min(count, MAX_EVENTS))
    ]


def _draw(rule: str, kind: str, randomness: Randomness) -> str:
    found = _RANGE.fullmatch(rule)
    if found is not None:
        low, high = float(found[1]), float(found[2])
        value = low + randomness.fraction() * (high - low)
        return str(round(value)) if kind in _WHOLE else str(round(value, 3))
    if "|" in rule:
        return _one_of(rule.split("|"), randomness).strip()
    parts = []
    for each in _CLASS.finditer(rule):
        if each[0] == r"\d":
            parts.append(_one_of("0123456789", randomness))
        else:
            parts.append(_one_of(_members(each[1]), randomness) if each[1] else each[2])
    return "".join(parts)


def _members(inside: str) -> str:
    """`a-c9` → `abc9`."""
    spelled = re.sub(
        r"(.)-(.)", lambda m: "".join(map(chr, range(ord(m[1]), ord(m[2]) + 1))), inside
    )
    return spelled or inside


def _one_of(choices: Sequence[str], randomness: Randomness) -> str:
    return choices[min(int(randomness.fraction() * len(choices)), len(choices) - 1)]


def word(value: Any) -> str:
    """The value as a word of a test's call line."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str() if not _PLAIN.fullmatch(value) or value in ("null", "true", "false"):
            return f'"{value}"' if "'" in value else f"'{value}'"
        case str() | int() | float():
            return str(value)
        case _:
            return json.dumps(value)
