"""What was folded and is not known to be published: rows and dead letters held back, in order.

The leader empties it by publishing; a standby trims it as the output log moves on. Pure, no I/O.
Dead letters of a position are durable before any row of that position or a later one is published.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lockstep.events import OutputId, OutputRow, Position
from lockstep.events.outputs import RowsOfColumns, in_columns, joined
from lockstep.execute.contract import EventFault


@dataclass(slots=True)
class _Held:
    """The outputs of one folded slice; rows before `start` are published."""

    position: Position
    rows: RowsOfColumns
    faults: tuple[EventFault, ...]
    start: int = 0


class Outbox:
    """Rows ascending in identity. `len` counts held rows."""

    def __init__(self) -> None:
        self._slices: deque[_Held] = deque()
        self._rows = 0
        self._settled: Position = 0
        self._last: OutputId | None = None
        self._last_settled: Position = 0

    def __len__(self) -> int:
        return self._rows

    @property
    def settled(self) -> Position:
        """All outputs up to this position are known to be durable."""
        return self._settled

    @property
    def is_empty(self) -> bool:
        """Nothing is held back."""
        return not self._slices

    def add(
        self, position: Position, rows: Sequence[OutputRow], faults: tuple[EventFault, ...] = ()
    ) -> None:
        """Takes a slice's outputs; positions ascend from call to call.

        What the output log is known to hold already is not held.
        """
        self._slices.append(_Held(position, in_columns(rows), faults))
        self._rows += len(rows)
        self.published(self._last, settled=self._last_settled)

    def faults(self) -> tuple[EventFault, ...]:
        """Held dead letters, oldest first."""
        return tuple(fault for held in self._slices for fault in held.faults)

    def rows(self) -> RowsOfColumns:
        """All held rows, in order."""
        return joined(held.rows[held.start :] for held in self._slices)

    @property
    def last_id(self) -> OutputId | None:
        """The last row held back; None when there is none."""
        for held in reversed(self._slices):
            if len(held.rows) > held.start:
                return held.rows.last_id
        return None

    def next_rows(self, max_rows: int) -> RowsOfColumns:
        """The first held rows whose dead letters (and all earlier ones) are durable."""
        taken: list[RowsOfColumns] = []
        left = max_rows
        for held in self._slices:
            if held.faults or left <= 0:
                break
            taken.append(held.rows[held.start : held.start + left])
            left -= len(taken[-1])
        return joined(taken)

    def settled_with(self, last: OutputId) -> Position:
        """`settled` as it will be once the rows up to `last`, which are the next ones, are
        published."""
        found = self._settled
        for held in self._slices:
            if held.faults or (len(held.rows) > held.start and held.rows.last_id > last):
                break
            found = max(found, held.position)
        return found

    def next_faults(self) -> tuple[EventFault, ...]:
        """Dead letters that have to be durable before the next rows can go out."""
        for held in self._slices:
            if held.faults:
                return held.faults
            if len(held.rows) > held.start:
                break
        return ()

    def faults_done(self, done: Iterable[EventFault]) -> None:
        """These dead letters are durable."""
        gone = {id(fault) for fault in done}
        for held in self._slices:
            if held.faults:
                held.faults = tuple(fault for fault in held.faults if id(fault) not in gone)
        self._drop_done()

    def published(self, last: OutputId | None, *, settled: Position = 0) -> None:
        """The output log holds every row up to `last`, and all outputs up to position `settled`.

        `settled` is a leader's word about itself; it stays true whoever leads now.
        """
        if last is not None and (self._last is None or last > self._last):
            self._last = last
        self._last_settled = max(self._last_settled, settled)
        published = 0 if self._last is None else self._last.position
        for held in self._slices:
            self._rows -= self._trim(held)
            if held.position > max(published, self._last_settled):
                break  # what was folded behind it is published no further
        self._drop_done()

    def _trim(self, held: _Held) -> int:
        """Gives how many rows are gone."""
        start, settled = held.start, self._last_settled
        if self._last is not None and start < len(held.rows):
            start = max(start, held.rows.up_to(self._last))
        if held.position <= settled:
            start = len(held.rows)
        if held.faults:
            limit = max(settled, 0 if self._last is None else self._last.position)
            held.faults = tuple(fault for fault in held.faults if fault.position > limit)
        gone = start - held.start
        held.start = start
        return gone

    def _drop_done(self) -> None:
        while self._slices:
            first = self._slices[0]
            if first.start < len(first.rows) or first.faults:
                return
            self._settled = max(self._settled, first.position)
            self._slices.popleft()
