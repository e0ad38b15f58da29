"""What is left to do for things that were let go without a word: whoever ends need not know what it
has at the server.

Python tells when nobody has a thing any more, in whichever thread that happens. Then the event loop
says its farewell.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias
from weakref import finalize

Farewell: TypeAlias = Callable[[], Coroutine[Any, Any, None]]
Owed: TypeAlias = "finalize[[Farewell], Any]"
"""`detach` it when there is nothing left to do."""


class Farewells:
    """Of one connection, in whose event loop they are made."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._saying: set[asyncio.Task[None]] = set()
        self._closed = False

    def owe(self, thing: object, farewell: Farewell) -> Owed:
        """To be said once nobody has the thing; so the farewell must not have it itself."""
        owed = finalize(thing, self._post, farewell)
        owed.atexit = False  # the server notices the end of a process
        return owed

    def close(self) -> None:
        """No more is said."""
        self._closed = True
        for task in self._saying:
            task.cancel()

    def _post(self, farewell: Farewell) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is over, and the connection with it
            self._loop.call_soon_threadsafe(self._say, farewell)

    def _say(self, farewell: Farewell) -> None:
        if not self._closed:
            task = self._loop.create_task(farewell())
            self._saying.add(task)
            task.add_done_callback(self._saying.discard)
