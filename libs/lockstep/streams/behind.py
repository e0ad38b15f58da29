"""Links of a chain behind a window: what comes with an event that fails may have to leave
aggregates, or enter them, all the same, and brings no rows (semantics 18)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lockstep.operators.contract import EXPIRED, Emit, StreamEvent, nowhere
from lockstep.operators.errors import PROCESSING_ERRORS
from lockstep.selection.meaning import Torn, error_in, first_of
from lockstep.stream_functions.call import Appending, Multiplying
from lockstep.windows.taking import Taking


class FilterBehind:
    """Keeps the events whose condition is exactly true; RESET marks pass.

    `tells_leaving`: the condition may say something else of an event that leaves than when it came.
    """

    __slots__ = ("_condition", "_tells_leaving", "emit")

    def __init__(self, condition: Callable[[Any], bool], *, tells_leaving: bool) -> None:
        self._condition = condition
        self._tells_leaving = tells_leaving
        self.emit: Emit = nowhere

    def process(self, chunk: list[StreamEvent]) -> None:
        condition, failed = self._condition, error_in(chunk)
        kept: list[StreamEvent] = []
        for event in chunk:
            try:
                if event.kind > EXPIRED or condition(event):
                    kept.append(event)
            except PROCESSING_ERRORS as error:
                failed = first_of(failed, event, error, tells_leaving=self._tells_leaving)
        Taking(self.emit, failed).end(kept)


def function_behind(link: Any, *, tells_leaving: bool) -> Any:
    """A stream function as a link behind a window."""
    if type(link) in (Appending, Multiplying):  # a class of its own may do more than these
        return _EachBehind(link, tells_leaving=tells_leaving)
    return _Passing(link)


class _EachBehind:
    """A function that takes its events one by one: each fails for itself."""

    __slots__ = ("_link", "_tells_leaving", "emit")

    def __init__(self, link: Appending | Multiplying, *, tells_leaving: bool) -> None:
        self._link = link
        self._tells_leaving = tells_leaving
        self.emit: Emit = nowhere

    def process(self, chunk: list[StreamEvent]) -> None:
        failed = error_in(chunk)
        made: list[StreamEvent] = []
        for event in chunk:
            if event.kind > EXPIRED:
                made.append(event)
                continue
            try:
                made += self._link.made(event)
            except PROCESSING_ERRORS as error:
                failed = first_of(failed, event, error, tells_leaving=self._tells_leaving)
        Taking(self.emit, failed).end(made)


class _Passing:
    """Any other function: what it makes of a torn chunk stays torn."""

    __slots__ = ("_error", "_link", "emit")

    def __init__(self, link: Any) -> None:
        self._link = link
        self._error: BaseException | None = None
        self.emit: Emit = nowhere
        link.emit = self._out

    def process(self, chunk: list[StreamEvent]) -> None:
        self._error = error_in(chunk)
        try:
            self._link.process(chunk)
        finally:
            self._error = None

    def _out(self, chunk: list[StreamEvent]) -> None:
        self.emit(chunk if self._error is None else Torn(chunk, self._error))
