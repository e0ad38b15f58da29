"""Dead letters: one ledger for all apps. Kafka cannot delete one record in the midst of others, so
removal is a record of its own, and what is removed is not shown any more."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import islice
from typing import Final

import msgspec

from lockstep.bus.contract import LETTERS_BYTES, Appended, DeadLetter, StoredDeadLetter
from lockstep.bus.kafka.broker import log_config
from lockstep.bus.kafka.ledger import Ledger, LedgerReader, World
from lockstep.bus.kafka.names import topic_of
from lockstep.bus.kafka.sending import MAX_REQUEST_BYTES
from lockstep.bus.kafka.window import Raw
from lockstep.bus.letters import decode_letter, encode_letter, for_all_apps
from lockstep.bus.subjects import DEAD_STREAM, dead_pattern, dead_subject, matches

_REMOVAL: Final = b"-"  # no subject of a letter
_MARGIN_BYTES: Final = 65_536
_BATCH: Final = 1_000
_BATCH_BYTES: Final = 16_000_000

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[int])


class KafkaDeadLetters:
    """Who reads or removes keeps a list of where letters stand; the letters stay at the broker."""

    def __init__(self, world: World) -> None:
        self._world = world
        limits = world.broker.connection.limits
        self._topic = topic_of(world.broker.connection.address.prefix, DEAD_STREAM)
        self._ledger = Ledger(
            world, self._topic, DEAD_STREAM, max_bytes=limits.dead_letters_max_bytes
        )
        self._reader = LedgerReader(world, self._topic)
        self._there: dict[int, str] = {}  # sequence: subject, in order
        self._seen = 0
        self._turn = asyncio.Lock()

    async def make(self) -> None:
        """The topic is there when this returns."""
        limits = self._world.broker.connection.limits
        config = log_config(limits, max_age_ms=limits.max_log_age_ms, is_large=True)
        await self._world.broker.ensure(self._topic, config)

    async def append(self, letter: DeadLetter, *, dedup_id: str | None = None) -> Appended:
        subject = dead_subject(letter.app, letter.stream)
        payload = encode_letter(letter, MAX_REQUEST_BYTES - _MARGIN_BYTES)
        with for_all_apps(subject):
            return await self._ledger.append(payload, dedup_id=dedup_id, key=subject.encode())

    async def read(
        self,
        app: str,
        stream: str | None = None,
        *,
        after: int = 0,
        max_records: int = 100,
        max_bytes: int = LETTERS_BYTES,
    ) -> Sequence[StoredDeadLetter]:
        async with self._turn:
            await self._look()
            pattern = dead_pattern(app, stream)
            there = (
                sequence
                for sequence, subject in self._there.items()
                if sequence > after and matches(pattern, subject)
            )
            wanted = list(islice(there, max_records))
        found: list[StoredDeadLetter] = []
        size_bytes = 0

        def take(raw: Raw) -> None:
            nonlocal size_bytes
            if raw.offset + 1 in chosen and size_bytes <= max_bytes:
                found.append(StoredDeadLetter(raw.offset + 1, decode_letter(raw.value)))
                size_bytes += len(raw.value)

        if wanted:
            chosen = set(wanted)
            await self._world.spot.scan(
                self._topic, wanted[0] - 1, wanted[-1], take, until=lambda: size_bytes > max_bytes
            )
        return found

    async def remove(self, sequences: Sequence[int]) -> int:
        async with self._turn:
            await self._look()
            there = sorted({each for each in sequences if each in self._there})
            if there:
                await self._ledger.append(_encoder.encode(there), dedup_id=None, key=_REMOVAL)
                for each in there:
                    del self._there[each]
                # What stands in front of all that are left is not needed by anybody.
                first = min(self._there, default=there[-1] + 1)
                if first > there[0]:
                    await self._ledger.trim(min(first, there[-1] + 1) - 1)
        return len(there)

    async def close(self) -> None:
        """Gives back what it took."""
        await self._ledger.close()
        self._reader.leave()

    async def _look(self) -> None:
        broker = self._world.broker
        first = max(await broker.low(self._topic), await broker.trimmed(self._topic))
        end = await broker.end(self._topic)
        while self._seen < end:
            raws = await self._reader.read(
                self._seen, max_records=_BATCH, max_bytes=_BATCH_BYTES, wait_ms=0
            )
            for raw in raws:
                if raw.key == _REMOVAL:
                    for each in _decoder.decode(raw.value):
                        self._there.pop(each, None)
                else:
                    self._there[raw.offset + 1] = raw.key.decode()
            self._seen = raws[-1].offset + 1 if raws else end
        for sequence in [each for each in self._there if each <= first]:
            del self._there[sequence]
