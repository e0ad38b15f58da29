"""@source(type='redis-stream'): the entries of a stream, read by one receiver at a time.

A consumer group keeps the place, and its one consumer what was taken and is not durable yet. Who
reads on has the same name, and so begins with what its predecessor died with: nobody waits until
that is idle, and the order stays. Two that believe in their lease share the new entries.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from typing import Final

from lockstep.connectors.redis_stream import ALL_FIELDS, PAYLOAD
from lockstep.connectors.redis_stream.server import Entry, NoGroupError, StreamServer
from lockstep.sources import Place, Received, Source

CONSUMER: Final = "lockstep"
NEW: Final = ">"
BEGINNING: Final = "0"
END: Final = "$"


class RedisStreamSource(Source):
    """Options: `url`, `stream.name`, `group.name`, `start.from` (beginning), `payload.field` …"""

    def __init__(self, options: Mapping[str, str], place: Place) -> None:
        self._server = StreamServer(options)
        self._stream = options["stream.name"].strip()
        self._group = options.get("group.name") or f"lockstep.{place.app}.{place.stream}"
        self._start = END if options.get("start.from", "").strip().lower() == "end" else BEGINNING
        self._payload = options.get("payload.field", PAYLOAD)
        self._identity = options.get("identity.field")
        self._removes = options.get("delete.after.process", "").strip().lower() == "true"
        self._after = BEGINNING
        self._last = ""
        self._is_ready = False
        self._durable: list[bytes] = []

    async def read(self, *, max_messages: int, wait_ms: int) -> Sequence[Received]:
        if not self._is_ready:
            await self._server.make_group(self._stream, self._group, self._start)
            self._is_ready = True
        try:
            await self._settle()
            found = await self._taken(max_messages, max(1, wait_ms))
        except NoGroupError:
            # Somebody has removed it. What was read since this one began need not come again.
            start = self._last or self._start
            await self._server.make_group(self._stream, self._group, start)
            return ()
        if found:
            self._last = found[-1][0].decode()
        removed = [mark for mark, fields in found if fields is None]
        self._durable += removed  # the stream has forgotten them: nobody can read them any more
        return [self._received(entry) for entry in found if entry[1] is not None]

    async def _taken(self, count: int, wait_ms: int) -> Sequence[Entry]:
        """First what is left from before, then what is new."""
        if self._after != NEW:
            names = (self._stream, self._group, CONSUMER)
            found = await self._server.taken(*names, self._after, count=count)
            self._after = found[-1][0].decode() if found else NEW
            if found:
                return found
        return await self._server.taken(
            self._stream, self._group, CONSUMER, NEW, count=count, wait_ms=wait_ms
        )

    async def _settle(self) -> None:
        """What has become durable since the last read."""
        if self._durable:
            count = len(self._durable)
            await self._server.settle(
                self._stream, self._group, self._durable[:count], is_removed=self._removes
            )
            del self._durable[:count]

    async def close(self) -> Sequence[Received]:
        with contextlib.suppress(OSError):  # what it does not hear of comes again, and is known
            await self._settle()
        await self._server.close()
        self._is_ready, self._after = False, BEGINNING
        return ()

    def _received(self, entry: Entry) -> Received:
        mark, given = entry
        fields = {_text(name): value for name, value in (given or {}).items()}
        texts = {name: _text(value) for name, value in fields.items()}
        if self._payload == ALL_FIELDS:
            payload = json.dumps(texts, ensure_ascii=False).encode()
        else:
            payload = fields.get(self._payload, b"")
            texts.pop(self._payload, None)

        async def acknowledge() -> None:
            self._durable.append(mark)

        identity = texts.get(self._identity) if self._identity else None
        properties = {**texts, "entry.id": mark.decode(), "stream.name": self._stream}
        return Received(payload, properties, identity or mark.decode(), acknowledge)


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")
