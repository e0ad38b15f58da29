"""Closes what somebody may still be inside of, without waiting for anybody."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lockstep.execute.contract import StateLostError


class Door:
    """One thread at a time is inside. `give_back` is called once it is closed and nobody is: by who
    closes it, or by who is inside and leaves."""

    def __init__(self, give_back: Callable[[], None]) -> None:
        self._give_back = give_back
        self._inside = threading.RLock()
        self._depth = 0
        self._is_closed = False

    @contextmanager
    def inside(self) -> Iterator[None]:
        """For as long as something must not be given back; also for who is inside already."""
        try:
            with self._inside:
                self._depth += 1
                try:
                    yield
                finally:
                    self._depth -= 1
        finally:
            self._leave()

    def is_open(self) -> bool:
        """Whether anybody wants what comes out of it."""
        return not self._is_closed

    def check(self) -> None:
        """StateLostError once it is closed."""
        if self._is_closed:
            raise StateLostError("the executor is closed")

    def close(self) -> None:
        """Idempotent."""
        self._is_closed = True
        self._leave()

    def _leave(self) -> None:
        # Who comes too late for the lock leaves it to who has it: that one comes here, too.
        if self._is_closed and self._inside.acquire(blocking=False):
            try:
                if not self._depth:
                    self._give_back()
            finally:
                self._inside.release()
