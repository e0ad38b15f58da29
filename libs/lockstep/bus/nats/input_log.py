"""An input log: one JetStream stream, deduplicated by message id."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Final

from lockstep.bus.contract import Appended, Coded
from lockstep.bus.errors import RecordTooLargeError
from lockstep.bus.in_flight import InFlight
from lockstep.bus.nats.bells import Bells
from lockstep.bus.nats.checksum import CHECKSUM, Inspection, checksum
from lockstep.bus.nats.errors import NOT_TOGETHER, ApiError
from lockstep.bus.nats.jetstream import JetStream
from lockstep.bus.nats.reader import LogReader
from lockstep.bus.nats.room import Room
from lockstep.bus.nats.storing import Storing
from lockstep.bus.together import one_by_one, shares
from lockstep.clock import Randomness
from lockstep.events import InputRecord, LogEntry, Position, UnavailableError
from lockstep.events.codec import EncodedEntry, decode_input, encode_record

_MAX_PLAIN_ID_BYTES: Final = 120
_SHARE_RECORDS: Final = 500  # the server takes 1,000 as one


class NatsInputLog:
    """One opened input log."""

    def __init__(
        self,
        jetstream: JetStream,
        subject: str,
        stream: str,
        randomness: Randomness,
        in_flight: InFlight,
        bells: Bells,
    ) -> None:
        self._jetstream = jetstream
        self._subject = subject
        self._stream = stream
        self._randomness = randomness
        self._in_flight = in_flight
        self._reader = LogReader(jetstream, stream, randomness, bells)
        self._inspection = Inspection(stream)  # of what is looked up beside the reader
        self._room = Room(jetstream, stream, subject)
        self._is_together = True  # until the server says that the stream does not allow it
        self._storing = Storing(jetstream, subject, stream, tells_gone=True)

    async def append(self, record: InputRecord, *, dedup_id: str | None = None) -> Appended:
        return await self.append_encoded(encode_record(record), dedup_id=dedup_id)

    async def append_encoded(self, payload: bytes, *, dedup_id: str | None = None) -> Appended:
        self._check_size(payload)
        # With an id of its own a record can be sent again after a lost acknowledgement.
        message_id = self._randomness.uuid_hex() if dedup_id is None else header_id(dedup_id)
        headers = self._headers(payload, message_id)
        async with self._in_flight.passing(len(payload)):
            await self._room.take(len(payload))
            stored = await self._storing.stored(
                lambda: self._jetstream.publish(
                    self._subject,
                    payload,
                    headers,
                    limit_bytes=self._jetstream.limits.max_log_bytes,
                )
            )
        # Without an id of the caller's a duplicate is our own repetition.
        return Appended(stored.sequence, stored.duplicate and dedup_id is not None)

    async def append_together(self, records: Sequence[Coded]) -> Sequence[Appended]:
        for payload, _ in records:
            self._check_size(payload)
        found: list[Appended] = []
        max_bytes = self._jetstream.limits.max_pending_bytes
        for share in shares(records, max_records=_SHARE_RECORDS, max_bytes=max_bytes):
            found += await self._at_once(share) or await one_by_one(self, share)
        return found

    async def _at_once(self, share: Sequence[Coded]) -> Sequence[Appended]:
        """Nothing when the server did not take them as one, or nobody knows. Then each by itself
        finds out whether it is there: a batch that comes late is refused as soon as one is."""
        can = self._is_together and self._jetstream.connection.stores_together
        if len(share) == 1 or not can:
            return ()
        size_bytes = sum(len(payload) for payload, _ in share)
        messages = [(each, self._headers(each, header_id(name))) for each, name in share]
        batch_id = self._randomness.uuid_hex()
        async with self._in_flight.passing(size_bytes):
            await self._room.take(size_bytes)
            try:
                last = await self._jetstream.publish_together(self._subject, messages, batch_id)
            except ApiError as error:
                self._is_together = error.code != NOT_TOGETHER
                return ()
            except UnavailableError:
                return ()
        return [Appended(last - len(share) + n) for n in range(1, len(share) + 1)]

    def _headers(self, payload: bytes, message_id: str) -> Mapping[str, str]:
        return {
            "Nats-Msg-Id": message_id,
            "Nats-Expected-Stream": self._stream,
            CHECKSUM: checksum(payload),
        }

    def _check_size(self, payload: bytes) -> None:
        limits = self._jetstream.limits
        limit_bytes = min(limits.max_message_bytes, self._jetstream.connection.max_payload_bytes)
        if len(payload) > limit_bytes:
            raise RecordTooLargeError(len(payload), limit_bytes, where=self._subject)

    async def read(
        self, after: Position, *, max_records: int, max_bytes: int, wait_ms: int
    ) -> Sequence[LogEntry]:
        entries = await self._reader.read(
            after, max_records=max_records, max_bytes=max_bytes, wait_ms=wait_ms
        )
        return [LogEntry(each.sequence, decode_input(each.payload)) for each in entries]

    async def read_encoded(
        self, after: Position, *, max_records: int, max_bytes: int, wait_ms: int
    ) -> Sequence[EncodedEntry]:
        entries = await self._reader.read(
            after, max_records=max_records, max_bytes=max_bytes, wait_ms=wait_ms
        )
        return [EncodedEntry(each.sequence, each.payload) for each in entries]

    async def at(self, position: Position) -> EncodedEntry | None:
        message = await self._jetstream.message(self._stream, {"seq": position})
        if message is None:
            _, last = await self.bounds()
            if position <= last:
                return None
            # A new leader of a cluster has yet to learn what the one before has told of.
            raise UnavailableError("the bus does not show a record yet", where=self._subject)
        server = self._jetstream.connection.server
        self._inspection.check(position, message.payload, message.headers, server)
        return EncodedEntry(position, message.payload)

    async def bounds(self) -> tuple[Position, Position]:
        state = await self._jetstream.state(self._stream)
        last = int(state["last_seq"])
        return (int(state["first_seq"]) if state["messages"] else last + 1), last

    async def trim(self, up_to: Position) -> None:
        _, last = await self.bounds()
        # Purging beyond the end would move the end.
        await self._jetstream.purge(self._stream, min(up_to, last) + 1)


def header_id(dedup_id: str) -> str:
    """A dedup id as a header can bear it; different ids stay different."""
    plain = dedup_id.isascii() and dedup_id.isprintable() and " " not in dedup_id
    if plain and len(dedup_id) <= _MAX_PLAIN_ID_BYTES:
        return f"={dedup_id}"
    return hashlib.sha256(dedup_id.encode("utf-8", "surrogatepass")).hexdigest()
