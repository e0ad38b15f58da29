"""`within … per …`: what names a span of time and a granularity (semantics 17.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from lockstep.operators.errors import EventError
from lockstep.siddhiql import ast, spans
from lockstep.siddhiql.ast import Granularity
from lockstep.siddhiql.checking.ranges import PER_NAMES

_T = TypeVar("_T")


def granularity_named(text: str) -> Granularity:
    """The granularity of a `per` value. Raises EventError."""
    found = PER_NAMES.get(text.strip().lower())
    if found is None:
        raise EventError(f"{text!r} is no granularity", hint=f"one of {', '.join(PER_NAMES)}")
    return found


def _named(read: Callable[..., _T], *values: Any, **how: Any) -> _T:
    """What values of an event name; raises EventError."""
    try:
        return read(*values, **how)
    except spans.SpanError as error:
        raise EventError(str(error), hint=error.hint) from error


def time_ms(text: str) -> int:
    """`yyyy-MM-dd HH:mm:ss[ ±hh:mm]` as ms since 1970. Raises EventError."""
    return _named(spans.time_ms, text)


def span(start: Any, end: Any, *, is_pattern: bool) -> tuple[int, int]:
    """[start, end) in ms of `within start, end` or `within pattern`. Raises EventError."""
    return _named(spans.span, start, end, is_pattern=is_pattern)


class RangeReader:
    """`within … per …` of a query as a function of its triggering event."""

    def __init__(
        self,
        range_: ast.Range,
        known: tuple[Granularity, ...],
        compiled: Callable[[ast.Expression], Callable[[Any], Any]],
    ) -> None:
        self._known = known
        self._start = compiled(range_.start)
        self._end = None if range_.end is None else compiled(range_.end)
        assert range_.per is not None  # as the checker has seen
        self._per = compiled(range_.per)

    def _granularity(self, per: Any) -> Granularity:
        if not isinstance(per, str):
            raise EventError(f"per wants a text, not {per!r}")
        found = granularity_named(per)
        if found not in self._known:
            raise EventError(
                f"the aggregation does not keep {found.value}",
                hint=f"it keeps {', '.join(g.value for g in self._known)}",
            )
        return found

    def read(self, event: Any) -> tuple[Granularity, int, int]:
        """(granularity, start, end in ms, end excluded). Raises EventError."""
        end = None if self._end is None else self._end(event)
        start_ms, end_ms = span(self._start(event), end, is_pattern=self._end is None)
        return self._granularity(self._per(event)), start_ms, end_ms
