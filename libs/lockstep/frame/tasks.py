"""Supervised background tasks: one that fails is logged and started again after a growing pause.

The only place of the suite with a broad `except`: whatever escapes a service's own handling ends
here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from lockstep.clock import Clock, is_asked_to_end
from lockstep.events import LockstepError
from lockstep.telemetry import Logger

Work = Callable[[], Awaitable[None]]

BACKOFF_FIRST_MS: Final = 100
BACKOFF_MAX_MS: Final = 5_000
STEADY_MS: Final = 30_000
"""A task that ran this long starts again at the first pause."""

CANCEL_AGAIN_S: Final = 1.0
"""Time for a cancelled task to end in good order, which may need an answer of a server or two: a
second cancellation would leave a responder or a connection behind."""


class Tasks:
    """The background work of a service. Names are unique among running tasks."""

    def __init__(self, clock: Clock, log: Logger) -> None:
        self._clock = clock
        self._log = log
        self._running: dict[str, asyncio.Task[None]] = {}

    def supervise(self, name: str, work: Work, **told: str) -> None:
        """Runs `work` until it returns; starts it again when it raises. `told`: what its log lines
        say besides, such as the app."""
        before = self._running.get(name)
        if before is not None and not before.done():
            raise ValueError(f"a task named {name} is running")
        task = asyncio.create_task(self._keep_running(name, work, told), name=name)
        self._running[name] = task
        task.add_done_callback(lambda done: self._forget(name, done))

    async def stop(self, name: str) -> None:
        """Cancels one task and waits until it is gone; unknown names are ignored."""
        task = self._running.get(name)
        if task is not None:
            await cancelled([task])

    async def stop_all(self) -> None:
        """Cancels everything and waits."""
        await cancelled(list(self._running.values()))

    @property
    def names(self) -> frozenset[str]:
        """What is running now."""
        return frozenset(name for name, task in self._running.items() if not task.done())

    def _forget(self, name: str, done: asyncio.Task[None]) -> None:
        if self._running.get(name) is done:
            del self._running[name]

    async def _keep_running(self, name: str, work: Work, told: Mapping[str, str]) -> None:
        pause_ms = BACKOFF_FIRST_MS
        while True:
            started_ms = self._clock.monotonic_ms()
            try:
                await work()
                return
            except asyncio.CancelledError as error:
                if is_asked_to_end():
                    raise
                # Nobody asked this task to end: what it waited for was called off.
                called_off = RuntimeError("what it waited for was called off")
                called_off.__cause__ = error
                self._report(self._log.bind(task=name, **told), called_off, pause_ms)
            except Exception as error:
                self._report(self._log.bind(task=name, **told), error, pause_ms)
            if self._clock.monotonic_ms() - started_ms >= STEADY_MS:
                pause_ms = BACKOFF_FIRST_MS
            await self._clock.sleep_ms(pause_ms)
            pause_ms = min(pause_ms * 2, BACKOFF_MAX_MS)

    def _report(self, log: Logger, error: Exception, pause_ms: int) -> None:
        if isinstance(error, LockstepError) and error.retryable:
            log.warning("task will try again", error=str(error), pause_ms=pause_ms)
        else:
            log.exception("task failed", error=str(error), pause_ms=pause_ms)


async def run_side_by_side(*works: Work) -> None:
    """Runs all until one raises or all have returned; then none of them runs any more.

    Raises what the first one raised.
    """
    tasks = [asyncio.ensure_future(_started(work)) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            task.result()
    finally:
        await cancelled(tasks)


async def run_until(work: Work, *beside: Work) -> None:
    """Runs all until the first one has returned or any has raised; then none of them runs any more.

    Raises what the first one raised.
    """
    tasks = [asyncio.ensure_future(_started(one)) for one in (work, *beside)]
    try:
        while not tasks[0].done():
            left = [task for task in tasks if not task.done()]
            done, _ = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
    finally:
        await cancelled(tasks)


async def all_of(works: Iterable[Awaitable[None]]) -> None:
    """Side by side until all have ended, also beside one that fails or hangs. Then raises what the
    first one in order has raised."""
    for error in await asyncio.gather(*works, return_exceptions=True):
        if error is not None:
            raise error


async def _started(work: Work) -> None:
    await work()


async def cancelled(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Cancels them until they are gone; not again while they may be ending.

    Before Python 3.12 asyncio.wait_for, which the servers' clients use, may lose a cancellation.
    """
    left = {task for task in tasks if not task.done()}
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=CANCEL_AGAIN_S)
