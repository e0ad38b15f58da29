"""A stream joined with an aggregation: each event finds buckets as they are when it comes
(semantics 17.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lockstep.aggregations.columns.bases import NO_LONGS, Longs
from lockstep.aggregations.columns.level import Level
from lockstep.aggregations.columns.unit import AggregationUnit
from lockstep.aggregations.meaning.ranges import RangeReader
from lockstep.columns.arithmetic import as_type, compute
from lockstep.columns.chunks import Chunks
from lockstep.columns.column import Column, Unfit, concat
from lockstep.columns.flow import CURRENT
from lockstep.columns.frame import Evaluate, Frame, Rows
from lockstep.columns.moves import Moves
from lockstep.columns.output import Output
from lockstep.columns.pairs import Changes, PairFlow, Side, beside
from lockstep.columns.played import play
from lockstep.columns.realms import Realms
from lockstep.columns.units import States
from lockstep.events import AttributeType, describe
from lockstep.operators.errors import PROCESSING_ERRORS
from lockstep.plan import QueryNode
from lockstep.plan.paths import query_path
from lockstep.selection.columns import SelectorOperator
from lockstep.selection.state import SelectorState
from lockstep.siddhiql import ast
from lockstep.siddhiql.ast import Granularity
from lockstep.streams.columns import Condition


@dataclass(frozen=True, slots=True)
class Found:
    """Rows of one granularity: the request of each, its slot, and the event that it stands in front
    of (-1: none)."""

    level: Level
    request: Longs
    slot: Longs
    event: Longs

    def column(self, places: Sequence[int], type_: AttributeType) -> Column:
        """A selected value, made of the base values at some places; of none: where the bucket
        starts."""
        if not places:
            return Column(AttributeType.LONG, self.level.starts(self.slot))
        parts = [self.level.bases[place - 1].at(self.slot, self.event) for place in places]
        if len(parts) == 2:
            total, count = parts
            return compute(ast.ArithmeticOperator.DIVIDE, total, count)
        (value,) = parts
        if value.type is type_:
            return value
        return Column(type_, as_type(value, type_), value.nulls)


class Reach:
    """`within … per …` of events: what they ask for."""

    def __init__(
        self,
        range_: ast.Range,
        known: tuple[Granularity, ...],
        compiled: Callable[[ast.Expression], Evaluate],
    ) -> None:
        self._values: list[Evaluate] = []

        def place(expression: ast.Expression) -> Callable[[Any], Any]:
            index = len(self._values)
            self._values.append(compiled(expression))
            return lambda row: row[index]

        self._reader = RangeReader(range_, known, place)

    def of(self, frame: Frame) -> tuple[list[Granularity], Longs, Longs]:
        """(granularity, start, end in ms) per event. Unfit for what the reference refuses."""
        columns = [value(frame).to_pylist() for value in self._values]
        read: dict[tuple[Any, ...], tuple[Granularity, int, int]] = {}
        found = []
        for row in zip(*columns, strict=True):
            if row not in read:
                try:
                    read[row] = self._reader.read(row)
                except PROCESSING_ERRORS as error:
                    raise Unfit(f"a range that cannot be read: {describe(error)}") from error
            found.append(read[row])
        granularities = [each[0] for each in found]
        limits = np.array([each[1:] for each in found], np.int64).reshape(-1, 2)
        return granularities, limits[:, 0], limits[:, 1]


@dataclass(frozen=True, slots=True)
class Reading:
    """How rows are found and shown: the range, the group's key if the condition fixes it, what else
    has to hold of a pair and of a row, and for each attribute the places of its base values and its
    type."""

    reach: Reach
    key: Sequence[Evaluate] | None
    condition: Condition | None
    keeps: Sequence[Condition]
    places: Sequence[Sequence[int]]
    types: Sequence[AttributeType]


class AggregationJoin:
    """See Unit."""

    shows_timers = False
    is_observed = True

    def __init__(
        self,
        node: QueryNode,
        writes: str,
        place: int,
        stream: tuple[str, int],
        aggregation: AggregationUnit,
        before: Sequence[Condition],
        reading: Reading,
        selector: SelectorOperator,
        realms: Realms,
        *,
        is_outer: bool,
    ) -> None:
        self.name = node.name
        self.place = place
        self.writes = writes
        name, self._slot = stream
        self.reads = (name, aggregation.writes)
        self._aggregation = aggregation
        self._before = before
        self._reading = reading
        self._selector = selector
        self._selecting = SelectorState(node.name, realms, selector)
        self._changes = selector.needs_leaving or selector.groups.is_grouped
        self._is_outer = is_outer

    def run(self, inputs: Mapping[str, Chunks], moves: Moves) -> Output:
        chunks = inputs.get(self.reads[0])
        if chunks is None:
            return Output.nothing(self._selector.types)
        for passes in self._before:
            chunks = chunks.keep(passes(chunks.rows()))
        if not len(chunks):
            return Output.nothing(self._selector.types)
        flow = self._pairs(chunks, self._found(chunks))
        condition = self._reading.condition
        if condition is not None and len(flow):
            flow = flow.keep(condition(flow.frame()))
        for keeps in self._reading.keeps:
            flow = flow.keep(keeps(self._rows(flow)))
        if self._is_outer:
            flow = self._with_alone(chunks, flow)
        if self._changes:
            return self._changing(chunks, flow)
        return self._selector.run_pairs(flow, chunks, chunks.order.below(self.place, 0))

    def _found(self, chunks: Chunks) -> list[Found]:
        past = self._aggregation.past()
        events, purges = map(chunks.per_event, past.before(chunks.order.below(self.place)))
        frame = beside(chunks, self._slot)
        granularities, start_ms, end_ms = self._reading.reach.of(frame)
        groups = None
        if self._reading.key is not None:
            columns = [value(frame) for value in self._reading.key]
            groups = self._aggregation.incoming.known(columns)
        found = []
        for granularity in dict.fromkeys(granularities):
            own = np.array([i for i, each in enumerate(granularities) if each is granularity])
            level = self._aggregation.levels[granularity]
            asked = (None if groups is None else groups[own]), events[own], purges[own]
            request, slot, event = level.find(start_ms[own], end_ms[own], *asked)
            found.append(Found(level, own[request], slot, event))
        return found

    def _pairs(self, chunks: Chunks, found: Sequence[Found]) -> PairFlow:
        trigger = np.concatenate([NO_LONGS, *(each.request for each in found)])
        order = np.argsort(trigger, kind="stable")

        def column(attribute: int) -> Column:
            places = self._reading.places[attribute]
            type_ = self._reading.types[attribute]
            return concat([each.column(places, type_) for each in found]).take(order)

        return self._flow(chunks, trigger[order], Side(column, order))

    def _flow(self, chunks: Chunks, trigger: Longs, row: Side) -> PairFlow:
        own = Side(lambda attribute: chunks.columns[attribute].take(trigger), trigger)
        return PairFlow((own, row) if self._slot == 0 else (row, own), chunks, trigger)

    def _rows(self, flow: PairFlow) -> Rows:
        """The aggregation's rows of pairs, as conditions on its side see them."""
        row, frame = flow.sides[1 - self._slot], flow.frame()
        return Rows(len(flow), lambda _, attribute: row.find(attribute), frame.times, frame.now)

    def _with_alone(self, chunks: Chunks, flow: PairFlow) -> PairFlow:
        """The pairs, and the events that found none."""
        alone = np.setdiff1d(np.arange(len(chunks)), flow.trigger)
        trigger = np.concatenate([flow.trigger, alone])
        order = np.argsort(trigger, kind="stable")
        index = np.where(order < len(flow), order, -1)
        row = flow.sides[1 - self._slot]
        side = Side(lambda attribute: row.find(attribute).take(index), index)
        return self._flow(chunks, trigger[order], side)

    def _changing(self, chunks: Chunks, flow: PairFlow) -> Output:
        """Each event comes, goes if somebody wants to see that, and is forgotten."""
        row = flow.sides[1 - self._slot]
        met = np.where(row.index < 0, -1, np.arange(len(flow)))
        leave = self._selector.wanted != CURRENT
        made = Changes.of(flow.trigger, met, len(chunks), leave=leave)
        found = Side(lambda attribute: row.find(attribute).take(made.met), made.met)
        frame = self._flow(chunks, made.event, found).frame()
        times = made.times(chunks)
        whole = Rows(len(times), frame.column, lambda: times, frame.now, frame.absent)
        steps, played = chunks.chunk_of[made.event], play([chunks], self.place)
        return self._selector.run_changes(
            whole, made.kind, made.trigger, steps, played.order, played.now
        )

    def settle(self) -> None:
        self._selector.forget_groups()

    def due_ms(self) -> int | None:
        return None

    def store(self, states: States) -> None:
        self._selecting.prepare()
        states.operators[f"{query_path(self.name)}/selector"] = self._selecting.stored(0)

    def load(self, states: States) -> None:
        self._selecting.load(0, states.operators[f"{query_path(self.name)}/selector"])
        self._selecting.reserve()

    def text_columns(self) -> list[Any]:
        return []
