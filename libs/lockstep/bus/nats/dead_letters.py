"""Dead letters: one stream for all apps, a subject per app and stream."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from lockstep.bus.contract import LETTERS_BYTES, Appended, DeadLetter, StoredDeadLetter
from lockstep.bus.letters import decode_letter, encode_letter, for_all_apps
from lockstep.bus.nats.input_log import header_id
from lockstep.bus.nats.jetstream import JetStream, stream_config
from lockstep.bus.nats.shared_stream import SharedStream
from lockstep.bus.nats.storing import Storing
from lockstep.bus.subjects import DEAD_ALL, DEAD_STREAM, dead_pattern, dead_subject
from lockstep.clock import Randomness


class NatsDeadLetters:
    """Dead letters of all apps."""

    def __init__(self, jetstream: JetStream, randomness: Randomness) -> None:
        self._jetstream = jetstream
        self._randomness = randomness
        self._storing = Storing(jetstream, DEAD_STREAM, DEAD_STREAM)
        limits = jetstream.limits
        self.stream = SharedStream(
            jetstream,
            stream_config(
                DEAD_STREAM,
                DEAD_ALL,
                limits,
                max_bytes=limits.dead_letters_max_bytes,
                forgets=True,
            ),
        )

    async def append(self, letter: DeadLetter, *, dedup_id: str | None = None) -> Appended:
        subject = dead_subject(letter.app, letter.stream)
        # The server's own limit, as what was refused may be what was too large for a log.
        payload = encode_letter(letter, self._jetstream.connection.max_payload_bytes)
        message_id = self._randomness.uuid_hex() if dedup_id is None else header_id(dedup_id)
        publish = partial(
            self._jetstream.publish,
            subject,
            payload,
            {"Nats-Msg-Id": message_id},
            limit_bytes=self._jetstream.limits.dead_letters_max_bytes,
        )
        with for_all_apps(subject):
            stored = await self._storing.stored(lambda: self.stream.served(publish))
        # Without an id of the caller's a duplicate is our own repetition.
        return Appended(stored.sequence, stored.duplicate and dedup_id is not None)

    async def read(
        self,
        app: str,
        stream: str | None = None,
        *,
        after: int = 0,
        max_records: int = 100,
        max_bytes: int = LETTERS_BYTES,
    ) -> Sequence[StoredDeadLetter]:
        pattern = dead_pattern(app, stream)
        found: list[StoredDeadLetter] = []
        size_bytes = 0
        while len(found) < max_records and size_bytes <= max_bytes:
            request = {"seq": after + 1, "next_by_subj": pattern}
            message = await self.stream.served(
                partial(self._jetstream.message, DEAD_STREAM, request)
            )
            if message is None:
                break
            found.append(StoredDeadLetter(message.sequence, decode_letter(message.payload)))
            after = message.sequence
            size_bytes += len(message.payload)
        return found

    async def remove(self, sequences: Sequence[int]) -> int:
        removed = 0
        for sequence in sequences:
            removed += await self._jetstream.delete_message(DEAD_STREAM, sequence)
        return removed
