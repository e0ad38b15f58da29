"""Streams at run time: a junction hands each chunk to its receivers in order, depth first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lockstep.operators.contract import Emit, StreamEvent
from lockstep.operators.errors import PROCESSING_ERRORS
from lockstep.operators.limits import LimitError, Meter, RowCount, limits

Failure = Callable[[str, list[Any], BaseException], None]


class Junction:
    """One stream. Receivers run in order of subscription, listeners after them (semantics 1).

    An error of a receiver drops the chunk for it and for those behind it (semantics 18). What goes
    over a limit is no such error.
    """

    __slots__ = ("_count", "_depth", "_everybody", "_failed", "_listeners", "_receivers", "name")

    def __init__(self, name: str, failed: Failure, meter: Meter) -> None:
        self.name = name
        self._failed = failed
        self._count = RowCount(meter, f"stream {name}")
        self._depth = 0
        self._receivers: list[Emit] = []
        self._listeners: list[Emit] = []
        self._everybody: list[Emit] = []

    def subscribe(self, receive: Emit) -> None:
        """Adds a receiver behind the present ones."""
        self._receivers.append(receive)
        self._everybody = [*self._receivers, *self._listeners]

    def unsubscribe(self, receive: Emit) -> None:
        """Takes a receiver out."""
        self._receivers.remove(receive)
        self._everybody = [*self._receivers, *self._listeners]

    def listen(self, listener: Emit) -> None:
        """Adds an observer; it runs behind all receivers."""
        self._listeners.append(listener)
        self._everybody = [*self._receivers, *self._listeners]

    def send(self, chunk: list[StreamEvent]) -> None:
        """Delivers a non-empty chunk to everybody, to the end."""
        self._count.add(len(chunk))  # with what `enter` does, as all events come through here
        if self._depth:
            self._deeper()
        self._depth += 1
        try:
            for receive in self._everybody:
                receive(chunk)
        except RecursionError as error:
            raise self.too_deep() from error
        except PROCESSING_ERRORS as error:
            self._failed(self.name, chunk, error)
        finally:
            self._depth -= 1

    def enter(self, rows: int) -> None:
        """So many rows are about to come, perhaps while others are under way. LimitError."""
        self._count.add(rows)
        if self._depth:
            self._deeper()
        self._depth += 1

    def _deeper(self) -> None:
        """A chunk comes while others are under way. LimitError."""
        if self._depth >= limits().feedback_depth:
            raise self.too_deep()

    def leave(self) -> None:
        """What `enter` let in has gone through."""
        self._depth -= 1

    def too_deep(self) -> LimitError:
        """What is said of an event that feeds a stream from itself without end."""
        return LimitError(
            f"stream {self.name} feeds itself more than {limits().feedback_depth} times within one "
            "event (limits.feedback_depth), or through too many queries"
        )
