"""An output log: a topic with one partition, in which every record names the one it stands behind.

Kafka appends for everybody. What counts is a chain: of all records that name the same one before
them, the first in the topic is in the log, the others are void. So an append knows by its place
whether it counts, and all readers see the same. Each record bears in its headers where the log ends
with it (sequence, epoch, last identity, generation) and the bytes up to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lockstep.bus.contract import Accepted, Held, OutputEntry, OutputTail, Refused
from lockstep.bus.errors import LogFullError, TailLostError
from lockstep.bus.kafka.broker import Broker
from lockstep.bus.kafka.chain import (
    START,
    Chain,
    EmptyLogError,
    Link,
    bounds_of,
    chain_behind,
    link_of,
)
from lockstep.bus.kafka.output_reader import OutputReader
from lockstep.bus.kafka.spot import Spot
from lockstep.bus.kafka.window import Raw
from lockstep.bus.tails import may_follow, pieces, tail_after
from lockstep.events import ClaimRecord, OutputRecord
from lockstep.events.codec import decode_output

_STRETCH: Final = 64
"""So many records are read rather than asking where to begin."""


class KafkaOutputLog:
    """One opened output log."""

    def __init__(self, broker: Broker, spot: Spot, topic: str, subject: str) -> None:
        self._broker = broker
        self._spot = spot
        self._topic = topic
        self._subject = subject
        self.reader = OutputReader(broker, spot, topic)
        self._known: Link | None = None  # the end when we last saw it
        self._dropped_bytes = 0  # those that were trimmed, when we last looked

    async def tail(self) -> OutputTail:
        return (await self._find_end()).tail

    async def append(
        self, record: OutputRecord | ClaimRecord, *, expected_sequence: int
    ) -> Accepted | Refused:
        limit_bytes = self._broker.connection.limits.max_message_bytes
        for part, payload in list(pieces(record, limit_bytes, self._subject)):
            end = self._known
            if end is None or end.tail.sequence != expected_sequence:
                end = await self._find_end()
            if end.tail.sequence != expected_sequence or not may_follow(end.tail, part):
                return Refused(await self.tail())
            await self._take_room(end, len(payload))
            tail = tail_after(end.tail, part, expected_sequence + 1)
            if not await self._append(payload, end, end.behind(tail, len(payload))):
                return Refused(await self.tail())
            expected_sequence += 1
        return Accepted(expected_sequence)

    async def read(
        self, after: int, *, max_records: int, max_bytes: int, wait_ms: int
    ) -> Sequence[OutputEntry]:
        found = await self.reader.read(
            after, max_records=max_records, max_bytes=max_bytes, wait_ms=wait_ms
        )
        return [OutputEntry(sequence, decode_output(raw.value)) for sequence, raw in found]

    async def held(self) -> Held:
        end = await self._find_end()
        if end.tail.sequence == 0:
            return Held(0, 0)
        first = link_of(await self._spot.at(self._topic, await self._broker.low(self._topic)))
        return Held(
            end.tail.sequence - first.tail.sequence + 1,
            end.total_bytes - first.total_bytes + first.size_bytes,
        )

    async def trim(self, up_to: int) -> None:
        end = await self._find_end()
        up_to = min(up_to, end.tail.sequence - 1)
        if up_to < 1:
            return
        chain = await chain_behind(self._broker, self._spot, self._topic, up_to)
        offsets: list[int] = []

        def note(raw: Raw) -> None:
            if chain.take(raw) and chain.at.tail.sequence > up_to:
                offsets.append(raw.offset)

        while not offsets:
            stretch = min(chain.place + _STRETCH, end.offset + 1)
            await self._spot.scan(self._topic, chain.place, stretch, note)
        if offsets[0] > await self._broker.low(self._topic):
            await self._broker.drop(self._topic, offsets[0])

    async def close(self) -> None:
        """Gives back what reading needs."""
        self.reader.leave()

    async def _append(self, payload: bytes, before: Link, link: Link) -> bool:
        """Whether it counts."""
        self._known = None  # until it is known what has become of it
        stored = await self._broker.connection.send(
            self._topic, payload, where=self._subject, headers=link.headers()
        )
        offset = stored.offset
        if offset != before.offset + 1:
            chain = Chain(before, before.offset + 1)
            await self._spot.scan(
                self._topic,
                chain.place,
                offset + 1,
                lambda raw: raw.offset <= offset and chain.take(raw),
            )
            if chain.at.offset != offset:
                return False
        self._known = link.stored(offset)
        return True

    async def _find_end(self) -> Link:
        broker, topic, known = self._broker, self._topic, self._known
        try:
            low, end = await bounds_of(broker, topic, 0 if known is None else known.offset + 1)
        except EmptyLogError as error:
            raise TailLostError(
                "the last record of the output log was deleted, so what was published is unknown",
                where=self._subject,
                hint="undeploy the app with its logs, or restore the brokers' data",
            ) from error
        if end == 0:
            self._known = START
            return START
        if known is not None and low <= known.offset < end <= known.offset + _STRETCH:
            chain = Chain(known, known.offset + 1)
        else:
            chain = await chain_behind(broker, self._spot, topic, end)
        await self._spot.scan(topic, chain.place, end, chain.take)
        self._known = chain.at
        return chain.at

    async def _take_room(self, end: Link, size_bytes: int) -> None:
        limit_bytes = self._broker.connection.limits.max_log_bytes
        if end.total_bytes + size_bytes - self._dropped_bytes <= limit_bytes:
            return
        if end.tail.sequence > 0:
            raw = await self._spot.at(self._topic, await self._broker.low(self._topic))
            self._dropped_bytes = link_of(raw).total_bytes - raw.size_bytes
        if end.total_bytes + size_bytes - self._dropped_bytes > limit_bytes:
            raise LogFullError(self._subject, limit_bytes)
