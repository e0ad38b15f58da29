"""The bus server of the simulation: the memory carrier, with everything it ever took on record."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from lockstep.bus.contract import Appended, LogName
from lockstep.bus.memory.carrier import MemoryCarrier, Stored, StoredLog
from lockstep.bus.subjects import log_name, log_patterns
from lockstep.events import OutputLogRecord, Position
from lockstep.events.codec import EncodedEntry, decode_output
from tests.simulation.loop import VirtualLoop
from tests.simulation.network import Answer


@dataclass(frozen=True)
class Written:
    """One message as it was taken, by whom and when."""

    stored: Stored
    writer: str
    at_ms: int
    dedup_id: str | None

    @cached_property
    def output(self) -> OutputLogRecord:
        """What it says, on an output log."""
        return decode_output(self.stored.payload)


class RecordedLog(StoredLog):
    """A log that forgets nothing in `history`; `trims` tells what was asked to go, and when."""

    def __init__(self, name: str, carrier: SimCarrier, **limits: Any) -> None:
        super().__init__(name, carrier.clock, **limits)
        self._carrier = carrier
        self.history: list[Written] = []
        self.first_kept: Position = 1
        self._watchers: list[tuple[Position, int, int, Answer]] = []

    def append(self, subject: str, payload: bytes, dedup_id: str | None = None) -> Appended:
        """As it is, and on record; whoever waits for it is answered."""
        appended = super().append(subject, payload, dedup_id)
        if not appended.duplicate:
            now_ms = self._carrier.loop.now_ms
            by = self._carrier.writer
            self.history.append(Written(self.entries[-1], by, now_ms, dedup_id))
            watchers, self._watchers = self._watchers, []
            for after, max_records, max_bytes, answer in watchers:
                answer(self.behind(after, max_records=max_records, max_bytes=max_bytes))
        return appended

    def trim(self, up_to: Position) -> None:
        """Checks that nobody needs it any more, and forgets."""
        if up_to >= self.first_kept:
            self._carrier.on_trim(self, up_to)
            self.first_kept = up_to + 1
        super().trim(up_to)

    def watch(
        self, after: Position, max_records: int, max_bytes: int, wait_ms: int, answer: Answer
    ) -> None:
        """Answers with what stands behind `after`, at the latest when the time is up."""
        found = self.behind(after, max_records=max_records, max_bytes=max_bytes)
        if found or wait_ms <= 0:
            answer(found)
            return
        watcher = (after, max_records, max_bytes, answer)
        self._watchers.append(watcher)

        def time_is_up() -> None:
            if watcher in self._watchers:
                self._watchers.remove(watcher)
                answer([])

        self._carrier.loop.call_later(wait_ms / 1000, time_is_up)

    def encoded(self, behind: Position = 0, up_to: Position | None = None) -> list[EncodedEntry]:
        """All there ever was, or what of it stands there."""
        found = self.history[behind:up_to]
        return [EncodedEntry(one.stored.position, one.stored.payload) for one in found]


@dataclass(kw_only=True)
class SimCarrier(MemoryCarrier):
    """`writer` is the host whose request is being served."""

    loop: VirtualLoop
    writer: str = ""
    trim_faults: list[str] = field(default_factory=list)
    may_trim: Any = None
    removed: dict[str, list[RecordedLog]] = field(default_factory=dict)

    def names_of(self, app: str) -> list[LogName]:
        """The logs there are of an app."""
        return [log_name(s) for pattern in log_patterns(app) for s in self.subjects(pattern)]

    def all_of(self, subject: str) -> list[RecordedLog]:
        """All logs of that name: those that were removed, and the one that is there."""
        there = [self.recorded(subject)] if self.has(subject) else []
        return [*self.removed.get(subject, ()), *there]

    def remove(self, subject: str) -> None:
        """Forgets a log; the record of it stays."""
        if subject in self._logs:
            self.removed.setdefault(subject, []).append(self.recorded(subject))
        super().remove(subject)

    def log(self, subject: str, *, max_bytes: int | None = None) -> StoredLog:
        """The log of that name, made when missing."""
        if subject not in self._logs:
            self._logs[subject] = RecordedLog(
                subject,
                self,
                max_bytes=max_bytes or self.limits.max_log_bytes,
                dedup_window_ms=self.limits.dedup_window_ms,
            )
        return self._logs[subject]

    def recorded(self, subject: str) -> RecordedLog:
        """The same, as what it is."""
        log = self.log(subject)
        assert isinstance(log, RecordedLog)
        return log

    def on_trim(self, log: RecordedLog, up_to: Position) -> None:
        """Asks the checker."""
        if self.may_trim is not None:
            fault = self.may_trim(log.name, up_to)
            if fault is not None:
                self.trim_faults.append(fault)
