"""Chunks of which only a part fails: what goes to several places fails in each by itself, and only
what failed is told and kept from those behind (semantics 18)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from lockstep.events import Fault, LockstepError, describe

Parts = Sequence[tuple[list[Any], BaseException]]
"""Events that failed together, and of what."""
MAX_PARTS: Final = 16
"""Of one chunk. Each is a dead letter that is written by itself, and the next rows wait for it: a
chunk of which thousands of events fail, each of a value of its own, must not bring thousands."""


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


class SeveralFailedError(LockstepError):
    """What the last of MAX_PARTS failed of: `first`, and of the others whatever it was."""

    fault = Fault.USER

    def __init__(self, first: BaseException) -> None:
        super().__init__(f"{describe(first)} (and others behind it, for this or other reasons)")


class Failures:
    """What of a chunk has failed so far, each event once; and what went on."""

    __slots__ = ("_events", "_parts")

    def __init__(self) -> None:
        self._parts: list[tuple[list[Any], BaseException]] = []
        self._events: dict[int, Any] = {}
        """By their ids, which stay theirs as long as they are kept here."""

    @property
    def parts(self) -> Parts:
        """The parts in the order in which they failed, at most MAX_PARTS."""
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
            elif len(self._parts) < MAX_PARTS:
                self._parts.append((fresh, own))
            else:
                self._add_to_last(fresh)

    def _add_to_last(self, fresh: list[Any]) -> None:
        """Whatever they failed of: its reason says that there are others."""
        events, error = self._parts[-1]
        events.extend(fresh)
        if not isinstance(error, SeveralFailedError):
            self._parts[-1] = events, SeveralFailedError(error)

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


__all__ = [
    "MAX_PARTS",
    "Failures",
    "Parts",
    "PartsFailedError",
    "SeveralFailedError",
    "parts_of",
]
