"""An event loop without wall time, threads or sockets: when nothing is left to do now, time jumps.

Every callback runs in the context of a host. A paused host's callbacks wait, as those of a stopped
process would; a dead host's never run. The same calls give the same order on every machine.
"""

from __future__ import annotations

import asyncio
import contextvars
import heapq
import itertools
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Executor
from typing import Any, Final, TypeVar, TypeVarTuple, Unpack

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

MICROSECONDS: Final = 1_000_000
TURN_LIMIT: Final = 3_000_000


class Host:
    """Something that runs: a process on a machine of its own, a server, a client."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.paused = False
        self.dead = False
        self.deferred: list[Turn] = []
        self.context = contextvars.copy_context()
        self.context.run(HOST.set, self)

    def __repr__(self) -> str:
        return self.name


HOST: contextvars.ContextVar[Host | None] = contextvars.ContextVar("host", default=None)


class StuckError(Exception):
    """Nothing will ever happen again, or too much happens."""


class SimTask(asyncio.Task[Any]):
    """A task whose place in a set does not depend on its address."""

    _serials = itertools.count()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._serial = next(self._serials)
        super().__init__(*args, **kwargs)

    def __hash__(self) -> int:
        return self._serial


class Turn:
    """A callback whose turn will come; what asyncio asks of a handle, and no more: there are
    millions."""

    __slots__ = ("args", "callback", "context", "when_s")
    _source_traceback = None

    def __init__(
        self,
        when_s: float,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        context: contextvars.Context | None,
    ) -> None:
        self.when_s = when_s
        self.callback: Callable[..., object] | None = callback
        self.args = args
        self.context = contextvars.copy_context() if context is None else context

    def cancel(self) -> None:
        """It is passed over when its turn comes."""
        self.callback, self.args = None, ()

    def cancelled(self) -> bool:
        """Whether it is passed over."""
        return self.callback is None

    def when(self) -> float:
        """Its time, in seconds."""
        return self.when_s


class VirtualLoop(asyncio.BaseEventLoop):
    """Time begins at 0 and is counted in whole microseconds."""

    _ready: deque[Turn]  # the base class makes it

    def __init__(self) -> None:
        super().__init__()
        self._now_us = 0
        self._order = itertools.count()
        self._timers: list[tuple[int, int, Turn]] = []
        self._graveyard: list[object] = []
        self._turns = 0
        SimTask._serials = itertools.count()
        self.set_exception_handler(self._note_error)
        self.errors: list[BaseException] = []

    def _note_error(self, _loop: object, context: dict[str, Any]) -> None:
        """An exception that nobody heard of; tasks that are thrown away do not count."""
        error = context.get("exception")
        if error is not None and "never retrieved" not in context.get("message", ""):
            self.errors.append(error)

    @property
    def now_ms(self) -> int:
        """Whole milliseconds."""
        return self._now_us // 1_000

    def time(self) -> float:
        """Seconds."""
        return self._now_us / MICROSECONDS

    def call_soon(  # type: ignore[override]  # see Turn
        self,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> Turn:
        """Behind everything that is to be done now."""
        turn = Turn(0.0, callback, args, context)
        self._ready.append(turn)
        return turn

    call_soon_threadsafe = call_soon  # type: ignore[assignment]  # see Turn

    def call_at(  # type: ignore[override]  # see Turn
        self,
        when: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> Turn:
        """Ties run in the order in which they were asked for."""
        turn = Turn(when, callback, args, context)
        heapq.heappush(self._timers, (round(when * MICROSECONDS), next(self._order), turn))
        return turn

    def create_task(
        self,
        coro: Generator[Any, None, T] | Coroutine[Any, Any, T],
        *,
        name: object = None,
        context: contextvars.Context | None = None,
    ) -> asyncio.Task[T]:
        """A task with a serial number."""
        return SimTask(coro, loop=self, name=name, context=context)

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[Unpack[Ts]], T], *args: *Ts
    ) -> asyncio.Future[T]:
        """There are no threads here: what was meant for one is done at once."""
        done: asyncio.Future[T] = self.create_future()
        done.set_result(func(*args))
        return done

    def resume(self, host: Host) -> None:
        """Whatever waited goes on, in its order."""
        host.paused = False
        self._ready.extend(host.deferred)
        host.deferred = []

    def bury(self, host: Host) -> None:
        """The host runs no more. Its tasks are kept, so that not even their `finally` runs."""
        host.dead = True
        self._graveyard.append(host.deferred)
        host.deferred = []
        self._graveyard += [task for task in asyncio.all_tasks(self) if not task.done()]

    def _run_once(self) -> None:
        ready = self._ready
        if not ready:
            self._jump()
        for _ in range(len(ready)):
            turn = ready.popleft()
            if turn.callback is None:
                continue
            host = turn.context.get(HOST)
            if host is None or not (host.paused or host.dead):
                self._turns += 1
                turn.context.run(turn.callback, *turn.args)
                if self.errors:
                    raise self.errors[0]
            elif host.dead:
                self._graveyard.append(turn)
            else:
                host.deferred.append(turn)
        if self._turns > TURN_LIMIT:
            raise StuckError(f"{self._turns} callbacks")

    def _jump(self) -> None:
        timers = self._timers
        while timers and timers[0][2].cancelled():
            heapq.heappop(timers)
        if not timers:
            raise StuckError("nobody waits for anything that could come")
        at_us = timers[0][0]
        self._now_us = max(self._now_us, at_us)
        while timers and timers[0][0] == at_us:
            self._ready.append(heapq.heappop(timers)[2])


class HostClock:
    """A host's clocks: a wall clock that may be wrong and may jump, a monotonic one that is not."""

    def __init__(self, loop: VirtualLoop, epoch_ms: int) -> None:
        self._loop = loop
        self._epoch_ms = epoch_ms
        self.skew_ms = 0
        self.ahead_ms = 0

    def now_ms(self) -> int:
        """As the host believes."""
        return self._epoch_ms + self._loop.now_ms + self.skew_ms

    def monotonic_ms(self) -> int:
        """`ahead_ms` lets a server's clock jump, which no process of ours sees of its own."""
        return self._loop.now_ms + self.ahead_ms

    async def sleep_ms(self, duration_ms: int) -> None:
        """On the virtual clock."""
        await asyncio.sleep(max(0, duration_ms) / 1000)
