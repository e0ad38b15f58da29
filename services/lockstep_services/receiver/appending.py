"""Records to be, on their way into a log: one after the other, several in one append where the bus
can do that, in halves where one is too large."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from lockstep.bus import Appended, Coded, InputLog, RecordTooLargeError
from lockstep.clock import Clock
from lockstep.events import Position
from lockstep.events.codec import EventsHeader, Index, send_id_of, send_ids_in
from lockstep.telemetry import NO_TRACES, Traces
from lockstep_services.receiver.drafts import Draft
from lockstep_services.receiver.submissions import Owned, Shares, halves_of

TOGETHER_MAX_RECORDS: Final = 64
TOGETHER_MAX_EVENTS: Final = 4_096
"""With so many events, or records, no further record is written at the same time: meanwhile nothing
else of this process goes on, about 10 ms for 64 records of twenty rows."""


@dataclass(slots=True)
class SendIds:
    """By what the records of one send are known. The carrier remembers its ids for its window, the
    processors theirs for longer.

    `repeatable`: the sender may send them again under `key`. `stream`: to which the key belongs;
    empty: to the log. Of a stream, the key may stand for a send to another one, too, or nobody
    knows any more for which (`is_taken`): this one has ids of its own. Before that it has those
    without the stream, as of releases that knew no others: what was sent to one of them is found
    when it comes again here, and the other way round.

    `life`: behind which position the app began anew, where what the key stood for is of before.
    """

    key: str
    repeatable: bool
    stream: str = ""
    is_taken: bool = False
    life: Position = 0

    def dedup_id(self, number: str) -> str:
        """The carrier's, of a record by its number in the send."""
        name = self._name(number, self.stream if self.is_taken else "")
        return f"{name}\n@{self.life}" if self.life else name

    def send_id(self, number: str) -> bytes:
        """The processors'; none of what nobody repeats."""
        return send_id_of(self._name(number, self.stream)) if self.repeatable else b""

    def _name(self, number: str, stream: str) -> str:
        """Keys of requests hold no line ends, so one with a stream is nobody else's."""
        return f"{stream}\n{self.key}#{number}" if stream else f"{self.key}#{number}"


class Appender:
    """Appends drafts to one log. `index`: finds the key groups of events, where the app is cut.
    `begins_behind`: the app's state holds nothing of what stands up to there: it was undeployed
    and began anew. `last_position`: of the last record."""

    def __init__(self, clock: Clock, traces: Traces = NO_TRACES) -> None:
        self._clock = clock
        self._traces = traces
        self._clock_ms = 0
        self.index: Index | None = None
        self.begins_behind: Position = 0
        self.last_position: Position = 0

    async def append(self, log: InputLog, drafts: Iterable[Owned], ids: SendIds) -> None:
        """Each record stands behind the one before it; their owners learn where. LockstepError."""
        number = 0
        for some in _shares(drafts):
            # What this process appends never runs back, whatever its wall clock does.
            self._clock_ms = max(self._clock_ms, self._clock.now_ms())
            # The first one finds out whether the key stands for a send to another stream or life.
            asks = ids.stream or (ids.repeatable and self.begins_behind)
            alone = 1 if asks and not number else 0
            for part in (some[:alone], some[alone:]):
                if part:
                    await self._some(log, part, ids, number)
                number += len(part)

    async def _some(self, log: InputLog, some: Sequence[Owned], ids: SendIds, number: int) -> None:
        numbers = [str(number + n) for n in range(len(some))]
        if len(some) > 1:
            traced = {pending.trace for _, shares in some for pending, _ in shares if pending.trace}
            with (
                self._traces.follow("append", sorted(traced)) as span,
                suppress(RecordTooLargeError),
            ):
                coded = [
                    Coded(self._encoded(draft, ids.send_id(each), span.carried), ids.dedup_id(each))
                    for (draft, _), each in zip(some, numbers, strict=True)
                ]
                stored = await log.append_together(coded)
                for (_, shares), appended in zip(some, stored, strict=True):
                    self._stands(shares, appended)
                return
        for owned, each in zip(some, numbers, strict=True):
            traced_one = [pending.trace for pending, _ in owned[1] if pending.trace]
            with self._traces.follow("append", traced_one) as span:
                await self._one(log, owned, ids, each, span.carried)

    def _stands(self, shares: Shares, appended: Appended) -> None:
        self.last_position = max(self.last_position, appended.position)
        for pending, chunks in shares:
            pending.appended.append(appended)
            pending.stored += chunks

    async def _one(
        self, log: InputLog, owned: Owned, ids: SendIds, number: str, trace: str
    ) -> None:
        """Appends, in halves when the carrier finds it too large; a single chunk is never cut."""
        try:
            appended = await self._whole(log, owned[0], ids, number, trace)
        except RecordTooLargeError:
            halves = halves_of(owned)
            if halves is None:
                raise
        else:
            if appended.duplicate and appended.position <= self.begins_behind and not ids.life:
                ids.life = self.begins_behind
                appended = await self._whole(log, owned[0], ids, number, trace)
            if appended.duplicate and await _is_of_another(log, appended, ids, number):
                ids.is_taken = True
                appended = await self._whole(log, owned[0], ids, number, trace)
            self._stands(owned[1], appended)
            return
        for i, half in enumerate(halves):
            await self._one(log, half, ids, f"{number}.{i}", trace)

    async def _whole(
        self, log: InputLog, draft: Draft, ids: SendIds, number: str, trace: str
    ) -> Appended:
        """With the key groups of its events, if they fit in. Whether a draft is cut does not hang
        on them: a repeated send is cut as it was before."""
        dedup_id, send_id = ids.dedup_id(number), ids.send_id(number)
        if self.index is not None:
            payload = self._encoded(draft, send_id, trace)
            with suppress(RecordTooLargeError):
                return await log.append_encoded(payload, dedup_id=dedup_id)
        payload = draft.encoded(self._clock_ms, send_id, trace)
        return await log.append_encoded(payload, dedup_id=dedup_id)

    def _encoded(self, draft: Draft, send_id: bytes, trace: str) -> bytes:
        return draft.encoded(self._clock_ms, send_id, trace, self.index)


async def _is_of_another(log: InputLog, appended: Appended, ids: SendIds, number: str) -> bool:
    """Whether the record that had the id before is, or may be, of a send to another stream.
    UnavailableError when it cannot be read."""
    if not ids.stream or ids.is_taken:
        return False
    found = await log.at(appended.position)
    if found is None:
        # The log has forgotten it. To take it for our own might lose this send; if it was, those
        # who fold the log know this one by its `send_id`.
        return True
    header = found.header
    if not isinstance(header, EventsHeader):
        return False
    is_own = ids.send_id(number) in send_ids_in(header)
    return not is_own and header.stream != ids.stream


def _shares(drafts: Iterable[Owned]) -> Iterator[Sequence[Owned]]:
    some: list[Owned] = []
    events = 0
    for owned in drafts:
        some.append(owned)
        events += owned[0].event_count
        if len(some) == TOGETHER_MAX_RECORDS or events >= TOGETHER_MAX_EVENTS:
            yield some
            some, events = [], 0
    if some:
        yield some
