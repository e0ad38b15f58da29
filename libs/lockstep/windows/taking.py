"""What a window does where one of its events fails, or a chunk that it lets out (semantics 18)."""

from __future__ import annotations

from typing import Any

from lockstep.operators.contract import Emit
from lockstep.operators.errors import EVENT_ERRORS
from lockstep.selection.meaning import Torn


class Taking:
    """A chunk on its way through a window, to the end: what fails on it is raised behind all of it.

    `with taking:` goes round what is done for one event. Where it fails of itself, the others are
    taken all the same; so nothing may change before what may fail. A chunk that is let out behind a
    failure goes into aggregates and out of them, and brings no rows.
    """

    __slots__ = ("_emit", "_failed")

    def __init__(self, emit: Emit, failed: BaseException | None = None) -> None:
        self._emit = emit
        self._failed = failed

    def __enter__(self) -> None:
        """One event begins."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        """It is done, or has failed."""
        if not isinstance(error, EVENT_ERRORS):
            return False
        self.fail(error)
        return True

    def fail(self, error: BaseException) -> None:
        """Something has failed that need not stop the event that is being taken."""
        self._failed = self._failed or error

    def emit(self, chunk: list[Any]) -> None:
        """Lets a chunk out. What it fails of keeps nothing from what the window has still to do."""
        try:
            self._emit(chunk if self._failed is None else Torn(chunk, self._failed))
        except EVENT_ERRORS as error:
            self.fail(error)

    def end(self, chunk: list[Any] | None = None) -> None:
        """Lets out what is left, and raises the first failure."""
        if chunk:
            self.emit(chunk)
        if self._failed is not None:
            raise self._failed
