"""Streams at run time: a junction hands each chunk to its receivers in order, depth first."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any

from lockstep.operators.contract import Emit, StreamEvent
from lockstep.operators.errors import PROCESSING_ERRORS
from lockstep.operators.failing import Failures, parts_of
from lockstep.operators.limits import Meter, RowCount, too_deep
from lockstep.selection.meaning import Torn, error_in

Failure = Callable[[str, list[Any], BaseException], None]


class Junction:
    """One stream. Receivers run in order of subscription, listeners after them (semantics 1).

    An error of a receiver drops the chunk for it and for those behind it (semantics 18), or those
    events that the error names. What goes over a limit is no such error.
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
            self._deliver(chunk)
        except RecursionError as error:
            raise too_deep(f"stream {self.name}") from error
        except PROCESSING_ERRORS as error:
            for events, own in parts_of(chunk, error):
                self._failed(self.name, events, own)
        finally:
            count.depth -= 1

    def _deliver(self, chunk: list[StreamEvent]) -> None:
        deliver_in_order(self._receivers, chunk)


class WindowJunction(Junction):
    """What a named window lets out. Readers behind one that fails, and all of them if the window
    has failed, get what failed as well (see deliver_to_all); listeners do not."""

    __slots__ = ()

    def listen(self, listener: Emit) -> None:
        """See Junction."""

        def listen(chunk: list[StreamEvent]) -> None:
            if not isinstance(chunk, Torn):
                listener(chunk)

        super().listen(listen)

    def _deliver(self, chunk: list[StreamEvent]) -> None:
        deliver_to_all(self._receivers, chunk)


def deliver_in_order(receivers: Iterable[Emit], chunk: list[StreamEvent]) -> None:
    """Hands on a chunk, to those behind a receiver that fails what did not fail. All that failed is
    raised at the end, as PartsFailedError."""
    failures: Failures | None = None
    for receive in receivers:
        try:
            receive(chunk)
        except PROCESSING_ERRORS as error:
            failures = Failures() if failures is None else failures
            failures.add(chunk, error)
            chunk = failures.rest_of(chunk)
            if not chunk:
                break
    if failures is not None:
        failures.check()


def deliver_to_all(receivers: Iterable[Emit], chunk: list[StreamEvent]) -> None:
    """Hands on a chunk of a named window, whose events come and leave. Those behind a receiver that
    fails get what failed as well, but torn: it enters aggregates and leaves them, and brings no
    rows. All that failed is raised at the end, as PartsFailedError. If the chunk came torn, it is
    told already."""
    failures = Failures()
    parts = [chunk]
    is_torn = error_in(chunk) is not None
    for receive in receivers:
        for part in parts:
            try:
                receive(part)
            except PROCESSING_ERRORS as error:
                failures.add(part, error)
        if failures.parts and not is_torn:
            parts = _torn(chunk, failures)
    if not is_torn:
        failures.check()


def _torn(chunk: list[StreamEvent], failures: Failures) -> list[list[StreamEvent]]:
    """The chunk, cut where what failed begins and ends: each row shows what there is at its
    place."""
    kept = set(map(id, failures.rest_of(chunk)))
    error = failures.parts[0][1]
    runs = groupby(chunk, key=lambda event: id(event) in kept)
    return [list(run) if goes_on else Torn(list(run), error) for goes_on, run in runs]
