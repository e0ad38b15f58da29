"""The bus clients' front door in memory."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

import msgspec

from lockstep.bus.contract import IngressMessage
from lockstep.bus.errors import RecordTooLargeError
from lockstep.bus.memory.carrier import MemoryCarrier, Stored, StoredLog
from lockstep.bus.memory.link import Link
from lockstep.bus.subjects import ID_HEADER, ingress_names, ingress_subject

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(tuple[dict[str, str], bytes])


class MemoryIngress:
    """Shared by all bus objects of one carrier."""

    def __init__(self, log: StoredLog, carrier: MemoryCarrier, link: Link) -> None:
        self._log = log
        self._carrier = carrier
        self._link = link

    async def publish(
        self, app: str, stream: str, payload: bytes, *, headers: Mapping[str, str] | None = None
    ) -> None:
        limit_bytes = self._carrier.limits.max_message_bytes
        subject = ingress_subject(app, stream)
        if len(payload) > limit_bytes:
            raise RecordTooLargeError(len(payload), limit_bytes, where=subject)
        self._link.send()
        given = dict(headers or {})
        self._log.append(subject, _encoder.encode((given, payload)), given.get(ID_HEADER))
        self._link.answer()

    async def read(self, *, max_messages: int, wait_ms: int) -> Sequence[IngressMessage]:
        clock, due = self._carrier.clock, self._carrier.ingress_due
        deadline_ms = clock.monotonic_ms() + wait_ms
        while True:
            self._link.send()
            now_ms = clock.monotonic_ms()
            everything = self._log.behind(0, max_records=sys.maxsize, max_bytes=sys.maxsize)
            free = [each for each in everything if due.get(each.position, now_ms) <= now_ms]
            if free or now_ms >= deadline_ms:
                break
            waking_ms = min([deadline_ms, *due.values()])
            await self._log.changed.wait(clock, max(1, waking_ms - now_ms))
        taken = free[:max_messages]
        for stored in taken:
            due[stored.position] = now_ms + self._carrier.limits.ingress_redelivery_ms
        return [self._message(stored) for stored in taken]

    def _message(self, stored: Stored) -> IngressMessage:
        headers, payload = _decoder.decode(stored.payload)
        app, stream = ingress_names(stored.subject)

        async def acknowledge() -> None:
            self._link.send()
            self._log.remove(stored.position)
            self._carrier.ingress_due.pop(stored.position, None)

        message_id = headers.get(ID_HEADER) or f"memory-{stored.position}"
        return IngressMessage(app, stream, payload, headers, message_id, acknowledge)
