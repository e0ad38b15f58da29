"""What a queue hides from others while a source has it: taken and not durable, or durable and not
told to the queue yet."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from itertools import islice


class Held:
    """Handles of messages, in the order in which they came; `most`: how many go in one request.

    What the queue is asked may run on another thread: each step here is one that no other cuts.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: dict[str, None] = {}
        self._durable: dict[str, None] = {}

    def take(self, handles: Iterable[str]) -> None:
        """They have come."""
        self._held.update(dict.fromkeys(handles))

    def acknowledging(self, handle: str) -> Callable[[], Awaitable[None]]:
        """For the message: it is durable."""

        async def acknowledge() -> None:
            self._held.pop(handle, None)
            self._durable[handle] = None

        return acknowledge

    def hidden(self) -> Iterator[list[str]]:
        """Those not durable, as many as go in one request at a time."""
        return self._parts(self._held)

    def durable(self) -> Iterator[list[str]]:
        """Those that the queue can forget, likewise; `forget` what it was told."""
        return self._parts(self._durable)

    def forget(self, handles: Iterable[str]) -> None:
        """The queue has been told."""
        for handle in handles:
            self._durable.pop(handle, None)

    def clear(self) -> None:
        """Nothing is hidden any more."""
        self._held.clear()

    def _parts(self, handles: dict[str, None]) -> Iterator[list[str]]:
        left = iter(list(handles))
        while some := list(islice(left, self._most)):
            yield some
