"""Events that go over a limit are undone and left out: the rest of their slice is folded without
them, from the state before them (semantics 18)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Final, Protocol, TypeVar

import numpy as np

from lockstep.events import Event, EventsRecord, InputEvent, LogEntry, Position, TickRecord
from lockstep.events.bundles import Bundle
from lockstep.events.codec import EncodedEntry, encode_bundle, encode_columns, encode_record
from lockstep.events.columns import EventColumns
from lockstep.execute.contract import EventFault, SliceResult
from lockstep.execute.following import joined_results

Entry = TypeVar("Entry", bound=LogEntry | EncodedEntry)

UNFOLDABLE: Final = (
    "the worker died each time it folded this alone: most likely it takes more memory than "
    "spark.worker_memory allows"
)


class Poisoned(Exception):
    """The chunk of that number at a position goes over a limit; None: a timer does, in front of all
    chunks. The executor that raises it is spoilt until its state is put back."""

    def __init__(self, position: Position, chunk: int | None, reason: str) -> None:
        super().__init__(reason)
        self.position = position
        self.chunk = chunk
        self.reason = reason


class FoldsBack(Protocol):
    """What undoing needs of an executor."""

    def fold(self, entries: Sequence[Any]) -> SliceResult:
        """Folds entries. Poisoned: then nothing of them is folded once `go_back` has returned."""

    def go_back(self) -> None:
        """Puts back the state behind the last `fold` that did not raise."""

    def mark(self) -> None:
        """Going back to where the state is now shall be cheap: there may be more to undo."""


def fold_undoing(executor: FoldsBack, entries: Sequence[Entry]) -> SliceResult:
    """Folds entries; what goes over a limit is among the faults. It costs nothing where nothing
    does."""
    results: list[SliceResult] = []
    faults: list[EventFault] = []
    pending: Sequence[Entry] = entries
    while True:
        try:
            results.append(executor.fold(pending))
            return whole(results, faults)
        except Poisoned as found:
            executor.go_back()
            at = next(i for i, entry in enumerate(pending) if entry.position == found.position)
            results.append(executor.fold(pending[:at]))
            executor.mark()
            if found.chunk is None:
                stopped = f"a timer that is due at position {found.position}: {found.reason}"
                results[-1] = replace(results[-1], stopped=stopped)
                return whole(results, faults)
            entry, fault = left_out(pending[at], found.chunk, found.reason)
            faults.append(fault)
            pending = [entry, *pending[at + 1 :]]


def whole(results: Sequence[SliceResult], faults: Sequence[EventFault]) -> SliceResult:
    """The result of a slice that was folded in parts, without some of its events."""
    if not faults and len(results) == 1:
        return results[0]
    joined = joined_results(results)
    every = sorted(chain(joined.faults, faults), key=lambda fault: fault.position)
    return replace(joined, faults=tuple(every))


def left_out(entry: Entry, chunk: int, reason: str) -> tuple[Entry, EventFault]:
    """The entry with that chunk empty, and the fault of its events. Time passes as it did."""
    if isinstance(entry, EncodedEntry):
        payload, stream, events = _without(entry, chunk)
        left: Any = EncodedEntry(entry.position, payload)
    else:
        record = entry.record
        assert isinstance(record, EventsRecord), "nothing else has chunks"
        stream, events = record.stream, record.chunks[chunk]
        chunks = (*record.chunks[:chunk], (), *record.chunks[chunk + 1 :])
        rest: Any = replace(record, chunks=chunks) if any(chunks) else TickRecord(record.clock_ms)
        left = LogEntry(entry.position, rest)
    gone = tuple(Event(each.timestamp_ms, each.data) for each in events)
    return left, EventFault(entry.position, stream, gone, None, reason, is_poison=True)


def _without(entry: EncodedEntry, chunk: int) -> tuple[bytes, str, Sequence[InputEvent]]:
    found = entry.columns()
    if isinstance(found, Bundle):
        part = int(found.order[chunk])
        number = int(np.count_nonzero(found.order[:chunk] == part))
        own = found.parts[part]
        parts = (*found.parts[:part], own.without_chunk(number), *found.parts[part + 1 :])
        return encode_bundle(replace(found, parts=parts)), own.stream, _chunk(own, number)
    assert isinstance(found, EventColumns), "nothing else has chunks"
    rest = found.without_chunk(chunk)
    payload = encode_columns(rest) if len(rest) else encode_record(TickRecord(found.clock_ms))
    return payload, found.stream, _chunk(found, chunk)


def _chunk(events: EventColumns, number: int) -> Sequence[InputEvent]:
    return events.to_record().chunks[number]


def without(
    entries: Sequence[EncodedEntry], positions: Collection[Position]
) -> tuple[Sequence[EncodedEntry], list[EventFault]]:
    """Entries with those of some positions emptied, since whatever folds them dies; and the faults
    of what was in them."""
    if not positions:
        return entries, []
    kept, faults = [], []
    for entry in entries:
        if entry.position in positions:
            entry, found = all_left_out(entry, UNFOLDABLE)
            faults += found
        kept.append(entry)
    return kept, faults


def all_left_out(entry: EncodedEntry, reason: str) -> tuple[EncodedEntry, list[EventFault]]:
    """The entry with all of its chunks empty; no fault: it has no events."""
    found, faults = entry.columns(), []
    chunks = len(found) if isinstance(found, Bundle) else 0
    if isinstance(found, EventColumns):
        chunks = len(found.chunk_lengths)
    for chunk in range(chunks):
        if not isinstance(entry.columns(), TickRecord):
            entry, fault = left_out(entry, chunk, reason)
            faults += [fault] if fault.events else []
    return entry, faults
