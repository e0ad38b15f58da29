"""Entries that are made on the way from the log to an executor of this process: their bytes are
written only when somebody asks for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import ClassVar, overload

import numpy as np

from lockstep.columns.chunks import offsets_of
from lockstep.columns.column import Longs
from lockstep.events import Position, TickRecord, WriteRecord
from lockstep.events.bundles import Bundle
from lockstep.events.codec import EncodedEntry, encode_bundle, encode_record
from lockstep.events.columns import EventColumns, singles
from lockstep.events.records import InputRecord
from lockstep.execute.together import Together, begins_of

Looked = EventColumns | TickRecord | WriteRecord | Bundle
"""What an entry holds, in columns."""


class MadeEntry(EncodedEntry):
    """What stands at a position, as it was made."""

    is_made: ClassVar[bool] = True

    def __init__(self, position: Position, made: Looked) -> None:
        vars(self)["position"] = position
        vars(self)["made"] = made

    @cached_property
    def payload(self) -> bytes:
        """The bytes; those of events are a bundle of their chunks, which says the same."""
        made = self.columns()
        if isinstance(made, EventColumns):
            order = np.zeros(len(made.chunk_lengths), np.uint16)
            made = Bundle(made.clock_ms, order, (made,))
        return encode_bundle(made) if isinstance(made, Bundle) else encode_record(made)

    @property
    def is_write(self) -> bool:
        made = self.columns()
        return isinstance(made, WriteRecord) or (
            isinstance(made, Bundle) and made.write is not None
        )

    def columns(self) -> Looked:
        made: Looked = vars(self)["made"]
        return made

    def record(self) -> InputRecord | Bundle:
        columns = self.columns()
        return columns.to_record() if isinstance(columns, EventColumns) else columns


class EntriesTogether(Sequence[EncodedEntry]):
    """Entries whose `records` lie together, and have one batch per stream. Who folds in columns
    takes those; each entry by itself is made when somebody asks for it, and says the same.
    `nothing`: no events, of any stream that who folds them has."""

    def __init__(self, records: Together, nothing: EventColumns) -> None:
        self.records = records
        self._nothing = nothing

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[EncodedEntry]:
        return (_PartEntry(self, i) for i in range(len(self)))

    @overload
    def __getitem__(self, at: int) -> EncodedEntry: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[EncodedEntry]: ...
    def __getitem__(self, at: int | slice) -> EncodedEntry | Sequence[EncodedEntry]:
        if isinstance(at, slice):
            return [_PartEntry(self, i) for i in range(*at.indices(len(self)))]
        return _PartEntry(self, range(len(self))[at])

    @cached_property
    def size_bytes(self) -> int:
        """About what they take in memory."""
        turns = self.records.turns
        arrays = [self.records.positions, self.records.rows]
        if turns is not None:
            arrays += [turns.counts, turns.places]
            arrays += [] if turns.clocks is None else [turns.clocks]
        events = sum(each.nbytes for (each,) in self.records.batches.values())
        return int(events + sum(each.nbytes for each in arrays))

    def made(self, i: int) -> Looked:
        """What stands in one of them."""
        records, turns = self.records, self.records.turns
        clock_ms = int(records.clocks_ms[i])
        if turns is None:
            if not records.rows[i]:
                return TickRecord(clock_ms)
            number = int(records.streams[i])
            begin = int(self._begins[i]) - records.bounds[number]
            return self._events(i, number, slice(begin, begin + int(records.rows[i])))
        first, end = self._deliveries[i], self._deliveries[i + 1]
        if first == end:
            return TickRecord(clock_ms)
        order, parts = np.zeros(end - first, np.uint16), []
        for number, places in enumerate(self._places):
            own = slice(*np.searchsorted(places, (first, end)).tolist())
            if own.start < own.stop:
                parts.append(self._events(i, number, own))
                order[places[own] - first] = len(parts)
        empty = replace(self._nothing, chunk_lengths=np.zeros(int((order == 0).sum()), np.int32))
        clocks = None if turns.clocks is None else turns.clocks[first:end]
        return Bundle(clock_ms, order, (empty, *parts), clocks)

    def _events(self, i: int, number: int, own: slice) -> EventColumns:
        """Some events of a stream, in one of the records."""
        records = self.records
        stream = list(records.batches)[number]
        (batch,) = records.batches[stream]
        count = own.stop - own.start
        batch = batch.slice(own.start, count)
        last = batch.num_columns - 1
        return EventColumns(
            stream, int(records.clocks_ms[i]), bool(records.heard[i]),
            batch.select(range(last)), singles(count), 0, batch.column(last),
        )  # fmt: skip

    @cached_property
    def _begins(self) -> Longs:
        """Where the events of each record lie."""
        return begins_of(self.records.streams, self.records.rows)

    @cached_property
    def _deliveries(self) -> list[int]:
        """Where those of each record begin, and the end."""
        assert self.records.turns is not None
        found: list[int] = offsets_of(self.records.turns.counts).tolist()
        return found

    @cached_property
    def _places(self) -> Sequence[Longs]:
        """Of the events of each stream."""
        assert self.records.turns is not None
        return np.split(self.records.turns.places, self.records.bounds[1:-1])


class _PartEntry(MadeEntry):
    """One of entries that lie together."""

    def __init__(self, whole: EntriesTogether, i: int) -> None:
        vars(self)["position"] = int(whole.records.positions[i])
        vars(self)["_whole"] = whole
        vars(self)["_i"] = i

    @property
    def is_write(self) -> bool:
        return False

    @property
    def size_bytes(self) -> int:
        whole: EntriesTogether = vars(self)["_whole"]
        return whole.size_bytes // len(whole) + 1

    def kept(self) -> EncodedEntry:
        return _PartEntry(vars(self)["_whole"], vars(self)["_i"])

    def columns(self) -> Looked:
        return self._made

    @cached_property
    def _made(self) -> Looked:
        whole: EntriesTogether = vars(self)["_whole"]
        return whole.made(vars(self)["_i"])
