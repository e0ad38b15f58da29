"""Where blocking work (folding a slice, taking a snapshot) runs: on a thread of its own, or at once
in a simulation that wants everything in one order."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Offload(Protocol):
    """Runs blocking functions one after the other."""

    async def run(self, work: Callable[[], T]) -> T:
        """The result of `work`; calls never overlap."""

    def close(self) -> None:
        """No more calls; idempotent."""


def _answering(work: Callable[[], T]) -> Callable[[], T]:
    """Futures of asyncio refuse StopIteration, and whoever waits would wait for ever."""

    def answer() -> T:
        try:
            return work()
        except StopIteration as end:
            raise RuntimeError("blocking work raised StopIteration") from end

    return answer


class ThreadOffload:
    """One thread: the event loop goes on meanwhile. One instance per executor."""

    def __init__(self, name: str) -> None:
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)

    async def run(self, work: Callable[[], T]) -> T:
        """A cancelled caller leaves the work running; the next call waits behind it."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, _answering(work))

    def close(self) -> None:
        """Lets the running call end by itself."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class SharedThreads:
    """At most `max_threads` for any number of offloads, made when work waits and none is idle."""

    def __init__(self, max_threads: int) -> None:
        self._pool = ThreadPoolExecutor(max_threads, thread_name_prefix="shared")

    def offload(self, _name: str) -> Offload:
        """One that has no thread of its own."""
        return _SharingOffload(self._pool)


class _SharingOffload:
    """Its calls have a thread while they run, one after the other."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self._turn = asyncio.Lock()
        self._running: Future[Any] | None = None
        self._is_closed = False

    async def run(self, work: Callable[[], T]) -> T:
        """A cancelled caller leaves the work running; the next call waits behind it."""
        await self._turn.acquire()
        if self._is_closed:
            self._turn.release()
            raise RuntimeError("this offload is closed")
        loop = asyncio.get_running_loop()

        def ended(_: Future[T]) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(self._turn.release)

        running = self._running = self._pool.submit(_answering(work))
        running.add_done_callback(ended)
        return await asyncio.wrap_future(running)

    def close(self) -> None:
        """Lets the running call end by itself."""
        self._is_closed = True
        if self._running is not None:
            self._running.cancel()


class InlineOffload:
    """At once, in the caller's turn of the loop."""

    async def run(self, work: Callable[[], T]) -> T:
        """Blocks the loop."""
        return work()

    def close(self) -> None:
        """Nothing to do."""
