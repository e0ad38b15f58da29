"""The bus clients' front door: a topic of messages, and one of notes by which receivers share."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from lockstep.bus.contract import IngressMessage
from lockstep.bus.kafka.broker import Broker, log_config
from lockstep.bus.kafka.door import Door
from lockstep.bus.kafka.ledger import World
from lockstep.bus.kafka.live import Feed
from lockstep.bus.kafka.log_time import LogTime
from lockstep.bus.kafka.names import topic_of
from lockstep.bus.kafka.sharing import Note, WorkQueue, decode_note, encode_note
from lockstep.bus.kafka.window import Raw
from lockstep.bus.subjects import ID_HEADER, INGRESS_STREAM, ingress_names, ingress_subject
from lockstep.events import LockstepError
from lockstep.telemetry import get_logger

_AHEAD_BYTES: Final = 16_777_216  # of messages that are not done
_TIDY_EVERY_MS: Final = 2_000


class KafkaIngress:
    """Client side (`publish`) and receiver side (`read`)."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._broker = world.broker
        self._limits = world.broker.connection.limits
        prefix = world.broker.connection.address.prefix
        self._messages_topic = topic_of(prefix, INGRESS_STREAM)
        self._notes_topic = topic_of(prefix, f"{INGRESS_STREAM}.notes")
        self.door = Door(world, self._messages_topic)
        self._time = LogTime(world.broker, world.spot, world.clock, self._messages_topic)
        self._queue = WorkQueue(
            world.writer, self._limits.ingress_redelivery_ms, self._limits.dedup_window_ms
        )
        self._messages = Feed(world, self._messages_topic, self._take_messages)
        self._notes = Feed(world, self._notes_topic, self._take_notes)
        self._changed = asyncio.Event()
        self._opening = asyncio.Lock()
        self._tidying: asyncio.Task[None] | None = None
        self._past = 0  # messages in front of it are done
        self._done: list[int] = []
        self._telling: asyncio.Task[None] | None = None

    async def make(self) -> None:
        """The topics are there when this returns."""
        config = log_config(self._limits, max_age_ms=None)
        await self._broker.ensure(self._messages_topic, config)
        await self._broker.ensure(self._notes_topic, config)

    async def publish(
        self, app: str, stream: str, payload: bytes, *, headers: Mapping[str, str] | None = None
    ) -> None:
        await self.door.put(ingress_subject(app, stream), payload, headers)

    async def read(self, *, max_messages: int, wait_ms: int) -> Sequence[IngressMessage]:
        await self._open()
        clock = self._world.clock
        deadline_ms = clock.monotonic_ms() + wait_ms
        while True:
            if won := self._queue.won(max_messages):
                return [self._message(raw) for raw, _ in won]
            now_ms = clock.monotonic_ms()
            self._claim(max_messages, now_ms)
            free_ms = self._queue.next_free_ms()
            until_ms = (
                deadline_ms if free_ms is None else min(deadline_ms, max(free_ms, now_ms + 1))
            )
            if now_ms >= deadline_ms:
                return []
            self._changed.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout((until_ms - now_ms) / 1000):
                    await self._changed.wait()

    async def close(self) -> None:
        """Gives back what is ours and was not read."""
        if self._tidying is None:
            return
        self._tidying.cancel()
        freed = [(raw.offset, number) for raw, number in self._queue.won(len(self._queue.messages))]
        if freed:
            with contextlib.suppress(LockstepError):
                await self._tell(Note(self._world.writer, freed=freed))
        await self._messages.close()
        await self._notes.close()

    async def _open(self) -> None:
        async with self._opening:
            if self._tidying is not None:
                return
            broker, topic = self._broker, self._messages_topic
            self._past = max(await broker.trimmed(topic), await broker.low(topic))
            notes = await broker.trimmed(self._notes_topic)
            await self._time.look(await broker.end(topic))
            recent = await self._time.since(self._limits.dedup_window_ms)
            await self._notes.open(max(notes, await broker.low(self._notes_topic)))
            # What was done before must be known before anything is claimed.
            await self._notes.pass_end()
            # Kafka forgets the offsets of a group that rests; the notes do not.
            self._past = max(self._past, self._queue.past)
            await self._messages.open(self._past if recent is None else min(recent, self._past))
            self._tidying = asyncio.create_task(self._tidy())

    def _claim(self, max_messages: int, now_ms: int) -> None:
        room = self._limits.ingress_max_unacknowledged - self._queue.given_messages
        claims = self._queue.claimable(min(max_messages, max(1, room)), now_ms)
        if not claims:
            return
        note = Note(self._world.writer, claims=claims)
        telling = asyncio.ensure_future(self._tell(note))
        telling.add_done_callback(partial(self._claim_told, claims))

    def _claim_told(self, claims: list[tuple[int, int]], done: asyncio.Future[None]) -> None:
        if done.cancelled() or done.exception() is not None:
            self._queue.unclaim(claims)
            self._changed.set()

    async def _tell(self, note: Note) -> None:
        topic = self._notes_topic
        await self._broker.connection.send(topic, encode_note(note), where=topic)

    def _message(self, raw: Raw) -> IngressMessage:
        subject = raw.key.decode()
        app, stream = ingress_names(subject)
        headers = {name: value.decode() for name, value in raw.headers.items()}
        own = headers.get(ID_HEADER) or f"kafka-{raw.timestamp_ms}-{raw.offset}"
        return IngressMessage(
            app, stream, raw.value, headers, own, partial(self._acknowledge, raw.offset)
        )

    async def _acknowledge(self, offset: int) -> None:
        self._done.append(offset)
        if self._telling is None:
            self._telling = asyncio.create_task(self._tell_done())
        await asyncio.shield(self._telling)
        self._queue.settle(offset)

    async def _tell_done(self) -> None:
        await asyncio.sleep(0)  # those who acknowledge in the same turn go along
        done, self._done = self._done, []
        self._telling = None
        await self._tell(Note(self._world.writer, done=done))

    def _take_messages(self, raws: list[Raw]) -> None:
        for raw in raws:
            self._time.saw(raw.offset, raw.timestamp_ms)
            self._queue.take_message(
                raw, raw.headers.get(ID_HEADER), is_past=raw.offset < self._past
            )
        self._make_room()

    def _take_notes(self, raws: list[Raw]) -> None:
        now_ms = self._world.clock.monotonic_ms()
        for raw in raws:
            self._queue.take_note(decode_note(raw.value), raw.offset, now_ms)
        self._make_room()

    def _make_room(self) -> None:
        queue, room = self._queue, self._messages.room
        is_full = len(queue.messages) >= self._limits.ingress_max_unacknowledged
        if is_full or queue.held_bytes >= _AHEAD_BYTES:
            room.clear()
        else:
            room.set()
        self._changed.set()

    async def _tidy(self) -> None:
        """Remembers now and then from where on messages and notes are needed, and deletes what is
        in front of it. Goes on until nothing is left that is done."""
        known, is_left = (self._past, 0), True
        while True:
            await self._world.clock.sleep_ms(_TIDY_EVERY_MS)
            # The notes are read further than the messages are, so nothing is missed in between.
            first, note = self._queue.floors(self._messages.place, self._notes.place)
            if first < self._past or ((first, note) == known and not is_left):
                continue
            try:
                if (first, note) != known:
                    # Durable before notes are dropped: nothing else says what is done.
                    if first > self._queue.past:
                        await self._tell(Note(self._world.writer, past=first))
                    await self._broker.set_trimmed(self._messages_topic, first)
                    await self._broker.set_trimmed(self._notes_topic, note)
                    known = (first, note)
                is_left = await _drop(self._broker, self._time, self._notes_topic, first, note)
            except LockstepError as error:
                if error.retryable:
                    get_logger().debug("bus error", error=str(error))
                    continue
                # The operator may mend it.
                known, is_left = (first, note), False  # said once
                get_logger().warning("nothing is forgotten at the front door", error=str(error))


async def _drop(broker: Broker, time: LogTime, notes: str, first: int, note: int) -> bool:
    """Deletes the records in front of both places, but messages whose ids may be asked for. Whether
    any such message is left."""
    recent = await time.since(broker.connection.limits.dedup_window_ms)
    is_left = recent is not None and recent < first
    first = first if recent is None else min(first, recent)
    if first > await broker.low(time.topic):
        await broker.drop(time.topic, first)
    if note > await broker.low(notes):
        await broker.drop(notes, note)
    return is_left
