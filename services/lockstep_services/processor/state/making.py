"""An executor on its way: one that nobody waits for any more is closed when it is there.

It would hold a place and a state in a worker, and nobody would know of it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from lockstep.execute.contract import Executor


class Making:
    """`make` on a thread; `give_up` instead of waiting for it."""

    def __init__(self, make_executor: Callable[[], Executor]) -> None:
        self._make_executor = make_executor
        self._guard = threading.Lock()
        self._is_wanted = True
        self._made: Executor | None = None

    def make(self) -> Executor:
        """Blocking."""
        executor = self._make_executor()
        with self._guard:
            self._made = executor
            is_wanted = self._is_wanted
        if not is_wanted:
            executor.close()
        return executor

    def give_up(self) -> None:
        """It is closed, now or as soon as it is made."""
        with self._guard:
            self._is_wanted = False
            made = self._made
        if made is not None:
            made.close()
