"""An output log: one JetStream stream that takes a record only behind the expected sequence.

Every message bears in its headers where the log ends with it (epoch, last identity, generation), so
the last message alone tells the tail, and who sent it, so a lost acknowledgement can be made good.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lockstep.bus.contract import Accepted, Held, OutputEntry, OutputTail, Refused
from lockstep.bus.errors import TailLostError
from lockstep.bus.nats.bells import Bells
from lockstep.bus.nats.checksum import CHECKSUM, checksum
from lockstep.bus.nats.errors import WRONG_LAST_SEQUENCE, ApiError
from lockstep.bus.nats.jetstream import JetStream, RawMessage
from lockstep.bus.nats.reader import LogReader
from lockstep.bus.nats.room import Room
from lockstep.bus.nats.storing import Storing
from lockstep.bus.tails import (
    generation_of_text,
    generation_text,
    id_of_text,
    id_text,
    may_follow,
    pieces,
    tail_after,
)
from lockstep.clock import Randomness
from lockstep.events import ClaimRecord, OutputRecord, UnavailableError
from lockstep.events.codec import decode_output

_EPOCH: Final = "Lockstep-Epoch"
_LAST_ID: Final = "Lockstep-Last-Id"
_GENERATION: Final = "Lockstep-Generation"
_APPEND: Final = "Lockstep-Append"
_EMPTY: Final = OutputTail(0, 0, None)


class NatsOutputLog:
    """One opened output log."""

    def __init__(
        self,
        jetstream: JetStream,
        subject: str,
        stream: str,
        randomness: Randomness,
        bells: Bells,
    ) -> None:
        self._jetstream = jetstream
        self._subject = subject
        self._stream = stream
        self._randomness = randomness
        self._reader = LogReader(jetstream, stream, randomness, bells)
        self._room = Room(jetstream, stream, subject)
        self._storing = Storing(jetstream, subject, stream)
        self._known = _EMPTY  # the tail when we last saw it; only used where the log checks it

    async def tail(self) -> OutputTail:
        message = await self._last_message()
        self._known = _EMPTY if message is None else _tail_of(message)
        return self._known

    async def append(
        self, record: OutputRecord | ClaimRecord, *, expected_sequence: int
    ) -> Accepted | Refused:
        limits = self._jetstream.limits
        limit_bytes = min(limits.max_message_bytes, self._jetstream.connection.max_payload_bytes)
        parts = list(pieces(record, limit_bytes, self._subject))
        for part, payload in parts:
            tail = self._known
            if tail.sequence != expected_sequence:
                tail = await self.tail()
            if tail.sequence != expected_sequence or not may_follow(tail, part):
                return Refused(await self.tail())
            await self._room.take(len(payload))
            ends = tail_after(tail, part, expected_sequence + 1)
            outcome = await self._append(payload, ends)
            if isinstance(outcome, Refused):
                return outcome
            expected_sequence = outcome.sequence
        return Accepted(expected_sequence)

    async def read(
        self, after: int, *, max_records: int, max_bytes: int, wait_ms: int
    ) -> Sequence[OutputEntry]:
        entries = await self._reader.read(
            after, max_records=max_records, max_bytes=max_bytes, wait_ms=wait_ms
        )
        return [OutputEntry(each.sequence, decode_output(each.payload)) for each in entries]

    async def held(self) -> Held:
        state = await self._jetstream.state(self._stream)
        return Held(int(state["messages"]), int(state["bytes"]))

    async def trim(self, up_to: int) -> None:
        last = int((await self._jetstream.state(self._stream))["last_seq"])
        await self._jetstream.purge(self._stream, min(up_to, last - 1) + 1)

    async def _append(self, payload: bytes, ends: OutputTail) -> Accepted | Refused:
        ours = self._randomness.uuid_hex()
        headers = {
            "Nats-Expected-Stream": self._stream,
            "Nats-Expected-Last-Sequence": str(ends.sequence - 1),
            _EPOCH: str(ends.epoch),
            _LAST_ID: id_text(ends.last_id),
            _GENERATION: generation_text(ends.generation),
            _APPEND: ours,
            CHECKSUM: checksum(payload),
        }
        limit_bytes = self._jetstream.limits.max_log_bytes

        async def attempt() -> Accepted | Refused:
            try:
                stored = await self._jetstream.publish(
                    self._subject, payload, headers, limit_bytes=limit_bytes
                )
            except ApiError as error:
                if error.code not in WRONG_LAST_SEQUENCE:
                    raise
                return await self._after_refusal(ours, ends.sequence - 1)
            self._known = ends
            return Accepted(stored.sequence)

        return await self._storing.stored(attempt)

    async def _after_refusal(self, ours: str, expected_sequence: int) -> Accepted | Refused:
        # Our own first attempt may have come through with its acknowledgement lost. A claim of
        # somebody else on top of it makes that a refusal, and the tail tells what stands.
        message = await self._last_message()
        tail = _EMPTY if message is None else _tail_of(message)
        if tail.sequence <= expected_sequence:
            # A new leader of a cluster counts what its predecessor proposed before it shows it, or
            # before it drops it. A refusal stands only once something stands in the way.
            raise UnavailableError(
                "the bus has not settled what follows the expected sequence",
                where=self._subject,
            )
        self._known = tail
        if message is not None and message.headers.get(_APPEND) == ours:
            return Accepted(message.sequence)
        return Refused(tail)

    async def _last_message(self) -> RawMessage | None:
        last = {"last_by_subj": self._subject}
        message = await self._jetstream.message(self._stream, last)
        if message is not None or not (await self._jetstream.state(self._stream))["last_seq"]:
            return message
        # The first record may have come between the two looks.
        message = await self._jetstream.message(self._stream, last)
        if message is None:
            raise TailLostError(
                "the last record of the output log was deleted, so what was published is unknown",
                where=self._subject,
                hint="undeploy the app with its logs, or restore the bus server's data",
            )
        return message


def _tail_of(message: RawMessage) -> OutputTail:
    headers = message.headers
    return OutputTail(
        message.sequence,
        int(headers[_EPOCH]),
        id_of_text(headers[_LAST_ID]),
        # What an earlier release wrote bears none.
        generation_of_text(headers.get(_GENERATION, "")),
    )
