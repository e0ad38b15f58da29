"""A stream joined with a table, on columns (semantics 9, 10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lockstep.columns.chunks import Chunks, empty
from lockstep.columns.column import Longs, Suspected
from lockstep.columns.flow import CURRENT, RESET, Flow
from lockstep.columns.frame import Rows
from lockstep.columns.moves import Moves
from lockstep.columns.order import IN_FRONT
from lockstep.columns.output import Output
from lockstep.columns.pairs import Changes, PairFlow, Side, beside
from lockstep.columns.played import play
from lockstep.columns.realms import Realms
from lockstep.columns.units import States, Timer
from lockstep.events import AttributeType
from lockstep.operators.limits import limits
from lockstep.plan import QueryNode
from lockstep.selection.columns import SelectorOperator
from lockstep.selection.state import SelectorState
from lockstep.streams.columns import Condition, asking
from lockstep.tables.lookup import Lookup
from lockstep.tables.store import TableStore
from lockstep.windows.contract import ColumnarWindow, RecallsTimers, Step


class TableJoin:
    """See Unit. Each event of the stream meets the rows that `lookup` finds; so does each that
    enters or leaves the stream's `window`, if there is one."""

    def __init__(
        self,
        node: QueryNode,
        writes: str,
        place: int,
        stream: str,
        types: Sequence[AttributeType],
        stream_slot: int,
        table: TableStore,
        before: Sequence[Condition],
        lookup: Lookup,
        selector: SelectorOperator,
        realms: Realms,
        *,
        is_outer: bool,
        window: tuple[str, ColumnarWindow] | None = None,
    ) -> None:
        self.name = node.name
        self.place = place
        self.writes = writes
        self.reads = (stream, table.schema.name)
        self._types = types
        self._slot = stream_slot
        self._table = table
        self._before = before
        self._lookup = lookup
        self._selector = selector
        self._realms = realms
        self.is_observed = not realms.is_partition
        self._keeps_realms = not realms.is_partition or node.writes.startswith("#")
        self._selecting = SelectorState(node.name, realms, selector)
        self._is_outer = is_outer
        self._window = None if window is None else window[1]
        self._window_path = "" if window is None else window[0]
        self.shows_timers = self._window is not None and self._window.shows_timers
        self._changes = selector.needs_leaving or selector.groups.is_grouped
        self.is_stateless = self._window is None and not self._changes and not selector.calls

    def run(self, inputs: Mapping[str, Chunks], moves: Moves) -> Output:
        chunks = inputs.get(self.reads[0])
        if chunks is None and self._window is None:
            return Output.nothing(self._selector.types)
        if chunks is None:
            chunks = empty(self._types, keyed=self._realms.is_partition)
        if chunks.keys is not None and len(chunks.keys):
            groups = self._selector.groups
            groups.realms = max(groups.realms, int(chunks.keys.max()) + 1)
        output = self._joined(chunks, moves)
        return output if self._keeps_realms else output.without_realms()

    def _joined(self, chunks: Chunks, moves: Moves) -> Output:
        for condition in self._before:
            chunks = chunks.keep(condition(asking(chunks, self.place)))
        if self._window is not None:
            none = np.zeros(len(chunks), np.int64)
            return self._flowing(self._window.flow(Step(chunks, none, moves, self.place)), moves)
        when = chunks.order.below(self.place, 0, IN_FRONT)
        before = chunks.per_event(self._table.writes_before(when))
        events, places = self._lookup.find(beside(chunks, self._slot), before)
        _refuse_many(chunks.order.moments[chunks.chunk_of[events]], moves)
        if self._is_outer:
            events, places = with_lonely(events, places, len(chunks))
        if self._changes:
            return self._changing(chunks, events, places)
        own, row = Side.of_chunks(chunks, events), self._row(places)
        sides = (own, row) if self._slot == 0 else (row, own)
        flow = PairFlow(sides, chunks, events)
        return self._selector.run_pairs(flow, chunks, chunks.order.below(self.place, 0))

    def _row(self, places: Longs) -> Side:
        return Side(lambda attribute: self._table.column(attribute, places), places)

    def _changing(self, chunks: Chunks, events: Longs, places: Longs) -> Output:
        """Each event comes, goes if somebody wants to see that, and is forgotten."""
        leave = self._selector.wanted != CURRENT
        made = Changes.of(events, places, len(chunks), leave=leave)
        frame = self._lookup.pairs(beside(chunks, self._slot), made.event, made.met)
        played, times = play([chunks], self.place), made.times(chunks)
        whole = Rows(len(frame), frame.column, lambda: times, frame.now, frame.absent)
        return self._selector.run_changes(
            whole, made.kind, made.trigger, chunks.chunk_of[made.event], played.order, played.now,
            chunks.keys,
        )  # fmt: skip

    def _flowing(self, flow: Flow, moves: Moves) -> Output:
        """What the window lets out meets the table as it is then."""
        whole, chunk_of, kinds = flow.frame(), flow.chunk_of(), flow.kinds()
        own = Rows(len(flow), lambda _, i: whole.column(0, i), whole.times, whole.now)
        before = self._table.writes_before(flow.order.below(IN_FRONT))[chunk_of]
        real = np.flatnonzero(kinds != RESET)
        found, places = self._lookup.find(own.picked(real), before[real])
        if self._is_outer:
            found, places = with_lonely(found, places, len(real))
        events = real[found]
        _refuse_many(flow.order.moments[chunk_of[events]], moves)
        marks = np.flatnonzero(kinds == RESET)
        trigger = np.concatenate([events, marks])
        arranged = np.argsort(trigger, kind="stable")
        met = np.concatenate([places, np.full(len(marks), -1, np.int64)])[arranged]
        trigger = trigger[arranged]
        frame = self._lookup.pairs(own, trigger, met)
        return self._selector.run_changes(
            frame, kinds[trigger], trigger, chunk_of[trigger], flow.order, flow.now, flow.keys
        )

    def settle(self) -> None:
        if self._window is not None:
            self._window.settle()
        self._selector.forget_groups()

    def due_ms(self) -> int | None:
        return None if self._window is None else self._window.due_ms()

    # --- state -----------------------------------------------------------------------------------

    def store(self, states: States) -> None:
        self._selecting.prepare()
        for realm, path in self._realms.paths(self.name):
            states.operators[f"{path}/selector"] = self._selecting.stored(realm)
            if self._window is not None:
                own = f"{path}/{self._window_path}"
                states.operators[own] = self._window.store(realm)
                states.timers += [Timer(due, own, n) for due, n in self._window.timers(realm)]

    def load(self, states: States) -> None:
        def groups(columns: Any, times: Longs, realm: int) -> Longs:
            return np.zeros(len(times), np.int64)

        for realm, path in self._realms.paths(self.name):
            self._selecting.load(realm, states.operators[f"{path}/selector"])
            if self._window is None:
                continue
            own = f"{path}/{self._window_path}"
            self._window.load(realm, states.operators[own], groups)
            if isinstance(self._window, RecallsTimers):
                timers = [(each.due_ms, each.sequence) for each in states.timers_of(own)]
                self._window.load_timers(realm, timers)
        self._selecting.reserve()

    def text_columns(self) -> list[Any]:
        return [] if self._window is None else self._window.held.text_columns()


def with_lonely(events: Longs, places: Longs, count: int) -> tuple[Longs, Longs]:
    """The same, and events that found nothing, beside no row."""
    lonely = np.ones(count, np.bool_)
    lonely[events] = False
    alone = np.flatnonzero(lonely)
    if not len(alone):
        return events, places
    every = np.concatenate([events, alone])
    arranged = np.argsort(every, kind="stable")
    none: npt.NDArray[np.int64] = np.full(len(alone), -1, np.int64)
    return every[arranged], np.concatenate([places, none])[arranged]


def _refuse_many(moments: Longs, moves: Moves) -> None:
    """Suspected, if what one moment brings finds more rows than it may; `moments` are those of
    the rows."""
    if len(moments) <= limits().event_rows:
        return
    if (moments[1:] < moments[:-1]).any():
        moments = np.sort(moments)
    starts = np.flatnonzero(np.append(True, moments[1:] != moments[:-1]))
    each, counts = moments[starts], np.diff(starts, append=len(moments))
    if (counts > moves.most_rows(each)).any():
        raise Suspected("a join of an event with too many rows")
