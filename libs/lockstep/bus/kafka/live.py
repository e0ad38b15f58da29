"""A topic of which only what is new matters: listeners, and boxes whose readers share messages.

Everybody who listens reads the whole topic. Readers of one box share by claims: each of them writes
into the topic what it would take, and of all claims of a message the first one counts. So each
message goes to one reader, and nobody has to know who else is there.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

import msgspec

from lockstep.bus.kafka.broker import live_config
from lockstep.bus.kafka.ledger import World
from lockstep.bus.kafka.names import topic_of
from lockstep.bus.kafka.sending import Stored
from lockstep.bus.kafka.tape import Tape
from lockstep.bus.kafka.window import Raw
from lockstep.bus.losses import Losses
from lockstep.bus.subjects import matches
from lockstep.events import LockstepError
from lockstep.telemetry import get_logger

CLAIM: Final = "lockstep-claim"
REPLY: Final = "lockstep-reply"
_OWN: Final = frozenset({CLAIM, REPLY})

_BATCH: Final = 512
_BATCH_BYTES: Final = 8_000_000
_WAIT_MS: Final = 1_000
_AGAIN_MS: Final = 200

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[int])


@dataclass(frozen=True, slots=True)
class Message:
    """Something that was sent."""

    subject: str
    payload: bytes
    headers: Mapping[str, str]
    reply: bytes = b""


Listener = Callable[[Message], None]


class Feed:
    """Hands out what a partition gets from now on, in order, in batches."""

    def __init__(
        self, world: World, topic: str, take: Callable[[list[Raw]], None], partition: int = 0
    ) -> None:
        self._world = world
        self._take = take
        self._tape = Tape(world.broker, topic, partition)
        self._partition = partition
        self._opening = asyncio.Lock()
        self._reading: asyncio.Task[None] | None = None
        self._moved = asyncio.Event()
        self.place = 0
        self.room = asyncio.Event()  # cleared, it reads no further
        self.room.set()

    async def open(self, start: int | None = None) -> None:
        """From the present end, or `start`; what is stored from its return on is handed out."""
        async with self._opening:
            if self._reading is None:
                if start is None:
                    start = await self._world.broker.end(self._tape.topic, self._partition)
                self.place = start
                self._reading = asyncio.create_task(self._read())

    async def pass_end(self) -> None:
        """Returns when what is stored now has been handed out."""
        end = await self._world.broker.end(self._tape.topic, self._partition)
        limit_ms = self._world.broker.connection.limits.publish_timeout_ms
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_ms / 1000):
                while self.place < end:
                    self._moved.clear()
                    await self._moved.wait()

    async def close(self) -> None:
        """Idempotent."""
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait([self._reading])
        self._tape.leave()

    async def _read(self) -> None:
        trouble = ""
        while True:
            await self.room.wait()
            try:
                raws = await self._tape.read(
                    self.place, max_records=_BATCH, max_bytes=_BATCH_BYTES, wait_ms=_WAIT_MS
                )
            except LockstepError as error:
                # Of a refusal too: the operator may mend it, and nobody starts this again.
                trouble = self._tell(error, trouble)
                await self._world.clock.sleep_ms(_AGAIN_MS)
                continue
            trouble = ""
            if raws:
                self._take(list(raws))
                self.place = raws[-1].offset + 1
                self._moved.set()

    def _tell(self, error: LockstepError, before: str) -> str:
        """What is wrong. One that does not pass by itself is said once."""
        text = str(error)
        if error.retryable:
            get_logger().debug("bus error", error=text)
        elif text != before:
            get_logger().warning("nothing is heard", topic=self._tape.topic, error=text)
        return text


class Box:
    """One reader of what is shared under a key. `take` hears of what it has got."""

    def __init__(
        self, key: bytes, pattern: str, member: bytes, take: Listener, limit_messages: int
    ) -> None:
        self.key = key
        self.pattern = pattern
        self.member = member
        self._take = take
        self._limit_messages = limit_messages
        self._open: dict[int, Message] = {}
        self._wanted: list[int] = []
        self._settled = asyncio.Event()
        self.is_leaving = False

    def offer(self, offset: int, message: Message) -> None:
        """It may be claimed."""
        if not self.is_leaving and len(self._open) < self._limit_messages:
            self._open[offset] = message
            self._wanted.append(offset)

    def wanted(self) -> list[int]:
        """What is to be claimed now."""
        wanted, self._wanted = self._wanted, []
        return wanted

    def claimed(self, offsets: list[int], member: bytes) -> None:
        """A claim stands in the topic; the first one of a message counts."""
        for offset in offsets:
            message = self._open.pop(offset, None)
            if message is not None and member == self.member:
                self._take(message)
        if not self._open:
            self._settled.set()

    def failed(self, offsets: list[int]) -> None:
        """Our claim did not get through."""
        self.claimed(offsets, b"")

    async def leave(self, limit_ms: int) -> None:
        """Claims nothing more; returns when it is known what has become of its claims."""
        self.is_leaving = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_ms / 1000):
                while self._open:
                    self._settled.clear()
                    await self._settled.wait()


class Live:
    """One such topic."""

    def __init__(self, world: World, name: str) -> None:
        self._world = world
        self._connection = world.broker.connection
        self.topic = topic_of(self._connection.address.prefix, name)
        self.feed = Feed(world, self.topic, self._take)
        self._keys = itertools.count()
        self._listeners: dict[int, tuple[str, Listener]] = {}
        self._boxes: dict[int, Box] = {}
        self._losses = Losses(world.clock)

    async def make(self) -> None:
        """The topic is there when this returns."""
        await self._world.broker.ensure(self.topic, live_config(self._connection.limits))

    def send(
        self, subject: str, payload: bytes, headers: Mapping[str, str] | None, reply: bytes = b""
    ) -> None:
        """At most once; nobody waits for it."""
        given = [(name, value.encode()) for name, value in (headers or {}).items()]
        if reply:
            given.append((REPLY, reply))
        sent = self._connection.send(
            self.topic, payload, where=subject, headers=given, key=subject.encode()
        )
        sent.add_done_callback(partial(self._note_loss, subject))

    async def listen(self, pattern: str, listener: Listener) -> Callable[[], object]:
        """Hears from its return on, until what it gives is called."""
        await self.feed.open()
        key = next(self._keys)
        self._listeners[key] = (pattern, listener)
        return partial(self._listeners.pop, key, None)

    async def share(self, pattern: str, name: str, take: Listener) -> Callable[[], Awaitable[None]]:
        """As `listen`, but each message goes to one of those who share under the name. To be
        awaited at the end: what was claimed by then has come when it returns."""
        await self.feed.open()
        number = next(self._keys)
        member = b"%s/%d" % (self._world.writer, number)
        limits = self._connection.limits
        box = Box(
            f"{name} {pattern}".encode(), pattern, member, take, limits.subscription_queue_messages
        )
        self._boxes[number] = box

        async def leave() -> None:
            await box.leave(limits.publish_timeout_ms)
            self._boxes.pop(number, None)

        return leave

    async def close(self) -> None:
        """Hears nothing more."""
        await self.feed.close()

    def _take(self, raws: list[Raw]) -> None:
        for raw in raws:
            member = raw.headers.get(CLAIM)
            if member is not None:
                offsets = _decoder.decode(raw.value)
                for box in list(self._boxes.values()):
                    if box.key == raw.key:
                        box.claimed(offsets, member)
            else:
                self._hand_out(raw)
        for box in self._boxes.values():
            if wanted := box.wanted():
                self._claim(box, wanted)

    def _hand_out(self, raw: Raw) -> None:
        message = _message(raw)
        for pattern, listener in list(self._listeners.values()):
            if matches(pattern, message.subject):
                listener(message)
        for box in self._boxes.values():
            if matches(box.pattern, message.subject):
                box.offer(raw.offset, message)

    def _claim(self, box: Box, wanted: list[int]) -> None:
        try:
            sent = self._connection.send(
                self.topic,
                _encoder.encode(wanted),
                where=self.topic,
                headers=[(CLAIM, box.member)],
                key=box.key,
            )
        except LockstepError:
            box.failed(wanted)
            return

        def ended(done: asyncio.Future[Stored]) -> None:
            if self._note_loss(self.topic, done):
                box.failed(wanted)

        sent.add_done_callback(ended)

    def _note_loss(self, subject: str, done: asyncio.Future[Stored]) -> bool:
        if done.cancelled():
            return True
        if error := done.exception():
            self._losses.lost(subject, str(error))
        else:
            self._losses.passed()
        return error is not None


def _message(raw: Raw) -> Message:
    headers = {name: value.decode() for name, value in raw.headers.items() if name not in _OWN}
    return Message(raw.key.decode(), raw.value, headers, raw.headers.get(REPLY, b""))
