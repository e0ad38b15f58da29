"""A log to which everybody may append, each dedup id once: a topic with one partition.

Positions are offsets + 1. A record that turns out to be void keeps its place and is never read.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from lockstep.bus.contract import Appended
from lockstep.bus.errors import LogFullError
from lockstep.bus.in_flight import InFlight
from lockstep.bus.kafka.broker import Broker
from lockstep.bus.kafka.ids import BYTES, CHECKED, ID, WRITER, Counting, Known, total_of
from lockstep.bus.kafka.log_time import LogTime
from lockstep.bus.kafka.sending import Headers, Stored
from lockstep.bus.kafka.spot import Spot
from lockstep.bus.kafka.tape import Tape
from lockstep.bus.kafka.window import Raw
from lockstep.clock import Clock
from lockstep.events import LockstepError, Position

_SHARE: Final = 16  # of the limit that a writer adds before it looks again
_BATCH: Final = 512
_BATCH_BYTES: Final = 8_000_000


@dataclass(slots=True)
class _Waiting:
    value: bytes
    dedup_id: bytes | None
    key: bytes | None
    checked: int = 0
    done: asyncio.Future[Appended] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


@dataclass(frozen=True, slots=True)
class World:
    """What all logs of a bus share."""

    broker: Broker
    spot: Spot
    clock: Clock
    in_flight: InFlight
    writer: bytes


class Ledger:
    """One opened log, to append to and to trim."""

    def __init__(self, world: World, topic: str, subject: str, *, max_bytes: int) -> None:
        self.topic = topic
        self.subject = subject
        self._world = world
        self._broker = world.broker
        self._window_ms = world.broker.connection.limits.dedup_window_ms
        self._room = _Room(world, topic, subject, max_bytes)
        self._tape = Tape(world.broker, topic)
        self._time = LogTime(world.broker, world.spot, world.clock, topic)
        self._known: Known | None = None
        self._queue: deque[_Waiting] = deque()
        self._appending: asyncio.Task[None] | None = None
        self._under_way: dict[bytes, asyncio.Future[Appended]] = {}
        self._finishing: set[asyncio.Task[None]] = set()
        self._turn = asyncio.Lock()

    async def append(
        self, value: bytes, *, dedup_id: str | None, key: bytes | None = None
    ) -> Appended:
        """Durable when it returns; begun in the order of the calls."""
        own = None if dedup_id is None else dedup_id.encode("utf-8", "surrogatepass")
        async with self._world.in_flight.passing(len(value)):
            waiting = _Waiting(value, own, key)
            self._queue.append(waiting)
            if self._appending is None:
                self._appending = asyncio.create_task(self._append_all())
            return await waiting.done

    async def bounds(self) -> tuple[Position, Position]:
        """See InputLog."""
        first = max(await self._broker.low(self.topic), await self._broker.trimmed(self.topic))
        last = await self._broker.end(self.topic)
        return min(first, last) + 1, last

    async def trim(self, up_to: Position) -> None:
        """Forgets, for all readers at once. What dedup ids are still asked for stays on disk."""
        end = await self._broker.end(self.topic)
        place = min(up_to, end)
        if place > await self._broker.trimmed(self.topic):
            await self._broker.set_trimmed(self.topic, place)
        limits = self._broker.connection.limits
        kept_ms = self._window_ms + 2 * limits.publish_timeout_ms
        await self._time.look(end)
        needed = await self._time.since(kept_ms)
        place = place if needed is None else min(place, needed)
        if place > await self._broker.low(self.topic):
            await self._broker.drop(self.topic, place)
        self._room.forget()

    async def close(self) -> None:
        """Gives back what appending needs."""
        if self._appending is not None:
            self._appending.cancel()
        for task in list(self._finishing):
            task.cancel()
        self._tape.leave()

    async def _append_all(self) -> None:
        try:
            while self._queue:
                batch = list(self._queue)
                self._queue.clear()
                trouble: LockstepError | None = None
                if any(each.dedup_id is not None for each in batch):
                    try:
                        await self._know_end()
                    except LockstepError as error:
                        trouble = error
                for each in batch:
                    await self._begin(each, trouble)
        finally:
            self._appending = None

    async def _begin(self, waiting: _Waiting, trouble: LockstepError | None) -> None:
        if waiting.done.done():
            return
        own = waiting.dedup_id
        try:
            if own is not None:
                if trouble is not None:
                    raise trouble
                if self._is_there(own, waiting):
                    return
            await self._room.take(len(waiting.value))
            sent = self._broker.connection.send(
                self.topic,
                waiting.value,
                where=self.subject,
                headers=self._headers(waiting),
                key=waiting.key,
            )
        except LockstepError as error:
            _tell(waiting.done, error)
            return
        if own is not None:
            self._under_way[own] = waiting.done
        finishing = asyncio.create_task(self._finish(waiting, sent))
        self._finishing.add(finishing)
        finishing.add_done_callback(self._finishing.discard)

    def _is_there(self, own: bytes, waiting: _Waiting) -> bool:
        assert self._known is not None
        offset = self._known.find(own, self._time.now_ms())
        if offset is not None:
            waiting.done.set_result(Appended(offset + 1, duplicate=True))
            return True
        first = self._under_way.get(own)
        if first is not None:
            first.add_done_callback(lambda done: _repeat(done, waiting.done))
        return first is not None

    def _headers(self, waiting: _Waiting) -> Headers:
        headers = [(BYTES, b"%d" % self._room.total_bytes), (WRITER, self._world.writer)]
        if waiting.dedup_id is not None and self._known is not None:
            waiting.checked = self._known.reached
            headers += [(ID, waiting.dedup_id), (CHECKED, b"%d" % waiting.checked)]
        return headers

    async def _finish(self, waiting: _Waiting, sent: asyncio.Future[Stored]) -> None:
        own = waiting.dedup_id
        try:
            offset, stamped_ms = await sent
            self._time.saw(offset, stamped_ms)
            known = self._known
            if known is not None:
                known.stored(offset, own, stamped_ms, waiting.checked)
            if own is not None and known is not None:
                await self._know(offset + 1)
                first = known.find(own, self._time.now_ms())
                if first is not None and first < offset:
                    _give(waiting.done, Appended(first + 1, duplicate=True))
                    return
            _give(waiting.done, Appended(offset + 1))
        except LockstepError as error:
            _tell(waiting.done, error)
        except asyncio.CancelledError:
            waiting.done.cancel()
            raise
        finally:
            if own is not None and self._under_way.get(own) is waiting.done:
                del self._under_way[own]

    async def _know_end(self) -> None:
        end = await self._broker.end(self.topic)
        if self._known is None:
            await self._time.look(end)
            start = await self._time.since(self._window_ms)
            self._known = Known(end if start is None else start, self._window_ms)
        await self._know(end)

    async def _know(self, end: int) -> None:
        known = self._known
        assert known is not None
        async with self._turn:
            while known.reached < end:
                raws = await self._tape.read(
                    known.reached, max_records=_BATCH, max_bytes=_BATCH_BYTES, wait_ms=100
                )
                for raw in raws:
                    self._time.saw(raw.offset, raw.timestamp_ms)
                    known.take(raw)
                    if raw.headers.get(WRITER) != self._world.writer:
                        self._room.total_bytes += raw.size_bytes
                if not raws and await self._broker.low(self.topic) >= end:
                    known.reached = max(known.reached, end)  # aged out meanwhile


class _Room:
    """How much a log may still take, as one writer knows it. `total_bytes`: of all records that
    there have ever been."""

    def __init__(self, world: World, topic: str, subject: str, limit_bytes: int) -> None:
        self._world = world
        self._topic = topic
        self._subject = subject
        self._limit_bytes = limit_bytes
        self._left_bytes = 0  # what may be added before looking again
        self.total_bytes = 0

    async def take(self, size_bytes: int) -> None:
        """Room for so many bytes; LogFullError when there is none."""
        if self._left_bytes < size_bytes:
            await self._look(size_bytes)
        self._left_bytes -= size_bytes
        self.total_bytes += size_bytes

    def forget(self) -> None:
        """The log was trimmed."""
        self._left_bytes = 0

    async def _look(self, size_bytes: int) -> None:
        broker, spot, topic = self._world.broker, self._world.spot, self._topic
        low, end = await broker.bounds(topic)
        start = max(low, await broker.trimmed(topic))
        held_bytes = 0
        if end > low:
            self.total_bytes = max(self.total_bytes, total_of(await spot.at(topic, end - 1)))
        if end > start:
            first = await spot.at(topic, start)
            held_bytes = self.total_bytes - total_of(first) + first.size_bytes
        free_bytes = self._limit_bytes - held_bytes
        if free_bytes < size_bytes:
            raise LogFullError(self._subject, self._limit_bytes)
        self._left_bytes = min(free_bytes, max(size_bytes, self._limit_bytes // _SHARE))


class LedgerReader:
    """Reads the records of a ledger that count. One reader at a time."""

    def __init__(self, world: World, topic: str) -> None:
        self._world = world
        self._tape = Tape(world.broker, topic)
        self._counting: Counting | None = None
        self._given = -1

    async def read(
        self, after: Position, *, max_records: int, max_bytes: int, wait_ms: int
    ) -> Sequence[Raw]:
        """See InputLog; the position of a record is its offset + 1."""
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + wait_ms / 1000
        counting = self._counting
        if counting is None or after != self._given:
            trimmed = await self._world.broker.trimmed(self._tape.topic)
            counting = self._counting = Counting(max(after, trimmed))
            self._given = after
        found: list[Raw] = []
        while not found:
            left_ms = max(0, round((deadline_s - loop.time()) * 1000))
            raws = await self._tape.read(
                counting.place, max_records=max_records, max_bytes=max_bytes, wait_ms=left_ms
            )
            if not raws:
                break
            for raw in raws:
                await self._learn(counting, raw)
                if counting.take(raw):
                    found.append(raw)
            if found:
                self._given = found[-1].offset + 1
        return found

    def leave(self) -> None:
        """Its place is kept no longer."""
        self._tape.leave()

    async def _learn(self, counting: Counting, raw: Raw) -> None:
        since = counting.lacks(raw)
        if since is None:
            return
        earlier: list[Raw] = []
        topic = self._tape.topic
        start = max(since, await self._world.broker.low(topic))
        if start < counting.since:
            await self._world.spot.scan(topic, start, counting.since, earlier.append)
        counting.learn([each for each in earlier if each.offset < counting.since], since)


def _give(done: asyncio.Future[Appended], appended: Appended) -> None:
    if not done.done():
        done.set_result(appended)


def _tell(done: asyncio.Future[Appended], error: LockstepError) -> None:
    if not done.done():
        done.set_exception(error)


def _repeat(first: asyncio.Future[Appended], done: asyncio.Future[Appended]) -> None:
    if done.done():
        return
    if first.cancelled():
        done.cancel()
    elif (error := first.exception()) is not None:
        done.set_exception(error)
    else:
        done.set_result(Appended(first.result().position, duplicate=True))
