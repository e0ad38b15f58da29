"""Where blocking work (folding a slice, taking a snapshot) runs: on a thread of its own, or at once
in a simulation that wants everything in one order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

T = TypeVar("T")


class Offload(Protocol):
    """Runs blocking functions one after the other."""

    async def run(self, work: Callable[[], T]) -> T:
        """The result of `work`; calls never overlap."""

    def close(self) -> None:
        """No more calls; idempotent."""


class ThreadOffload:
    """One thread: the event loop goes on meanwhile. One instance per executor."""

    def __init__(self, name: str) -> None:
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)

    async def run(self, work: Callable[[], T]) -> T:
        """A cancelled caller leaves the work running; the next call waits behind it."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    def close(self) -> None:
        """Lets the running call end by itself."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class InlineOffload:
    """At once, in the caller's turn of the loop."""

    async def run(self, work: Callable[[], T]) -> T:
        """Blocks the loop."""
        return work()

    def close(self) -> None:
        """Nothing to do."""
