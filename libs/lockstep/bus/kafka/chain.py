"""The chain of an output log's records: what a record's headers say, and which record counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from lockstep.bus.contract import OutputTail
from lockstep.bus.kafka.broker import Broker
from lockstep.bus.kafka.spot import Spot
from lockstep.bus.kafka.window import Raw
from lockstep.bus.tails import generation_of_text, generation_text, id_of_text, id_text
from lockstep.events import UnavailableError

_BEFORE: Final = "before"
_SEQUENCE: Final = "sequence"
_EPOCH: Final = "epoch"
_LAST_ID: Final = "last-id"
_GENERATION: Final = "generation"
_BYTES: Final = "bytes"


@dataclass(frozen=True, slots=True)
class Link:
    """A record of the chain: its offset, the offset of the one before it, where the log ends with
    it, and the bytes of all records up to it, trimmed ones included."""

    offset: int
    before: int
    tail: OutputTail
    total_bytes: int
    size_bytes: int = 0

    def headers(self) -> list[tuple[str, bytes]]:
        """What the record bears; its own offset is not known before it is stored."""
        tail = self.tail
        texts = {
            _BEFORE: str(self.before),
            _SEQUENCE: str(tail.sequence),
            _EPOCH: str(tail.epoch),
            _LAST_ID: id_text(tail.last_id),
            _GENERATION: generation_text(tail.generation),
            _BYTES: str(self.total_bytes),
        }
        return [(name, text.encode()) for name, text in texts.items()]

    def behind(self, tail: OutputTail, size_bytes: int) -> Link:
        """The record that makes the log end so, when it stands behind this one."""
        return Link(-1, self.offset, tail, self.total_bytes + size_bytes, size_bytes)

    def stored(self, offset: int) -> Link:
        """The same record, once it stands there."""
        return replace(self, offset=offset)


START: Final = Link(-1, -1, OutputTail(0, 0, None), 0)
"""What the first record of a log stands behind."""


def link_of(raw: Raw) -> Link:
    """What a stored record says of itself; whether it counts is another question."""
    texts = {name: value.decode() for name, value in raw.headers.items()}
    tail = OutputTail(
        int(texts[_SEQUENCE]),
        int(texts[_EPOCH]),
        id_of_text(texts[_LAST_ID]),
        generation_of_text(texts[_GENERATION]),
    )
    before, total_bytes = int(texts[_BEFORE]), int(texts[_BYTES])
    return Link(raw.offset, before, tail, total_bytes, raw.size_bytes)


class Chain:
    """Follows the records of the topic in order, from one that counts: `at` is the last that does.

    `place`: the offset that comes next. A topic that begins behind it was trimmed, and trimming
    leaves a record that counts as the first.
    """

    def __init__(self, at: Link, place: int) -> None:
        self.at = at
        self.place = place

    def take(self, raw: Raw) -> bool:
        """Whether the next record of the topic counts."""
        link = link_of(raw)
        counts = link.before == self.at.offset or raw.offset > self.place
        self.place = raw.offset + 1
        if counts:
            self.at = link
        return counts


class EmptyLogError(UnavailableError):
    """A log that has had records shows none."""


async def bounds_of(broker: Broker, topic: str, least_end: int = 0) -> tuple[int, int]:
    """The offset of the first record that is kept, and the one behind the last.

    A broker that has just become a topic's leader may not know yet how much of it is committed:
    then it tells an end that is too early, down to where the topic begins, or to none at all. A log
    that was trimmed has a record there, and one that has been seen is as long as it was then
    (`least_end`), so that is asked again. EmptyLogError where it stays so.
    """

    async def look() -> tuple[int, int]:
        low, end = await broker.bounds(topic)
        if end < max(low, least_end) or low == end != 0:
            raise EmptyLogError("the bus shows no record of a log that has some", where=topic)
        return low, end

    return await broker.connection.persistently(look)


async def chain_behind(broker: Broker, spot: Spot, topic: str, after: int) -> Chain:
    """A chain from which on every record that counts and has a sequence above `after` comes."""
    low, end = await bounds_of(broker, topic)
    if end == 0:
        return Chain(START, 0)
    # Void records take offsets and no sequence, so this one's sequence is at most after + 1.
    raw = await spot.at(topic, min(max(after, low), end - 1))
    # What it stands behind counts: writers append behind nothing else. So does the first record
    # that trimming has left.
    before = link_of(raw).before
    if raw.offset == 0 or before < low:
        return Chain(replace(START, offset=before if low else -1), low)
    return Chain(replace(START, offset=before), before + 1)
