"""Rows as a panel draws them: within its times, through its filters, no more points than it has
room for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, Final

import msgspec

from lockstep.events import AttributeType
from lockstep.events.schema import NUMERIC_TYPES
from lockstep.frame import Problem
from lockstep_services.presenter.grafana_described import AdHoc, Between, Column
from lockstep_services.presenter.models import Shown

DRAWN: Final = NUMERIC_TYPES | {AttributeType.BOOL}
"""Types of attributes that a line can be drawn of."""
TIME: Final = "Time"
BUCKET: Final = "AGG_TIMESTAMP"
"""When a bucket of an aggregation begins, in milliseconds."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_COMPARE: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "=": lambda one, other: bool(one == other),
    "!=": lambda one, other: bool(one != other),
    "<": lambda one, other: bool(one < other),
    ">": lambda one, other: bool(one > other),
}

Point = tuple[int | float | None, int]
Passes = Callable[[Sequence[Any]], bool]


@dataclass(frozen=True, slots=True)
class Span:
    """Event times, both ends included; None: without an end."""

    since_ms: int | None = None
    until_ms: int | None = None

    @classmethod
    def of(cls, given: Between | None) -> Span:
        """Problem 400 for what is no time."""
        if given is None:
            return cls()
        found = cls(_at_ms("range.from", given.since), _at_ms("range.to", given.until))
        since_ms, until_ms = found.since_ms, found.until_ms
        if since_ms is not None and until_ms is not None and since_ms > until_ms:
            raise bad("range: it ends before it begins", "send an earlier from, or a later to")
        return found

    def holds(self, at_ms: int) -> bool:
        """Whether it is shown."""
        return (self.since_ms is None or at_ms >= self.since_ms) and (
            self.until_ms is None or at_ms <= self.until_ms
        )


def bad(message: str, hint: str) -> Problem:
    """Problem 400."""
    return Problem(HTTPStatus.BAD_REQUEST, message, hint=hint)


def _at_ms(field: str, text: str | None) -> int | None:
    if text is None:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        hint = "times look like 2026-03-01T10:00:00.000Z"
        raise bad(f"{field}: '{text[:40]}' is no time", hint) from error
    at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return (at - _EPOCH) // timedelta(milliseconds=1)


def passing(filters: Iterable[AdHoc], names: Sequence[str], types: Sequence[str]) -> Passes:
    """Whether all filters let a row in. Those of attributes that there are not let all in: a
    filter is for a whole dashboard. Problem 400."""
    tests: list[Passes] = []
    for one in filters:
        compare = _COMPARE.get(one.operator)
        if compare is None:
            raise bad(
                f"adhocFilters: there is no operator '{one.operator[:10]}' here",
                f"operators: {' '.join(_COMPARE)}",
            )
        if one.key in names:
            at = names.index(one.key)
            tests.append(_test(at, one, compare, is_number=types[at] in NUMERIC_TYPES))
    return lambda data: all(test(data) for test in tests)


def _test(at: int, given: AdHoc, compare: Callable[[Any, Any], bool], *, is_number: bool) -> Passes:
    """Null equals nothing."""
    wanted = _number(given) if is_number else text_of(given.value)

    def lets_in(data: Sequence[Any]) -> bool:
        value = data[at]
        if value is None:
            return given.operator == "!="
        return compare(value if is_number else text_of(value), wanted)

    return lets_in


def _number(given: AdHoc) -> int | float:
    text = text_of(given.value)
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise bad(
        f"adhocFilters: {given.key[:40]} is a number, and '{text[:40]}' is none",
        "compare it with a number",
    )


def text_of(value: Any) -> str:
    """As it stands in a list of values."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    return msgspec.json.encode(value, enc_hook=str).decode()


def points(rows: Iterable[Shown], at: int, limit: int) -> list[Point]:
    """Of one attribute, oldest first."""
    found = [(_drawn(row.data[at]), row.timestamp_ms) for row in rows]
    return thinned(sorted(found, key=lambda point: point[1]), limit)


def thinned(found: Sequence[Point], limit: int) -> list[Point]:
    """At most `limit` points (1 or more): the newest one, which is what a gauge shows, and of the
    others the lowest and the highest of each equal part, so that no peak is lost."""
    if len(found) <= limit:
        return list(found)
    *others, newest = found
    parts, kept = (limit - 1) // 2, list[Point]()
    for part in range(parts):
        first, end = (len(others) * number // parts for number in (part, part + 1))
        some = others[first:end]
        drawn = {at: value for at, (value, _) in enumerate(some) if value is not None}
        ends = (
            {min(drawn, key=drawn.__getitem__), max(drawn, key=drawn.__getitem__)} if drawn else {0}
        )
        kept += [some[at] for at in sorted(ends)]
    return [*kept, newest]


def _drawn(value: Any) -> int | float | None:
    """True and false are drawn as 1 and 0; what is not a number is a gap."""
    if isinstance(value, bool):
        return int(value)
    return value if isinstance(value, int | float) and not math.isnan(value) else None


def column(name: str, kind: str) -> Column:
    """How Grafana calls the type."""
    if name == BUCKET:
        found = "time"
    elif kind in NUMERIC_TYPES:
        found = "number"
    else:
        found = "boolean" if kind == AttributeType.BOOL else "string"
    return {"text": name, "type": found}


def cells(data: Sequence[Any], columns: Sequence[Column]) -> list[Any]:
    """A row's values; lists and maps as JSON."""
    return [
        text_of(value) if one["type"] == "string" and value is not None else value
        for value, one in zip(data, columns, strict=True)
    ]
