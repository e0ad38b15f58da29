"""Carries the outbox to the output log under the permit, dead letters first.

Dead letters of a slice are durable before its rows are published. Every append carries the sequence
that the permit expects; what the log answers goes to the leadership protocol.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from lockstep.bus import (
    Accepted,
    DeadLetter,
    LogFullError,
    NoRoomError,
    RecordTooLargeError,
)
from lockstep.events import OutputRecord, OutputRow, UnavailableError
from lockstep.events.outputs import in_columns, last_id
from lockstep.execute.contract import EventFault
from lockstep.frame import all_of, wait_set
from lockstep.leader.protocol import Permit, facts
from lockstep.telemetry import Seldom
from lockstep_services.processor.replica.leading import Lead, Published
from lockstep_services.processor.replica.replica import Trouble
from lockstep_services.processor.replica.running import Running
from lockstep_services.processor.replica.site import Site

MAX_ROWS: Final = 32_768
BURY_EVERY_MS: Final = 60_000
"""It is rung for when there is something: this is for what nobody foresaw."""
BURY_AT_A_TIME: Final = 64
PAUSE_MS: Final = 100
FULL_PAUSE_MS: Final = 1_000
"""Where there is no room: somebody has to make some first."""
FLUSH_POLL_MS: Final = 5


class Publishing:
    """`publish` answers one instruction of the protocol; `bury` runs in a task of its own."""

    def __init__(
        self, site: Site, running: Running, lead: Lead, published: Published, trouble: Trouble
    ) -> None:
        self._site = site
        self._running = running
        self._lead = lead
        self._to_publish = published.to_publish
        self._passing = published.passing
        self._published = published
        self._recent, self._rows = published.recent, published.rows
        self._trouble = trouble
        self._clock = site.clock
        self._log = site.log
        self._max_rows = MAX_ROWS
        self._burying = asyncio.Lock()
        self._seldom = Seldom()

    async def publish(self, permit: Permit) -> facts.Fact:
        """Appends the first held rows; gives what came of it."""
        try:
            await self.bury_due()
            return await self._append(permit, self._running.engine.outbox.next_rows(self._max_rows))
        except UnavailableError as error:
            self._tell(error)
            is_full = isinstance(error, LogFullError | NoRoomError)
            await self._clock.sleep_ms(FULL_PAUSE_MS if is_full else PAUSE_MS)
            return facts.AppendUnknown()

    async def bury(self) -> None:
        """Until cancelled: dead letters that no row waits for become durable while this leads."""
        while True:
            await wait_set(self._to_publish, self._clock, BURY_EVERY_MS)
            self._to_publish.clear()
            try:
                if self._lead.is_active:
                    await self.bury_due()
            except UnavailableError as error:
                self._trouble.text = str(error)
                self._to_publish.set()
                await self._clock.sleep_ms(PAUSE_MS)

    async def bury_due(self) -> None:
        """Dead letters that stand in front of the next rows."""
        async with self._burying:
            outbox = self._running.engine.outbox
            while faults := outbox.next_faults():
                await self._bury_all(faults)
                outbox.faults_done(faults)

    async def flush(self, limit_ms: int) -> bool:
        """Waits until nothing is held back; False when the time is up or the lead is gone."""
        deadline_ms = self._clock.monotonic_ms() + limit_ms
        while self._lead.is_active and self._clock.monotonic_ms() < deadline_ms:
            if self._running.engine.outbox.is_empty:
                return True
            self._to_publish.set()
            await self._clock.sleep_ms(FLUSH_POLL_MS)
        return self._running.engine.outbox.is_empty and self._lead.is_active

    def _tell(self, error: UnavailableError | None) -> None:
        """What keeps rows back, to the status; to the log when it comes, then once a minute, as it
        is met again and again, and once when it is over."""
        self._trouble.text = None if error is None else str(error)
        if error is None:
            if self._seldom.over():
                self._log.info("publishes again", **self._site.labels)
            return
        if self._seldom.is_due((type(error), error.where), self._clock.monotonic_ms()):
            self._log.warning("cannot publish", error=str(error), **self._site.labels)

    async def _append(self, permit: Permit, rows: Sequence[OutputRow]) -> facts.Fact:
        if not rows:
            # Trimmed meanwhile: the log knows more than we were told, so let it be read.
            return facts.AppendUnknown()
        last = last_id(rows)
        passage = self._passing.published(last.position)
        span = self._site.traces.follow("publish", passage.traces, **self._site.labels)
        settled = self._running.engine.outbox.settled_with(last)
        record = OutputRecord(permit.epoch, rows, passage.door_ms, span.carried, settled)
        try:
            with span:
                outcome = await self._site.output.append(
                    record, expected_sequence=permit.expected_sequence
                )
        except RecordTooLargeError as error:
            return await self._too_large(permit, rows, error)
        if isinstance(outcome, Accepted):
            self._tell(None)
            self._published.told = max(self._published.told, settled)
            self._site.count("lockstep_processor_outputs_total", len(rows))
            took_ms = self._site.reached("published", passage.door_ms)
            now_ms = self._clock.monotonic_ms()
            self._recent.passed(now_ms, len(rows), took_ms)
            for each in in_columns(rows).columns:
                self._rows.passed(now_ms, each.stream, len(each))
            return facts.AppendAccepted(outcome.sequence, last)
        tail = outcome.tail
        if tail.epoch != permit.epoch:
            self._site.count("lockstep_processor_fenced_total")
        return facts.AppendRefused(facts.Tail(tail.sequence, tail.epoch, tail.last_id))

    async def _too_large(
        self, permit: Permit, rows: Sequence[OutputRow], error: RecordTooLargeError
    ) -> facts.Fact:
        if len(rows) > 1:
            self._max_rows = max(1, len(rows) // 2)
            return await self._append(permit, rows[: self._max_rows])
        # A row that no record can hold: put aside like any other event that cannot go on. To the
        # protocol it counts as published, or it would be tried for ever.
        row = rows[0]
        rest = [(row.timestamp_ms, row.data)]
        letter = self._letter(row.stream, row.id.position, str(error), rest)
        dedup_id = f"{self._place}/{row.id.position}.{row.id.ordinal}/large"
        await self._site.world.bus.dead_letters.append(letter, dedup_id=dedup_id)
        self._max_rows = MAX_ROWS
        return facts.AppendRefused(facts.Tail(permit.expected_sequence, permit.epoch, row.id))

    async def _bury_all(self, faults: Sequence[EventFault]) -> None:
        """In order, and some at a time: a slice may bring thousands, and rows wait for them."""
        counts: dict[int, int] = {}
        numbered = []
        for fault in faults:
            ordinal = counts[fault.position] = counts.get(fault.position, -1) + 1
            numbered.append((fault, ordinal))
        for first in range(0, len(numbered), BURY_AT_A_TIME):
            some = numbered[first : first + BURY_AT_A_TIME]
            await all_of(self._bury_one(fault, ordinal) for fault, ordinal in some)

    async def _bury_one(self, fault: EventFault, ordinal: int) -> None:
        """`ordinal`: its number among those of its position."""
        reason = fault.reason if fault.query is None else f"query {fault.query}: {fault.reason}"
        rows = [(event.timestamp_ms, event.data) for event in fault.events]
        letter = self._letter(fault.stream, fault.position, reason, rows)
        stored = await self._site.world.bus.dead_letters.append(
            letter, dedup_id=f"{self._place}/{fault.position}/{ordinal}"
        )
        if stored.duplicate:  # whoever led before has stored and counted it
            return
        self._site.metrics.count(
            "lockstep_dead_letters_total",
            app=self._site.name.app,
            stream=fault.stream,
            reason="query",
        )

    def _letter(
        self,
        stream: str,
        position: int,
        reason: str,
        rows: Sequence[tuple[int, tuple[Any, ...]]],
    ) -> DeadLetter:
        """The events as a receiver would take them again: one chunk of JSON objects."""
        schema = self._running.engine.plan.schemas.get(stream)
        events: list[Any] = []
        for timestamp_ms, data in rows:
            if schema is not None and len(schema.names) == len(data):
                named = dict(zip(schema.names, data, strict=True))
                events.append({**named, "_timestamp": timestamp_ms})
            else:
                events.append(list(data))
        return DeadLetter(
            app=self._site.name.app,
            stream=stream,
            reason=reason,
            payload=msgspec.json.encode(events, enc_hook=str),
            content_type="application/json",
            clock_ms=self._clock.now_ms(),
            origin=f"processor/{self._site.node}",
            position=position,
        )

    @property
    def _place(self) -> str:
        """For ids of dead letters. Logs that began later count from 1 again."""
        app, group, partition = self._site.name.key
        return f"{app}/{group}/{partition}"
