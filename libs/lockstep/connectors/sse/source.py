"""@source(type='sse'): the events of a server, which goes on behind the last one that was taken.

The id of the last event whose record is durable stands in the source's note. Whoever connects sends
it as Last-Event-ID. What the server then sends again has the id of the first time, so it counts
once. An identity begins with a mark of the address, as another server has the same ids for other
events. A note from before there were marks has none, and goes on without while the address stays:
what comes again there has to be known. Events without an id cannot be told from each other: they
come as the server sends them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Final

import aiohttp

from lockstep.connectors.sse.connection import Connection, forget, standing_of
from lockstep.connectors.sse.events import Parser, ServerEvent
from lockstep.connectors.sse.reached import Reached
from lockstep.events import UnavailableError
from lockstep.events.unreached import why_unreached
from lockstep.siddhiql.parts import parts
from lockstep.sources import Place, Received, Source

EVENT_MAX_BYTES: Final = 1_048_576
NOTE_EVERY_MS: Final = 1_000
MARK_CHARACTERS: Final = 12


class SseSource(Source):
    """Options: `receiver.url`, `event.types`, `resume` (true), `last.event.id`,
    `max.event.bytes` … and those of `Connection`."""

    def __init__(self, options: Mapping[str, str], place: Place) -> None:
        self._options = options
        self._place = place
        self._url = options["receiver.url"]
        self._types = frozenset(parts(options.get("event.types", "")))
        self._resumes = options.get("resume", "true").strip().lower() == "true"
        self._reached = Reached("")
        self._noted = ""
        self._mark = f"{self._address[:MARK_CHARACTERS]}/"
        self._note_due_ms = 0
        self._ready: deque[ServerEvent] = deque()
        self._parser = Parser("", 0)
        self._standing = standing_of(place, options)
        self._connection: Connection | None = None
        self._error: Exception | None = None

    async def read(self, *, max_messages: int, wait_ms: int) -> Sequence[Received]:
        await self._settle()
        if self._connection is None:
            await self._may_connect(wait_ms)
        try:
            if self._connection is None:
                self._connection = Connection(self._options, self._standing.token)
                await self._open(self._connection)
            return await self._taken(self._connection, max_messages, wait_ms)
        except (aiohttp.ClientError, OSError) as error:
            why = str(error) if type(error) is OSError else why_unreached(error)
            self._failed(f"{self._url}: {why}")
            raise OSError(self._standing.pause.reason) from error
        except UnavailableError as error:
            self._failed(str(error))
            raise

    def _failed(self, reason: str) -> None:
        self._standing.pause.failed(self._place.clock.monotonic_ms(), reason)

    async def _may_connect(self, wait_ms: int) -> None:
        """OSError with the last reason while the pause is not over."""
        clock, pause = self._place.clock, self._standing.pause
        rest_ms = pause.rest_ms(clock.monotonic_ms())
        if rest_ms:
            await clock.sleep_ms(min(rest_ms, wait_ms))
            if pause.rest_ms(clock.monotonic_ms()):
                raise OSError(pause.reason)

    async def _open(self, connection: Connection) -> None:
        last_id = await self._begin_at()
        await connection.open(last_id)
        self._reached, self._noted = Reached(last_id), last_id
        max_bytes = int(self._options.get("max.event.bytes", EVENT_MAX_BYTES))
        self._parser = Parser(last_id, max_bytes)
        self._standing.pause.connected()

    async def _begin_at(self) -> str:
        """The id in the note, where it is of this address; else the one that the options give."""
        if not self._resumes:
            return ""
        try:
            found = json.loads(await self._place.note.get() or "{}")
        except ValueError:
            found = {}
        if isinstance(found, dict) and found.get("of") == self._address:
            self._mark = str(found.get("mark", ""))
            return str(found.get("id", ""))
        return self._options.get("last.event.id", "")

    @property
    def _address(self) -> str:
        """Stands for the url, which may hold a secret."""
        return hashlib.sha256(self._url.encode()).hexdigest()[:24]

    async def _settle(self, *, at_once: bool = False) -> None:
        """Notes what is durable, at most once in NOTE_EVERY_MS."""
        last_id, now_ms = self._reached.last_id, self._place.clock.monotonic_ms()
        if last_id == self._noted or not self._resumes:
            return
        if at_once or now_ms >= self._note_due_ms:
            noted = {"of": self._address, "id": last_id, "mark": self._mark}
            await self._place.note.put(json.dumps(noted))
            self._noted, self._note_due_ms = last_id, now_ms + NOTE_EVERY_MS

    async def _taken(
        self, connection: Connection, max_messages: int, wait_ms: int
    ) -> list[Received]:
        """What has come. What ends the connection is told when nothing is left from before it."""
        found: list[Received] = []
        while len(found) < max_messages:
            if self._ready:
                message = self._message(self._ready.popleft())
                found += [] if message is None else [message]
                continue
            if self._error is not None:
                if not found:
                    raise self._error
                break
            try:
                chunk = await connection.more(0 if found else wait_ms)
                if chunk is None:
                    break
                self._parse(chunk)
            except (aiohttp.ClientError, OSError) as error:
                self._error = error
        return found

    def _parse(self, chunk: bytes) -> None:
        for event in self._parser.feed(chunk):
            self._ready.append(event)
        if self._parser.retry_ms is not None:
            self._standing.pause.wished(self._parser.retry_ms)

    def _message(self, event: ServerEvent) -> Received | None:
        """None for what nobody wants; whoever goes on goes on behind it."""
        under_way = self._reached.begin(event.last_id)
        if event.data is None or (self._types and event.type not in self._types):
            under_way.is_done = True
            return None

        async def acknowledge() -> None:
            under_way.is_done = True

        properties = {"event": event.type, "id": event.last_id}
        has_identity = self._resumes and event.id is not None
        identity = f"{self._mark}{event.id}" if has_identity else None
        return Received(event.data, properties, identity, acknowledge, event.refused)

    async def close(self) -> Sequence[Received]:
        """What has no id does not come again by itself."""
        with contextlib.suppress(UnavailableError):  # what comes again is known
            await self._settle(at_once=True)
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()
        if not self._standing.pause.has_failed:
            forget(self._place)
        left = [self._message(event) for event in self._ready if event.id is None]
        self._ready.clear()
        return [one for one in left if one is not None]
