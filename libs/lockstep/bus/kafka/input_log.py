"""An input log: a ledger of encoded records."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from lockstep.bus.contract import Appended, Coded
from lockstep.bus.errors import LogGoneError, RecordTooLargeError
from lockstep.bus.kafka.ledger import Ledger, LedgerReader, World
from lockstep.bus.together import one_by_one
from lockstep.events import InputRecord, LogEntry, Position, UnavailableError
from lockstep.events.codec import EncodedEntry, decode_input, encode_record

_GONE_AFTER_S: Final = 1.0


class KafkaInputLog:
    """One opened input log."""

    def __init__(self, world: World, topic: str, subject: str) -> None:
        self._world = world
        self._limits = world.broker.connection.limits
        self.ledger = Ledger(world, topic, subject, max_bytes=self._limits.max_log_bytes)
        self.reader = LedgerReader(world, topic)

    async def append(self, record: InputRecord, *, dedup_id: str | None = None) -> Appended:
        return await self.append_encoded(encode_record(record), dedup_id=dedup_id)

    async def append_encoded(self, payload: bytes, *, dedup_id: str | None = None) -> Appended:
        limit_bytes, ledger = self._limits.max_message_bytes, self.ledger
        if len(payload) > limit_bytes:
            raise RecordTooLargeError(len(payload), limit_bytes, where=ledger.subject)
        appending = asyncio.ensure_future(ledger.append(payload, dedup_id=dedup_id))
        looking: asyncio.Future[bool] | None = None
        try:
            # The client would wait for a topic that was removed as for one that is yet to come.
            while not (await asyncio.wait({appending}, timeout=_GONE_AFTER_S))[0]:
                looking = asyncio.ensure_future(self._is_gone())
                await asyncio.wait({appending, looking}, return_when=asyncio.FIRST_COMPLETED)
                if not appending.done() and looking.result():
                    raise LogGoneError(ledger.subject)
            return appending.result()
        finally:
            appending.cancel()
            if looking is not None:
                looking.cancel()

    async def append_together(self, records: Sequence[Coded]) -> Sequence[Appended]:
        return await one_by_one(self, records)

    async def read(
        self, after: Position, *, max_records: int, max_bytes: int, wait_ms: int
    ) -> Sequence[LogEntry]:
        raws = await self.reader.read(
            after, max_records=max_records, max_bytes=max_bytes, wait_ms=wait_ms
        )
        return [LogEntry(raw.offset + 1, decode_input(raw.value)) for raw in raws]

    async def read_encoded(
        self, after: Position, *, max_records: int, max_bytes: int, wait_ms: int
    ) -> Sequence[EncodedEntry]:
        raws = await self.reader.read(
            after, max_records=max_records, max_bytes=max_bytes, wait_ms=wait_ms
        )
        return [EncodedEntry(raw.offset + 1, raw.value) for raw in raws]

    async def at(self, position: Position) -> EncodedEntry | None:
        # Not by the reader: it is one stretch for one who goes on, and these places are anywhere.
        world, topic, offset = self._world, self.ledger.topic, position - 1
        if offset < await world.broker.low(topic):
            return None
        raw = await world.spot.at(topic, offset)
        return EncodedEntry(position, raw.value) if raw.offset == offset else None

    async def bounds(self) -> tuple[Position, Position]:
        return await self.ledger.bounds()

    async def trim(self, up_to: Position) -> None:
        await self.ledger.trim(up_to)

    async def close(self) -> None:
        """Gives back what it took."""
        await self.ledger.close()
        self.reader.leave()

    async def _is_gone(self) -> bool:
        try:
            return await self._world.broker.is_gone(self.ledger.topic)
        except UnavailableError:  # who cannot tell has not told that it is
            return False
