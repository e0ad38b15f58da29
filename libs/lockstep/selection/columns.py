"""The selector on columns: aggregates, having, the chunk rules, and the rows that come out
(semantics 4 and 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from lockstep.aggregators.accumulators import Feed, Leaves
from lockstep.aggregators.by_meaning import AggregatesByMeaning
from lockstep.aggregators.columns import Aggregates
from lockstep.columns.chunks import Chunks, lengths_of, offsets_of
from lockstep.columns.column import Column, Index, Mask
from lockstep.columns.compiled import plain
from lockstep.columns.flow import CURRENT, EXPIRED, RESET, Flow, Kinds
from lockstep.columns.frame import Evaluate, Frame, Rows
from lockstep.columns.keys import Ids, KeySpace, combined, group_names
from lockstep.columns.order import Order
from lockstep.columns.output import Output
from lockstep.columns.pairs import PairFlow
from lockstep.columns.played import Played
from lockstep.columns.rule import NotLowerable
from lockstep.expressions.columns import Compiler, Member
from lockstep.selection import kernel as selecting
from lockstep.selection.ordering import Ordering
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedQuery
from lockstep.siddhiql.scope import OUTPUT_SLOT
from lockstep.siddhiql.typing import aggregator_calls, infer

ALL_KINDS = -1
_FORGET_MIN = 4096


def wanted_kind(action: ast.Action) -> int:
    """CURRENT, EXPIRED or ALL_KINDS, as the action asks."""
    if action.events is ast.EventSelection.ALL:
        return ALL_KINDS
    return EXPIRED if action.events is ast.EventSelection.EXPIRED else CURRENT


class Groups:
    """The groups of a query: the keys of its `group by` within their realm (partition instance).

    Without `group by` a realm is its only group.
    """

    def __init__(
        self, group_by: Sequence[ast.Variable], compiler: Compiler, *, by_realm: bool
    ) -> None:
        self.by_realm = by_realm
        self._live = 0
        for variable in group_by:
            compiler.type_of(variable)
        self._columns = [compiler.compile(variable) for variable in group_by]
        self.is_grouped = bool(group_by)
        self.space = KeySpace()
        self.realms = 1

    def __len__(self) -> int:
        return len(self.space) if self.is_grouped else self.realms

    @property
    def is_due(self) -> bool:
        """Whether there may be many groups that nobody needs any more."""
        return len(self.space) > 2 * self._live + _FORGET_MIN

    def compact(self, live: Mask) -> Ids:
        """Forgets the groups that are not live; gives the new id of each old one."""
        self._live = int(live.sum())
        return self.space.compact(live)

    def id_of(self, realm: int, key: Any) -> int:
        """The group of a key within a realm."""
        return self.space.id_of((realm, key) if self.by_realm else key)

    def named(self, group: int) -> tuple[int, Any]:
        """(realm, key) of a group."""
        key: Any = self.space.keys[group]
        return (key[0], key[1]) if self.by_realm else (0, key)

    def assign(self, frame: Frame, realm: Ids | None) -> Ids:
        """The group of each row."""
        if realm is not None and len(realm):
            self.realms = max(self.realms, int(realm.max()) + 1)
        if not self.is_grouped:
            return np.zeros(len(frame), np.int64) if realm is None else realm
        if not len(frame):
            return np.zeros(0, np.int64)
        names = [group_names(column(frame)) for column in self._columns]
        codes, keys = names[0] if len(names) == 1 else combined(names)
        if realm is None:
            return self.space.assign(codes, keys)
        return self.space.assign(*combined([(realm, range(self.realms)), (codes, keys)]))


class _OutputRows(Rows):
    """A frame with the running values, and the query's own outputs where they are read. Nothing in
    it refers to itself, so that what it holds goes with it, and not with the next collection of
    garbage: a slice's columns take tens of megabytes."""

    def __init__(self, rows: Rows, results: Sequence[Column], select: Sequence[Evaluate]) -> None:
        super().__init__(len(rows), rows.column, rows.times, rows.now, rows.absent)
        self.results = list(results)
        self.where = rows.where
        self._select = select

    def column(self, slot: int, attribute: int) -> Column:
        if slot != OUTPUT_SLOT:
            return super().column(slot, attribute)
        found = self.known(slot, attribute)
        if found is None:
            found = self._select[attribute](self)
            self.put(slot, attribute, found)
        return found


