"""Streams at run time: a junction hands each chunk to its receivers in order, depth first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lockstep.operators.contract import Emit, StreamEvent
from lockstep.operators.errors import PROCESSING_ERRORS
from lockstep.operators.limits import Meter, RowCount, too_deep

Failure = Callable[[str, list[Any], BaseException], None]


class Junction:
    """One stream. Receivers run in order of subscription, listeners after them (semantics 1).

    An error of a receiver drops the chunk for it and for those behind it (semantics 18). What goes
    over a limit is no such error.
    """

    __slots__ = ("_count", "_failed", "_listeners", "_receivers", "name")

    def __init__(self, name: str, failed: Failure, meter: Meter) -> None:
        self.name = name
        self._failed = failed
        self._count = RowCount(meter, f"stream {name}")
        self._receivers: list[Emit] = []
        self._listeners = 0  # so many of them, at the end, only listen

    def subscribe(self, receive: Emit) -> None:
        """Adds a receiver behind the present ones."""
        self._receivers.insert(len(self._receivers) - self._listeners, receive)

    def listen(self, listener: Emit) -> None:
        """Adds an observer; it runs behind all receivers."""
        self._receivers.append(listener)
        self._listeners += 1

    def send(self, chunk: list[StreamEvent]) -> None:
        """Delivers a non-empty chunk to everybody, to the end."""
        count = self._count
        count.add(len(chunk))
        count.depth += 1
        try:
            for receive in self._receivers:
                receive(chunk)
        except RecursionError as error:
            raise too_deep(f"stream {self.name}") from error
        except PROCESSING_ERRORS as error:
            self._failed(self.name, chunk, error)
        finally:
            count.depth -= 1
