"""Records to be, on their way into a log: one after the other, several in one append where the bus
can do that, in halves where one is too large."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Final

from lockstep.bus import Appended, Coded, InputLog, RecordTooLargeError
from lockstep.clock import Clock
from lockstep.events import Position
from lockstep.events.codec import Index, send_id_of
from lockstep.telemetry import NO_TRACES, Traces
from lockstep_services.receiver.drafts import Draft
from lockstep_services.receiver.submissions import Owned, Shares, halves_of

TOGETHER_MAX_RECORDS: Final = 64
TOGETHER_MAX_EVENTS: Final = 4_096
"""With so many events, or records, no further record is written at the same time: meanwhile nothing
else of this process goes on, about 10 ms for 64 records of twenty rows."""


class Appender:
    """Appends drafts to one log. `index`: finds the key groups of events, where the app is cut.
    `last_position`: of the last record."""

    def __init__(self, clock: Clock, traces: Traces = NO_TRACES) -> None:
        self._clock = clock
        self._traces = traces
        self._clock_ms = 0
        self.index: Index | None = None
        self.last_position: Position = 0

    async def append(
        self, log: InputLog, drafts: Iterable[Owned], key: str, *, repeatable: bool
    ) -> None:
        """Each record stands behind the one before it; their owners learn where. `key`: what their
        ids begin with. `repeatable`: the sender may send them again under it. LockstepError."""
        number = 0
        for some in _shares(drafts):
            # What this process appends never runs back, whatever its wall clock does.
            self._clock_ms = max(self._clock_ms, self._clock.now_ms())
            ids = [f"{key}#{number + n}" for n in range(len(some))]
            await self._some(log, some, ids, repeatable)
            number += len(some)

    async def _some(
        self, log: InputLog, some: Sequence[Owned], ids: Sequence[str], repeatable: bool
    ) -> None:
        if len(some) > 1:
            traced = {pending.trace for _, shares in some for pending, _ in shares if pending.trace}
            with (
                self._traces.follow("append", sorted(traced)) as span,
                suppress(RecordTooLargeError),
            ):
                coded = [
                    Coded(self._encoded(draft, name, repeatable, span.carried), name)
                    for (draft, _), name in zip(some, ids, strict=True)
                ]
                stored = await log.append_together(coded)
                for (_, shares), appended in zip(some, stored, strict=True):
                    self._stands(shares, appended)
                return
        for owned, name in zip(some, ids, strict=True):
            traced_one = [pending.trace for pending, _ in owned[1] if pending.trace]
            with self._traces.follow("append", traced_one) as span:
                await self._one(log, owned, name, repeatable, span.carried)

    def _stands(self, shares: Shares, appended: Appended) -> None:
        self.last_position = max(self.last_position, appended.position)
        for pending, chunks in shares:
            pending.appended.append(appended)
            pending.stored += chunks

    async def _one(
        self, log: InputLog, owned: Owned, dedup_id: str, repeatable: bool, trace: str
    ) -> None:
        """Appends, in halves when the carrier finds it too large; a single chunk is never cut."""
        try:
            appended = await self._whole(log, owned[0], dedup_id, repeatable, trace)
        except RecordTooLargeError:
            halves = halves_of(owned)
            if halves is None:
                raise
        else:
            self._stands(owned[1], appended)
            return
        for i, half in enumerate(halves):
            await self._one(log, half, f"{dedup_id}.{i}", repeatable, trace)

    async def _whole(
        self, log: InputLog, draft: Draft, dedup_id: str, repeatable: bool, trace: str
    ) -> Appended:
        """With the key groups of its events, if they fit in. Whether a draft is cut does not hang
        on them: a repeated send is cut as it was before."""
        if self.index is not None:
            payload = self._encoded(draft, dedup_id, repeatable, trace)
            with suppress(RecordTooLargeError):
                return await log.append_encoded(payload, dedup_id=dedup_id)
        payload = draft.encoded(self._clock_ms, _send_id(dedup_id, repeatable), trace)
        return await log.append_encoded(payload, dedup_id=dedup_id)

    def _encoded(self, draft: Draft, dedup_id: str, repeatable: bool, trace: str) -> bytes:
        return draft.encoded(self._clock_ms, _send_id(dedup_id, repeatable), trace, self.index)


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


def _send_id(dedup_id: str, repeatable: bool) -> bytes:
    """What its sender may repeat bears its id: the carrier forgets ids after its window, the
    processors remember them for longer."""
    return send_id_of(dedup_id) if repeatable else b""
