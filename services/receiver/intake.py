"""From events to durable records: gathers what comes at the same time into few appends, in order.

One `Intake` per input log. A submission is answered when all its records are durable. Submissions
with a key keep records of their own, so that a repeated key finds the record of the first time;
the others share records, each chunk whole.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field

from lockstep.bus import Appended, InputLog, RecordTooLargeError
from lockstep.clock import Clock
from lockstep.events import LockstepError, Position, StreamSchema, UnavailableError
from lockstep.events.codec import send_id_of
from lockstep.frame.waiting import wait_set
from services.receiver.decode import Chunk
from services.receiver.drafts import Draft, RowsDraft
from services.receiver.runs import AnyRun, BatchRun, Run


@dataclass(frozen=True, slots=True)
class Receipt:
    """The records that hold a submission; `duplicate` when they were there before."""

    first: Position
    last: Position
    duplicate: bool


@dataclass(slots=True)
class _Pending:
    runs: Sequence[AnyRun]
    key: str | None
    done: asyncio.Future[Receipt]
    size_bytes: int
    events: int
    appended: list[Appended] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class IntakeLimits:
    """How much goes into one record, and how long a first event waits for company."""

    max_record_bytes: int
    max_record_events: int
    gather_ms: int


class Intake:
    """The appender of one log. `submit` from any task; `run` in one supervised task."""

    def __init__(
        self,
        open_log: Callable[[], Awaitable[InputLog]],
        clock: Clock,
        new_id: Callable[[], str],
        limits: IntakeLimits,
    ) -> None:
        self._open_log = open_log
        self._log: InputLog | None = None
        self._clock = clock
        self._new_id = new_id
        self._limits = limits
        self._waiting: deque[_Pending] = deque()
        self._arrived = asyncio.Event()
        self._busy_until_ms = 0
        self._clock_ms = 0
        self._appending = False
        self.last_position: Position = 0

    def submit(self, runs: Sequence[AnyRun], key: str | None) -> asyncio.Future[Receipt]:
        """Queues a submission; the future ends when it is durable, or with a LockstepError."""
        done: asyncio.Future[Receipt] = asyncio.get_running_loop().create_future()
        done.add_done_callback(_looked_at)
        size = sum(run.size_bytes for run in runs)
        events = sum(run.events for run in runs)
        self._waiting.append(_Pending(runs, key, done, size, events))
        self._arrived.set()
        return done

    @property
    def is_idle(self) -> bool:
        """Nothing waits or is on its way."""
        return not self._waiting and not self._appending

    async def run(self) -> None:
        """Appends what is submitted until cancelled."""
        while True:
            while not self._waiting:
                self._arrived.clear()
                await self._arrived.wait()
            await self._gather()
            batch = self._take_batch()
            self._appending = True
            try:
                await self._append_batch(batch)
            except LockstepError as error:
                _fail(batch, error)
            except asyncio.CancelledError:
                _fail(batch, _stopping())
                raise
            finally:
                self._appending = False
            self._busy_until_ms = self._clock.monotonic_ms() + self._limits.gather_ms

    def close(self) -> None:
        """Refuses what still waits."""
        _fail(list(self._waiting), _stopping())
        self._waiting.clear()

    async def _gather(self) -> None:
        """After a quiet time the first event goes at once; under load company is worth a wait."""
        left_ms = self._busy_until_ms - self._clock.monotonic_ms()
        if left_ms > 0 and len(self._waiting) == 1 and self._waiting[0].key is None:
            await wait_set(asyncio.Event(), self._clock, left_ms)

    def _take_batch(self) -> list[_Pending]:
        first = self._waiting.popleft()
        batch = [first]
        size, events = first.size_bytes, first.events
        while first.key is None and self._waiting:
            following = self._waiting[0]
            size += following.size_bytes
            events += following.events
            over = size > self._limits.max_record_bytes or events > self._limits.max_record_events
            if following.key is not None or over:
                break
            batch.append(self._waiting.popleft())
        return batch

    async def _append_batch(self, batch: Sequence[_Pending]) -> None:
        if self._log is None:
            self._log = await self._open_log()
        given = batch[0].key
        key = given or self._new_id()
        for number, (draft, owners) in enumerate(_drafts(batch, self._limits)):
            # What this process appends never runs back, whatever its wall clock does.
            self._clock_ms = max(self._clock_ms, self._clock.now_ms())
            appended = await self._append(
                self._log, draft, f"{key}#{number}", repeatable=given is not None
            )
            self.last_position = max(self.last_position, appended[-1].position)
            for pending in owners:
                pending.appended += appended
        for pending in batch:
            if not pending.done.done():
                pending.done.set_result(_receipt(pending.appended))

    async def _append(
        self, log: InputLog, draft: Draft, dedup_id: str, *, repeatable: bool
    ) -> list[Appended]:
        """Appends, in halves when the carrier finds it too large; a single chunk is never cut.

        What its sender may repeat bears its id: the carrier forgets ids after its window, the
        processors remember them for longer.
        """
        send_id = send_id_of(dedup_id) if repeatable else b""
        try:
            payload = draft.encoded(self._clock_ms, send_id)
            return [await log.append_encoded(payload, dedup_id=dedup_id)]
        except RecordTooLargeError:
            halves = draft.halves()
            if halves is None:
                raise
        found: list[Appended] = []
        for i, half in enumerate(halves):
            found += await self._append(log, half, f"{dedup_id}.{i}", repeatable=repeatable)
        return found


Owned = tuple[Draft, Sequence[_Pending]]


def _drafts(batch: Sequence[_Pending], limits: IntakeLimits) -> Iterator[Owned]:
    """Records to be, in order, with the submissions that they hold something of.

    A new one begins for another stream, another stamping, an Arrow batch, or when one is full. The
    cuts depend on the submissions alone, so that a repeated key is cut as it was before.
    """
    gathering = _Gathering(limits)
    for pending in batch:
        for run in pending.runs:
            if isinstance(run, BatchRun):
                yield from gathering.finish()
                for whole in run.batches:
                    for part in whole.cut(limits.max_record_bytes, limits.max_record_events):
                        yield part, (pending,)
            else:
                yield from gathering.add(pending, run)
    yield from gathering.finish()


class _Gathering:
    """Chunks of several submissions on their way into one record."""

    def __init__(self, limits: IntakeLimits) -> None:
        self._limits = limits
        self._kind: tuple[StreamSchema, bool] | None = None
        self._chunks: list[Chunk] = []
        self._owners: dict[int, _Pending] = {}
        self._size = self._events = 0

    def add(self, pending: _Pending, run: Run) -> Iterator[Owned]:
        """Takes a run; gives what got full."""
        kind = (run.schema, run.has_timestamps)
        if kind != self._kind:
            yield from self.finish()
            self._kind = kind
        per_event = run.size_bytes / max(1, run.events)
        for chunk in run.chunks:
            size = int(len(chunk) * per_event)
            full = (
                self._size + size > self._limits.max_record_bytes
                or self._events + len(chunk) > self._limits.max_record_events
            )
            if full:
                yield from self.finish()
                self._kind = kind
            self._chunks.append(chunk)
            self._owners[id(pending)] = pending
            self._size += size
            self._events += len(chunk)

    def finish(self) -> Iterator[Owned]:
        """What has been gathered."""
        if self._chunks and self._kind is not None:
            yield RowsDraft(self._kind[0], self._chunks), list(self._owners.values())
        self._kind, self._chunks, self._owners = None, [], {}
        self._size = self._events = 0


def _receipt(appended: Sequence[Appended]) -> Receipt:
    positions = [one.position for one in appended]
    return Receipt(min(positions), max(positions), all(one.duplicate for one in appended))


def _looked_at(done: asyncio.Future[Receipt]) -> None:
    """A sender that went away meanwhile leaves nobody to look at the error."""
    if not done.cancelled():
        done.exception()


def _fail(batch: Sequence[_Pending], error: LockstepError) -> None:
    for pending in batch:
        if not pending.done.done():
            pending.done.set_exception(error)


def _stopping() -> LockstepError:
    return UnavailableError("this receiver is stopping", hint="send to another one")
