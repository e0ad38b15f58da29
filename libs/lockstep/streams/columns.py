"""A query on one stream, in columns: filters, at most one window, the selector."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from lockstep.aggregators.accumulators import Feed
from lockstep.columns.chunks import Chunks, empty
from lockstep.columns.column import Column, Longs, Mask
from lockstep.columns.flow import RESET, Flow, passing
from lockstep.columns.frame import Frame, Rows
from lockstep.columns.keys import Ids
from lockstep.columns.moves import Moves
from lockstep.columns.order import IN_FRONT
from lockstep.columns.output import Output
from lockstep.columns.realms import Realms
from lockstep.columns.units import States, Timer
from lockstep.events import AttributeType
from lockstep.plan import QueryNode
from lockstep.rates.contract import Limiter
from lockstep.selection.columns import SelectorOperator
from lockstep.selection.state import SelectorState
from lockstep.stream_functions.columns import HostedFunction
from lockstep.windows.contract import ColumnarWindow, RecallsTimers, Step

Condition = Callable[[Frame], Mask]


class StreamQuery:
    """See Unit. `before` and `behind` are the conditions in front of the window and behind it, with
    stream functions in front; `asks` are the tables that they ask."""

    def __init__(
        self,
        node: QueryNode,
        writes: str,
        place: int,
        reads: str,
        realms: Realms,
        types: Sequence[AttributeType],
        before: Sequence[Condition | HostedFunction],
        window: tuple[str, ColumnarWindow] | None,
        behind: Sequence[Condition],
        selector: SelectorOperator,
        limiter: Limiter | None = None,
        asks: tuple[str, ...] = (),
    ) -> None:
        self.name = node.name
        self.place = place
        self.reads = (reads, *asks)
        self.writes = writes
        self._realms = realms
        self._types = types
        self._before = before
        self._functions = [each for each in before if isinstance(each, HostedFunction)]
        self._window = None if window is None else window[1]
        self._window_path = "" if window is None else window[0]
        self._behind = behind
        self._selector = selector
        self._selecting = SelectorState(self.name, realms, selector)
        self._limiter = limiter
        timed = self._window is not None and self._window.shows_timers
        self.shows_timers = timed or (limiter is not None and limiter.goes_by_wall)
        # A limiter compares its timers with all others: it hears them wherever it stands.
        self.hears_timers = timed or (self._window is not None and self._window.hears_timers)
        self.is_observed = not realms.is_partition
        self._grouped = selector.groups.is_grouped
        self._by_place = self._grouped or selector.aggregates.needs_places
        self._keeps_realms = not realms.is_partition or node.writes.startswith("#")
        self.is_stateless = not (
            self._window
            or self._grouped
            or selector.calls
            or self._limiter is not None
            or any(each.has_state for each in self._functions)
        )

    # --- folding ---------------------------------------------------------------------------------

    def run(self, inputs: Mapping[str, Chunks], moves: Moves) -> Output:
        chunks = inputs.get(self.reads[0])
        if chunks is None:
            chunks = empty(self._types, keyed=self._realms.is_partition)
        for each in self._before:
            if isinstance(each, HostedFunction):
                chunks = each.run(chunks)
            else:
                chunks = chunks.keep(each(asking(chunks, self.place)))
        flow, group = self._flow(chunks, moves)
        for condition in self._behind:
            mask = condition(flow.frame())
            if flow.kind is not None:
                mask = mask | (flow.kind == RESET)
            if group is not None:
                group = group[mask]
            flow = flow.keep(mask)
        output = self._selector.run(flow, group)
        if self._limiter is not None:
            keys = self._selector.groups.space.keys
            output = self._limiter.run(self._limiter.keys.limited(output, keys), moves)
        return output if self._keeps_realms else output.without_realms()

    def _flow(self, chunks: Chunks, moves: Moves) -> tuple[Flow, Ids | None]:
        groups = self._selector.groups
        needs_groups = self._grouped or self._window is not None
        ids = np.zeros(0, np.int64)
        if needs_groups:
            realm = None if chunks.keys is None else chunks.per_event(chunks.keys)
            ids = groups.assign(chunks.rows(), realm)
        elif chunks.keys is not None and len(chunks.keys):
            groups.realms = max(groups.realms, int(chunks.keys.max()) + 1)
        if self._window is None:
            flow = passing(chunks, chunks.order.below(self.place, 0))
            return flow, ids if self._grouped else None
        flow = self._window.flow(Step(chunks, ids, moves, self.place, self._by_place))
        if not self._grouped:
            return flow, None
        return flow, self._window.held.extra(0)[flow.place]

    def settle(self) -> None:
        if self._window is not None:
            self._window.settle()
        groups = self._selector.groups
        if self._grouped and groups.is_due:
            self._forget_groups()

    def _forget_groups(self) -> None:
        groups = self._selector.groups
        live = self._selector.aggregates.live(len(groups))
        held = None if self._window is None else self._window.held
        if held is not None:
            for realm in range(max(groups.realms, 1)):
                live[held.extra(0)[self._holding(realm)]] = True
        moved = groups.compact(live)
        self._selector.aggregates.move(moved, len(groups))
        if held is not None:
            group_of = held.extra(0)
            np.maximum(moved[group_of], 0, out=group_of)

    def _holding(self, realm: int) -> Longs:
        assert self._window is not None
        return self._window.keeps(realm)

    def due_ms(self) -> int | None:
        return None if self._window is None else self._window.due_ms()

    def start(self, clock_ms: int) -> None:
        if self._limiter is not None:
            self._limiter.start(clock_ms)

    def wall_due_ms(self) -> int | None:
        return None if self._limiter is None else self._limiter.due_ms()

    # --- state -----------------------------------------------------------------------------------

    def text_columns(self) -> list[Any]:
        return [] if self._window is None else self._window.held.text_columns()

    def store(self, states: States) -> None:
        self._selecting.prepare(self._held_by_group())
        for function in self._functions:
            states.operators.update(function.store(self._realms.paths(self.name)))
        for realm, path in self._realms.paths(self.name):
            if self._window is not None:
                window_path = f"{path}/{self._window_path}"
                states.operators[window_path] = self._window.store(realm)
                pending = self._window.timers(realm)
                states.timers += [Timer(due_ms, window_path, number) for due_ms, number in pending]
            states.operators[f"{path}/selector"] = self._selecting.stored(realm)
            if self._limiter is not None:
                states.operators[f"{path}/rate"] = self._limiter.store(realm)
                wall_ms = self._limiter.due_ms()
                if wall_ms is not None:
                    states.timers.append(Timer(wall_ms, f"{path}/rate", wall=True))

    def _held_by_group(self) -> tuple[Frame, Ids] | None:
        """The rows that the aggregates hold, and the group of each, where an aggregator's state is
        made of them."""
        if self._window is None or not self._selector.aggregates.needs_places:
            return None
        places, _, group = self._aggregated()
        return frame_of(self._window.held, places), group

    def _aggregated(self) -> tuple[Longs, Longs, Ids]:
        """(place, instance, group) of the rows that the aggregates hold: those that passed behind
        the window, of each instance in order."""
        window = self._window
        assert window is not None
        realms = [realm for realm, _ in self._realms.paths(self.name)]
        inside = [window.inside(realm) for realm in realms]
        places = np.concatenate([np.zeros(0, np.int64), *inside])
        realm = np.repeat(np.array(realms, np.int64), [len(each) for each in inside])
        for condition in self._behind:
            mask = condition(frame_of(window.held, places))
            places, realm = places[mask], realm[mask]
        return places, realm, window.held.extra(0)[places] if self._grouped else realm

    def load(self, states: States) -> None:
        for function in self._functions:
            function.load(self._realms.paths(self.name), states.operators)
        # Asked once: Python looks through all methods for it, and instances may be thousands.
        recalling: RecallsTimers | None = None
        if self._window is not None and isinstance(self._window, RecallsTimers):
            recalling = self._window
        for realm, path in self._realms.paths(self.name):
            self._selecting.load(realm, states.operators[f"{path}/selector"])
            if self._window is not None:
                window_path = f"{path}/{self._window_path}"
                self._window.load(realm, states.operators[window_path], self._groups_of)
                if recalling is not None:
                    recalling.load_timers(realm, _pending(states, window_path))
            if self._limiter is not None:
                due = [due_ms for due_ms, _ in _pending(states, f"{path}/rate")]
                self._limiter.load(realm, states.operators[f"{path}/rate"], next(iter(due), None))
        self._refeed()
        self._selecting.reserve()

    def _groups_of(self, columns: Sequence[Column], times: Longs, realm: int) -> Ids:
        frame = Rows(len(times), lambda slot, at: columns[at], lambda: times, lambda: times)
        keys = np.full(len(times), realm, np.int64) if self._realms.is_partition else None
        return self._selector.groups.assign(frame, keys)

    def _refeed(self) -> None:
        aggregates, groups = self._selector.aggregates, self._selector.groups
        if self._window is None or not aggregates.needs_places:
            return
        held = self._window.held
        places, realm, group = self._aggregated()
        aggregates.reserve(max(len(groups), 1), groups.realms, len(held.times))
        kinds = np.zeros(len(places), np.int8)
        aggregates.refeed(Feed(kinds, group, realm, places), frame_of(held, places))


def asking(chunks: Chunks, place: int) -> Rows:
    """The events where they reach a query's conditions, which may ask tables."""
    rows = chunks.rows()
    rows.where = lambda: chunks.order.below(place, IN_FRONT).take(chunks.chunk_of)
    return rows


def _pending(states: States, path: str) -> list[tuple[int, int]]:
    return [(timer.due_ms, timer.sequence) for timer in states.timers_of(path)]


def frame_of(held: Any, places: Longs) -> Rows:
    """Held rows as a frame."""
    return Rows(
        len(places),
        lambda slot, attribute: held.column(attribute, places),
        lambda: held.times[places],
        lambda: held.times[places],
    )
