"""Streams at run time: a junction hands each chunk to its receivers in order, depth first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lockstep.operators.contract import Emit, StreamEvent
from lockstep.operators.errors import PROCESSING_ERRORS

Failure = Callable[[str, list[Any], BaseException], None]


class Junction:
    """One stream. Receivers run in order of subscription, listeners after them (semantics 1).

    An error of a receiver drops the chunk for it and for those behind it (semantics 18).
    """

    __slots__ = ("_failed", "_listeners", "_receivers", "name")

    def __init__(self, name: str, failed: Failure) -> None:
        self.name = name
        self._failed = failed
        self._receivers: list[Emit] = []
        self._listeners: list[Emit] = []

    def subscribe(self, receive: Emit) -> None:
        """Adds a receiver behind the present ones."""
        self._receivers.append(receive)

    def unsubscribe(self, receive: Emit) -> None:
        """Takes a receiver out."""
        self._receivers.remove(receive)

    def listen(self, listener: Emit) -> None:
        """Adds an observer; it runs behind all receivers."""
        self._listeners.append(listener)

    def send(self, chunk: list[StreamEvent]) -> None:
        """Delivers a non-empty chunk to everybody, to the end."""
        try:
            for receive in self._receivers:
                receive(chunk)
            for listen in self._listeners:
                listen(chunk)
        except PROCESSING_ERRORS as error:
            self._failed(self.name, chunk, error)
