"""A slice that a worker cannot fold as it is: an event goes over a limit, or the worker dies of it.

What goes over a limit is found, set aside as a fault, and the rest of the slice is folded without
it: every replica finds the same. What a worker dies of hangs on the memory that it has. So the
owner is told, who decides for all replicas; an executor without one sets it aside by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from lockstep.columns.column import Suspected
from lockstep.events import Position
from lockstep.events.codec import EncodedEntry
from lockstep.execute.contract import EventFault, SliceResult
from lockstep.execute.spark import wire
from lockstep.execute.spark.asking import Workers
from lockstep.execute.spark.company import WorkerDiedError
from lockstep.execute.undoing import UNFOLDABLE, all_left_out, fold_undoing, whole

FALSE_ALARMS_MAX: Final = 3
"""After so many in a row an app stays on the reference: going back and forth costs more."""


class Settling:
    """Folds slices in workers. `on_suspected` hears between which positions something may have to
    be undone, before that is tried: an owner whose state is lost begins again with `careful`, and
    then a state of any size is kept in front of them to go back to."""

    def __init__(
        self,
        workers: Workers,
        on_suspected: Callable[[Position, Position], None],
        careful: tuple[Position, Position] | None,
        *,
        has_owner: bool,
    ) -> None:
        self._workers = workers
        self._has_owner = has_owner
        self._on_suspected = on_suspected
        self._careful = careful
        self._false_alarms = 0

    def run(self, entries: Sequence[EncodedEntry]) -> SliceResult:
        """Folds a slice. SparkFailedError, StateLostError."""
        self._prepare(entries)
        try:
            return self._fold(entries)
        except WorkerDiedError:
            if not entries:
                raise
            self._suspect(entries)
            return self._isolated(entries)
        finally:
            # In front of the positions to be careful at, a base is no larger than any other.
            begun = self._careful is not None and self._workers.position >= self._careful[0]
            self._workers.base.keeps_all = begun
            self._workers.base.trim()

    def _prepare(self, entries: Sequence[EncodedEntry]) -> None:
        if self._careful is None or not entries or entries[-1].position < self._careful[0]:
            return
        if entries[0].position > self._careful[1]:
            self._careful = None
            return
        self._workers.base.keeps_all = True
        if not self._workers.base.whole:
            self.mark()

    def _fold(self, entries: Sequence[EncodedEntry]) -> SliceResult:
        try:
            return fold_undoing(self, entries)
        except Suspected as why:
            self._suspect(entries)
            return self._settled(entries, str(why))

    def _suspect(self, entries: Sequence[EncodedEntry]) -> None:
        self._on_suspected(entries[0].position, entries[-1].position)
        self._workers.base.keeps_all = True

    def _settled(self, entries: Sequence[EncodedEntry], why: str) -> SliceResult:
        """The reference decides; columns go on behind the slice."""
        workers, shards = self._workers, len(self._workers.shards)
        workers.leave_columns(why)
        result = fold_undoing(self, entries)
        is_alarm = result.stopped is None and not any(each.is_poison for each in result.faults)
        self._false_alarms = self._false_alarms + 1 if is_alarm else 0
        if self._false_alarms < FALSE_ALARMS_MAX:
            self.mark()
            workers.take_columns(shards)
        return result

    # --- a worker that dies ----------------------------------------------------------------------

    def _isolated(self, entries: Sequence[EncodedEntry]) -> SliceResult:
        """Halves of the slice, down to the positions that a worker dies of; those are set aside."""
        results: list[SliceResult] = []
        faults: list[EventFault] = []
        waiting = [list(entries)]
        while waiting:
            part = waiting.pop()
            try:
                results.append(self._fold(part))
            except WorkerDiedError:
                if len(part) > 1:
                    middle = len(part) // 2
                    waiting += [part[middle:], part[:middle]]
                    continue
                entry, found = all_left_out(part[0], UNFOLDABLE)
                if found and not self._has_owner:
                    results.append(self._fold([entry]))
                    faults += found
                else:
                    results.append(self._blocked(entry.position, has_events=bool(found)))
                self.mark()
            if results[-1].has_rest:
                break
        return whole(results, faults)

    def _blocked(self, position: Position, *, has_events: bool) -> SliceResult:
        """The end in front of a position that a worker dies of."""
        result = self._fold([])
        if has_events:
            return replace(result, unfoldable=position)
        return replace(result, stopped=f"time passes to position {position}: {UNFOLDABLE}")

    # --- see FoldsBack ---------------------------------------------------------------------------

    def fold(self, entries: Sequence[EncodedEntry]) -> SliceResult:
        """Folds entries in one request. Poisoned, Suspected, WorkerDiedError: the workers hold
        nothing then, and the state is built again when something is asked next."""
        result = wire.joined(self._workers.ask("slice", entries=entries))
        self._workers.position = result.position
        self._workers.base.add(entries)
        return result

    def go_back(self) -> None:
        """The state is built again from the base with the next request."""

    def mark(self) -> None:
        """From here on the base begins with the state as it is."""
        workers = self._workers
        snapshots = [bytes(parts[wire.SNAPSHOT]) for _, parts in workers.ask("snapshot")]
        workers.base.begin(snapshots, workers.position)
