"""Chunks of which only a part fails: what goes to several places fails in each by itself, and only
what failed is told and kept from those behind (semantics 18)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lockstep.events import Fault, LockstepError

Parts = Sequence[tuple[list[Any], BaseException]]
"""Events that failed together, and of what."""


class PartsFailedError(LockstepError):
    """Some events of a chunk failed, and the others have been processed."""

    fault = Fault.USER

    def __init__(self, parts: Parts) -> None:
        super().__init__(str(parts[0][1]))
        self.parts = parts

    @property
    def first(self) -> BaseException:
        """What the first part failed of."""
        return self.parts[0][1]

    def brought_by(self, rows: Sequence[Any], events: Sequence[Any]) -> PartsFailedError:
        """The same, of the events that have brought the rows, one each."""
        event_of = {id(row): event for row, event in zip(rows, events, strict=True)}
        return PartsFailedError(
            [([event_of.get(id(row), row) for row in part], error) for part, error in self.parts]
        )


class Failures:
    """What of a chunk has failed so far, each event once; and what went on."""

    __slots__ = ("_events", "_parts")

    def __init__(self) -> None:
        self._parts: list[tuple[list[Any], BaseException]] = []
        self._events: dict[int, Any] = {}
        """By their ids, which stay theirs as long as they are kept here."""

    @property
    def parts(self) -> Parts:
        """The parts in the order in which they failed."""
        return self._parts

    def add(self, chunk: list[Any], error: BaseException) -> None:
        """A chunk failed, or those of its events that the error names. What goes too deep is no
        such failure (limits.too_deep)."""
        if isinstance(error, RecursionError):
            raise error
        for events, own in parts_of(chunk, error):
            fresh = [event for event in events if id(event) not in self._events]
            if not fresh:
                continue
            self._events |= {id(event): event for event in fresh}
            if self._parts and _are_alike(self._parts[-1][1], own):
                self._parts[-1][0].extend(fresh)  # one letter for neighbours, not thousands
            else:
                self._parts.append((fresh, own))

    def rest_of(self, chunk: list[Any]) -> list[Any]:
        """The events that did not fail."""
        return [event for event in chunk if id(event) not in self._events]

    def check(self) -> None:
        """Raises PartsFailedError if anything failed."""
        if self._parts:
            raise PartsFailedError(self._parts)


def _are_alike(one: BaseException, other: BaseException) -> bool:
    return type(one) is type(other) and str(one) == str(other)


def parts_of(chunk: list[Any], error: BaseException) -> Parts:
    """What of a chunk failed: the events that the error names, or all, if it names none or such as
    are not of the chunk."""
    if not isinstance(error, PartsFailedError):
        return [(chunk, error)]
    own = {id(event) for event in chunk}
    if all(id(event) in own for events, _ in error.parts for event in events):
        return error.parts
    return [(chunk, error.first)]


__all__ = ["Failures", "Parts", "PartsFailedError", "parts_of"]