class SelectorOperator:
    """Selects rows from flows. `slides`, `in_order` and `has_places` tell how events leave (see
    Leaves); `orders`: the owner's chunks can be put in order; `limited`: it takes care of the
    output rate, and wants the first `carried` attributes of each row's event behind the row's
    own; `balanced`: what leaves is what came. `member` compiles what asks a table; `asks` are the
    tables that are asked."""

    def __init__(
        self,
        query: CheckedQuery,
        *,
        slides: bool = True,
        in_order: bool = True,
        has_places: bool = False,
        resets: bool = False,
        by_realm: bool = False,
        orders: bool = False,
        limited: bool = False,
        carried: int = 0,
        balanced: bool = True,
        member: Member | None = None,
        is_siddhi_5_1: bool = False,
    ) -> None:
        self._carried = carried
        selector = query.query.selector
        if query.query.rate is not None and not limited:
            raise NotLowerable("an output rate here")
        # Every row of a snapshot is a row of its own, whatever came together.
        rate = query.query.rate
        self._each = rate is not None and rate.kind is ast.RateKind.SNAPSHOT
        self.wanted = ALL_KINDS if self._each else wanted_kind(query.query.action)
        expressions = [item.expression for item in query.selection]
        having = [] if selector.having is None else [selector.having]
        functions = query.scope.functions
        self.calls = [
            call for e in (*expressions, *having) for call in aggregator_calls(e, functions)
        ]
        compiler = Compiler(query.scope, self.calls, member)
        # Where rows of a batch that leaves are wanted, its events leave one by one.
        slides = slides or (resets and self.wanted != CURRENT)
        self.groups = Groups(selector.group_by, compiler, by_realm=by_realm)
        leaves, grouped = Leaves(slides, in_order, has_places), self.groups.is_grouped
        self.aggregates: Aggregates | AggregatesByMeaning
        if balanced:
            self.aggregates = Aggregates(
                self.calls, compiler, leaves, is_siddhi_5_1=is_siddhi_5_1, grouped=grouped
            )
        else:
            self.aggregates = AggregatesByMeaning(
                self.calls, compiler, is_siddhi_5_1=is_siddhi_5_1, grouped=grouped
            )
        self._select = [compiler.compile(expression) for expression in expressions]
        self._may_fail = compiler.may_fail
        self.asks = tuple(compiler.asks)
        if self.asks and self.calls:
            raise NotLowerable("a condition that asks a table ('in') beside aggregates")
        self._having = None
        conditions = Compiler(query.having_scope, self.calls)
        if selector.having is not None:
            self._having = conditions.condition(selector.having)
        self._ordering = Ordering(selector, Compiler(query.having_scope, self.calls))
        if self._ordering.is_active and not orders:
            raise NotLowerable("order by, limit or offset")
        # Everywhere but in plain queries an event that gets no row is selected all the same, and
        # what that fails of is told (selection.meaning.Selector).
        tells = self.calls or having or rate or self.groups.is_grouped or self._ordering.is_active
        self._selects_all = self._may_fail and bool(tells)
        self._drops_marks = self._selects_all or conditions.may_fail
        self.types = query.output.types
        for expression, type_ in zip(expressions, self.types, strict=True):
            if infer(expression, query.scope) is not type_:
                raise NotLowerable("an output attribute of another type")

    @property
    def needs_leaving(self) -> bool:
        """Whether events that leave matter to what comes out."""
        return bool(self.calls) or self.wanted != CURRENT

    def forget_groups(self) -> None:
        """Forgets the groups that are empty, if there may be many; of queries whose windows hold no
        groups."""
        if self.groups.is_grouped and self.groups.is_due:
            moved = self.groups.compact(self.aggregates.live(len(self.groups)))
            self.aggregates.move(moved, len(self.groups))

    def run(self, flow: Flow, group: Ids | None) -> Output:
        """The query's rows for a flow; `group` is the group of each of its events."""
        results: list[Column] = []
        if self.calls:
            results = self._aggregated(flow, group)
        if self._drops_marks:
            flow, group, results = _without_marks(flow, group, results)
        whole: Rows | None = None
        if self._selects_all or self._having is not None:
            whole = self._output_frame(flow.frame(), results)
        if whole is not None and self._selects_all:
            self._outputs(whole)
        index, lengths = self._chosen(flow, group, self._passing(flow, whole))
        if index is not None and len(index) == len(flow) and not self.calls:
            index = None
        frame = self._some(flow, index, results, whole)
        return self._rows(flow, group, index, lengths, frame)

    def run_pairs(
        self, flow: PairFlow, steps: Chunks | Played, order: Order, tells: Mask | None = None
    ) -> Output:
        """The query's rows for pairs, without aggregates; each chunk of `steps` brings one chunk,
        at its place in `order`.

        `tells`: for which of them observers hear that there was none (None: for all).
        """
        frame = flow.frame()
        if self._having is not None or self._may_fail:
            whole = self._output_frame(frame, ())
            for column in self._select if self._may_fail else ():
                column(whole)
            if self._having is not None:
                flow = flow.keep(self._having(whole))
                frame = flow.frame()
        if self._ordering.is_active:
            whole = self._output_frame(frame, ())
            flow = flow.take(self._ordering.arrange(whole, flow.trigger, None))
            frame = flow.frame()
        output = self._output_frame(frame, ())
        columns = tuple(select(output) for select in self._select)
        lengths = np.bincount(steps.chunk_of[flow.trigger], minlength=steps.count)
        kept = np.flatnonzero(lengths)
        starts = offsets_of(lengths[kept])
        without = lengths == 0 if tells is None else (lengths == 0) & tells
        silent = order.take(np.flatnonzero(without)) if without.any() else None
        keys = None if steps.keys is None else steps.keys[kept]
        chunks = Chunks(columns, frame.times(), starts, order.take(kept), steps.now[kept], keys)
        return Output(chunks, silent=silent)

    def run_changes(
        self,
        frame: Rows,
        changes: Index,
        trigger: Index,
        steps: Index,
        order: Order,
        now: Index,
        realms: Index | None = None,
    ) -> Output:
        """The query's rows for pairs that come and go, as `changes` says. Each trigger is a chunk
        for aggregates and groups; what the triggers of one step bring leaves together, at its place
        in `order`, at the clock `now`, from the partition instance in `realms`."""
        kind, realm = plain(changes, np.int8), np.zeros(len(frame), np.int64)
        if realms is not None:
            realm = plain(realms[steps], np.int64)
        group = realm
        if self.groups.is_grouped:
            group = self.groups.assign(frame, None if realms is None else realm)
        results: list[Column] = []
        if self.calls:
            feed = Feed(kind, plain(group, np.int64), realm, None)
            count = max(len(self.groups), 1)
            results = self.aggregates.run(feed, frame, count, self.groups.realms, 0)
        whole = self._output_frame(frame, results)
        wanted = kind <= EXPIRED if self.wanted == ALL_KINDS else kind == self.wanted
        for column in self._select if self._may_fail else ():
            column(whole)
        if self._having is not None:
            wanted = wanted & self._having(whole)
        count = int(trigger[-1]) + 1 if len(trigger) else 0
        starts = np.searchsorted(trigger, np.arange(count + 1)).astype(np.int64)
        if not (self.calls or self.groups.is_grouped):
            index = np.flatnonzero(wanted)
        elif self.groups.is_grouped:
            own = plain(group, np.int64)
            index, _ = selecting.last_of_groups(starts, wanted, own, len(self.groups))
        else:
            index = selecting.last_of_chunks(starts, wanted)
            index = index[index >= 0]
        own_kinds = None if self.wanted == CURRENT else kind
        if self._ordering.is_active:
            kinds = None if own_kinds is None else own_kinds[index]
            index = index[self._ordering.arrange(whole.picked(index), trigger[index], kinds)]
        rows = self._output_frame(whole.picked(index), [each.take(index) for each in results])
        columns = tuple(select(rows) for select in self._select)
        kept, lengths = np.unique(steps[index], return_counts=True)
        offsets = np.append(0, np.cumsum(lengths)).astype(np.int64)
        silent = None
        if not (self.calls or self.groups.is_grouped):
            silent = order.take(np.setdiff1d(steps[kind == RESET], kept))
        keys = None if realms is None else realms[kept]
        chunks = Chunks(columns, rows.times(), offsets, order.take(kept), now[kept], keys)
        return Output(chunks, None if own_kinds is None else own_kinds[index], None, silent)

    def run_each(self, frame: Rows, shell: Chunks, realm: Ids | None) -> Output:
        """The query's rows for matches, each reduced by itself; `shell` tells their chunks."""
        count = len(frame)
        realms = np.zeros(count, np.int64) if realm is None else plain(realm, np.int64)
        results: list[Column] = []
        if self.calls:
            group = self.groups.assign(frame, realm)
            own = plain(group, np.int64)
            feed = Feed(np.zeros(count, np.int8), own, realms, None)
            groups = max(len(self.groups), 1)
            results = self.aggregates.run(feed, frame, groups, self.groups.realms, 0)
        whole = self._output_frame(frame, results)
        columns = tuple(select(whole) for select in self._select)
        chunks = replace(shell, columns=columns)
        if self._having is not None:
            chunks = chunks.keep(self._having(whole))
        return Output(chunks)

    def _aggregated(self, flow: Flow, group: Ids | None) -> list[Column]:
        count = len(flow)
        kinds = flow.kinds()
        realm = np.zeros(count, np.int64)
        if flow.keys is not None:
            realm = flow.keys[flow.chunk_of()]
        own = realm if group is None else plain(group, np.int64)
        feed = Feed(kinds, own, plain(realm, np.int64), flow.place)
        places = 0 if flow.held is None else len(flow.held.times)
        return self.aggregates.run(
            feed, flow.frame(), max(len(self.groups), 1), self.groups.realms, places
        )

    def _output_frame(self, rows: Rows, results: Sequence[Column]) -> Rows:
        return _OutputRows(rows, results, self._select)

    def _outputs(self, frame: Rows) -> tuple[Column, ...]:
        """The query's own columns; an output frame keeps them."""
        return tuple(frame.column(OUTPUT_SLOT, each) for each in range(len(self._select)))

    def _some(
        self, flow: Flow, index: Index | None, results: Sequence[Column], whole: Rows | None
    ) -> Rows:
        """The output frame of some of the flow's events; `whole` is that of all, if known."""
        if index is None:
            return self._output_frame(flow.frame(), results) if whole is None else whole
        some = self._output_frame(flow.some(index), [each.take(index) for each in results])
        return some if whole is None else self._knowing(some, whole, index)

    def _knowing(self, some: Rows, whole: Rows, index: Index) -> Rows:
        """An output frame of some rows, with the outputs that the frame of all of them knows."""
        for attribute in range(len(self._select)):
            known = whole.known(OUTPUT_SLOT, attribute)
            if known is not None:
                some.put(OUTPUT_SLOT, attribute, known.take(index))
        return some

    def _passing(self, flow: Flow, whole: Rows | None) -> Mask | None:
        """Where an event may become a row; None for everywhere."""
        passing: Mask | None = None
        if flow.kind is not None:
            kind = flow.kind
            passing = kind != RESET if self.wanted == ALL_KINDS else kind == self.wanted
        elif self.wanted == EXPIRED:
            passing = np.zeros(len(flow), np.bool_)
        if self._having is not None and whole is not None:
            allowed = self._having(whole)
            passing = allowed if passing is None else passing & allowed
        return passing

    def _chosen(
        self, flow: Flow, group: Ids | None, passing: Mask | None
    ) -> tuple[Index | None, npt.NDArray[np.int64] | None]:
        """(the events that become rows, how many per chunk); None for all."""
        reduces = (bool(self.calls) or self.groups.is_grouped) and not self._each
        single = flow.count == len(flow)
        if not reduces or single:
            if passing is None:
                return None, None
            index = np.flatnonzero(passing)
            if single:
                return index, passing.astype(np.int64)
            return index, np.bincount(flow.chunk_of()[index], minlength=flow.count)
        wanted = np.ones(len(flow), np.bool_) if passing is None else passing
        offsets = plain(flow.offsets, np.int64)
        if not self.groups.is_grouped:
            last = selecting.last_of_chunks(offsets, wanted)
            return last[last >= 0], (last >= 0).astype(np.int64)
        assert group is not None
        return tuple(
            selecting.last_of_groups(offsets, wanted, plain(group, np.int64), len(self.groups))
        )

    def _rows(
        self,
        flow: Flow,
        group: Ids | None,
        index: Index | None,
        lengths: npt.NDArray[np.int64] | None,
        frame: Rows,
    ) -> Output:
        kinds: Kinds | None = None
        if self.wanted == EXPIRED:
            kinds = np.ones(len(frame), np.int8)
        elif self.wanted == ALL_KINDS and flow.kind is not None:
            kinds = flow.kind if index is None else flow.kind[index]
        groups = group if group is None or index is None else group[index]
        counts = lengths_of(flow.offsets) if lengths is None else lengths
        if self._ordering.is_active:
            chunk_of = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
            arranged = self._ordering.arrange(frame, chunk_of, kinds)
            picked = frame.picked(arranged)
            picked = self._output_frame(picked, picked.results)
            frame = self._knowing(picked, frame, arranged)
            kinds = None if kinds is None else kinds[arranged]
            groups = None if groups is None else groups[arranged]
            lengths = np.bincount(chunk_of[arranged], minlength=len(counts))
        columns = self._outputs(frame)
        columns += tuple(frame.column(0, attribute) for attribute in range(self._carried))
        starts, order, now, keys = flow.offsets, flow.order, flow.now, flow.keys
        if lengths is not None:
            kept = np.flatnonzero(lengths)
            starts = offsets_of(lengths[kept])
            if len(kept) < len(lengths):
                order, now = order.take(kept), now[kept]
                keys = None if keys is None else keys[kept]
        chunks = Chunks(columns, frame.times(), starts, order, now, keys)
        return Output(chunks, kinds, groups=groups)


def _without_marks(
    flow: Flow, group: Ids | None, results: list[Column]
) -> tuple[Flow, Ids | None, list[Column]]:
    """A flow without its RESET marks, with what belongs to each event. A mark shows the values of
    some row: what those fail of is no failure of an event."""
    if flow.kind is None:
        return flow, group, results
    real = flow.kind != RESET
    if real.all():
        return flow, group, results
    index = np.flatnonzero(real)
    some = None if group is None else group[index]
    return flow.keep(real), some, [each.take(index) for each in results]
