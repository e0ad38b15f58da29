"""From events to durable records: gathers what comes at the same time into few appends, in order.

One `Intake` per input log. A submission is answered when all its records are durable. Submissions
without a key share records, each chunk whole. A submission with a key has a record of its own, so
that a repeated key finds the record of the first time; what comes in an order with others (messages
of the bus) shares records under load: their keys stand beside their chunks, and whoever folds the
log leaves out what came before. Independent submissions with a key are appended side by side.

What shares records is refused by its own fault alone: after a refusal each goes on by itself.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from lockstep.bus import InputLog
from lockstep.clock import Clock
from lockstep.events import Fault, LockstepError, UnavailableError
from lockstep.frame import run_side_by_side, wait_set
from lockstep.telemetry import NO_TRACES, Traces
from lockstep_services.receiver.appending import Appender, SendIds
from lockstep_services.receiver.runs import AnyRun
from lockstep_services.receiver.submissions import (
    IntakeLimits,
    Receipt,
    Submission,
    drafts_of,
    receipt_of,
)


class Intake:
    """The door of one log. `submit` from any task; `run` in one supervised task."""

    def __init__(
        self,
        open_log: Callable[[], Awaitable[InputLog]],
        clock: Clock,
        new_id: Callable[[], str],
        limits: IntakeLimits,
        traces: Traces = NO_TRACES,
    ) -> None:
        self.appender = Appender(clock, traces)
        self._open_log = open_log
        self._opening = asyncio.Lock()
        self._log: InputLog | None = None
        self._clock = clock
        self._new_id = new_id
        self._limits = limits
        self._waiting: deque[Submission] = deque()
        self._arrived = asyncio.Event()
        self._independent: deque[Submission] = deque()
        self._arrived_abreast = asyncio.Event()
        self._abreast = 0
        self._busy_until_ms = 0
        self._appending = False
        self._is_ending = False
        self._is_closed = False

    def submit(
        self,
        runs: Sequence[AnyRun],
        key: str | None,
        *,
        key_of: str = "",
        in_order: bool = True,
        trace: str = "",
    ) -> asyncio.Future[Receipt]:
        """Queues a submission; the future ends when it is durable, or with a LockstepError: at once
        where nobody would append it any more.

        `in_order`: behind all that were submitted so before it, also when an append has to be
        repeated. Without a key it always is. `key_of`: the stream to which the key belongs, where
        it is one of that alone, and does not come in an order; else the key is the log's.
        """
        done: asyncio.Future[Receipt] = asyncio.get_running_loop().create_future()
        done.add_done_callback(_looked_at)
        if self._is_closed or self._is_ending:
            done.set_exception(stopping() if self._is_closed else ended())
            return done
        size = sum(run.size_bytes for run in runs)
        events = sum(run.events for run in runs)
        submission = Submission(runs, key, done, size, events, trace, key_of)
        if in_order or key is None:
            self._waiting.append(submission)
            self._arrived.set()
        else:
            self._independent.append(submission)
            self._arrived_abreast.set()
        return done

    @property
    def is_idle(self) -> bool:
        """Nothing waits or is on its way."""
        is_waiting = self._waiting or self._independent
        return not is_waiting and not self._appending and not self._abreast

    def end(self) -> None:
        """Takes no more: `run` ends behind what waits."""
        self._is_ending = True
        self._arrived.set()
        self._arrived_abreast.set()

    async def run(self) -> None:
        """Appends what is submitted until cancelled or ended. When cancelled it takes nothing more:
        who waits, or comes, hears so, as nobody is there who would append it."""
        try:
            await run_side_by_side(self._run_in_order, self._run_abreast)
        except asyncio.CancelledError:
            self.close()
            raise

    async def _run_in_order(self) -> None:
        while True:
            while not self._waiting:
                if self._is_ending:
                    return
                self._arrived.clear()
                await self._arrived.wait()
            await self._gather()
            batch = self._take_batch()
            self._appending = True
            try:
                await self._append_in_order(batch)
            except LockstepError as error:
                _fail(batch, error)
            except asyncio.CancelledError:
                _fail(batch, stopping())
                raise
            finally:
                self._appending = False
            self._busy_until_ms = self._clock.monotonic_ms() + self._limits.gather_ms

    async def _run_abreast(self) -> None:
        """Each record of a submission waits for the one before it, but for no other's."""
        slots = asyncio.Semaphore(self._limits.max_abreast)
        async with asyncio.TaskGroup() as group:
            while True:
                while not self._independent:
                    if self._is_ending:
                        return
                    self._arrived_abreast.clear()
                    await self._arrived_abreast.wait()
                await slots.acquire()
                if not self._independent:  # closed meanwhile
                    slots.release()
                    continue
                submission = self._independent.popleft()
                self._abreast += 1
                task = group.create_task(self._append_alone(submission))
                task.add_done_callback(partial(self._end_alone, submission, slots))

    async def _append_in_order(self, batch: Sequence[Submission]) -> None:
        """Together, else one by one: nobody is refused by the fault of another. Errors: what fails
        all that are not done yet."""
        try:
            await self._append_batch(batch)
        except LockstepError as error:
            if error.fault is not Fault.USER or len(batch) == 1:
                raise
        else:
            return
        for pending in batch:
            try:
                # What is durable already has its receipt by that, and nothing is appended.
                await self._append_batch([pending])
            except LockstepError as error:
                if error.fault is not Fault.USER:
                    raise
                _fail([pending], error)

    async def _append_alone(self, submission: Submission) -> None:
        try:
            await self._append_batch([submission])
        except LockstepError as error:
            _fail([submission], error)

    def _end_alone(self, submission: Submission, slots: asyncio.Semaphore, _: object) -> None:
        _fail([submission], stopping())  # if it was cancelled, begun or not
        self._abreast -= 1
        slots.release()

    def close(self) -> None:
        """Refuses what still waits, and what comes from now on: `run` may be over already, while
        the door is open up to the end."""
        self._is_closed = True
        _fail([*self._waiting, *self._independent], stopping())
        self._waiting.clear()
        self._independent.clear()

    async def _gather(self) -> None:
        """After a quiet time the first event goes at once; under load company is worth a wait."""
        left_ms = self._busy_until_ms - self._clock.monotonic_ms()
        first = self._waiting[0]
        if left_ms > 0 and len(self._waiting) == 1 and first.shares_with(first):
            await wait_set(asyncio.Event(), self._clock, left_ms)

    def _take_batch(self) -> list[Submission]:
        first = self._waiting.popleft()
        batch = [first]
        size, events = first.size_bytes, first.events
        while self._waiting:
            following = self._waiting[0]
            size += following.size_bytes
            events += following.events
            over = size > self._limits.max_record_bytes or events > self._limits.max_record_events
            if over or not following.shares_with(first):
                break
            batch.append(self._waiting.popleft())
        return batch

    async def _opened(self) -> InputLog:
        async with self._opening:
            if self._log is None:
                self._log = await self._open_log()
            return self._log

    async def _append_batch(self, batch: Sequence[Submission]) -> None:
        log = await self._opened()
        given = batch[0].key if len(batch) == 1 else None
        stream = batch[0].key_of if given is not None else ""
        ids = SendIds(given or self._new_id(), given is not None, stream)
        await self.appender.append(log, drafts_of(batch, self._limits), ids)
        for pending in batch:
            if not pending.done.done():
                pending.done.set_result(receipt_of(pending.appended))


def _looked_at(done: asyncio.Future[Receipt]) -> None:
    """A sender that went away meanwhile leaves nobody to look at the error."""
    if not done.cancelled():
        done.exception()


def _fail(batch: Sequence[Submission], error: LockstepError) -> None:
    for pending in batch:
        if not pending.done.done():
            pending.done.set_exception(error)


def ended() -> LockstepError:
    """For who sends to an app, or to one of its lives, that is over."""
    return UnavailableError("the app was undeployed or deployed anew meanwhile", hint="send again")


def stopping() -> LockstepError:
    """For who sends to a receiver that ends."""
    return UnavailableError("this receiver is stopping", hint="send to another one")
