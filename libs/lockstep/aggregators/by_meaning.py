"""The aggregators of a query as the reference's selector keeps them, where what leaves need not be
what came: then it matters when all aggregators of a group are empty (semantics 5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from lockstep.aggregators.accumulators import Feed
from lockstep.aggregators.contract import Aggregator
from lockstep.aggregators.registry import aggregators
from lockstep.aggregators.sizes import Sizes
from lockstep.columns.column import Column, Unfit, from_values
from lockstep.columns.flow import CURRENT, EXPIRED
from lockstep.columns.frame import Evaluate, Frame
from lockstep.columns.keys import Ids
from lockstep.events import AttributeType, describe
from lockstep.expressions.columns import Compiler
from lockstep.operators.errors import PROCESSING_ERRORS
from lockstep.operators.packed import PackedPairs
from lockstep.siddhiql import ast
from lockstep.siddhiql.typing import arguments_of, infer

Group = list[Aggregator]


class AggregatesByMeaning:
    """See Aggregates. Each event is taken by all calls of its group, one event behind the other.
    `grouped`: a group of which all are empty behind an event is forgotten."""

    needs_places = False

    def __init__(
        self,
        calls: Sequence[ast.FunctionCall],
        compiler: Compiler,
        *,
        is_siddhi_5_1: bool,
        grouped: bool,
    ) -> None:
        factories = aggregators(is_siddhi_5_1=is_siddhi_5_1)
        scope = compiler.scope
        self._makers: list[Callable[[], Aggregator]] = []
        for call in calls:
            factory = factories[call.namespace or "", call.name]
            self._makers.append(partial(factory, arguments_of(call, scope)))
        self._types: list[AttributeType] = [infer(call, scope) for call in calls]
        self._arguments: list[list[Evaluate]] = [
            [compiler.compile(each) for each in call.arguments] for call in calls
        ]
        self._grouped = grouped
        self._of: dict[int, dict[int, Group]] = {}
        """The groups that there are, by realm."""
        self._realm_of: dict[int, int] = {}
        self._nothing = [aggregator.value() for aggregator in self._made()]

    def __len__(self) -> int:
        return len(self._makers)

    def _made(self) -> Group:
        return [make() for make in self._makers]

    def run(self, feed: Feed, frame: Frame, groups: int, realms: int, places: int) -> list[Column]:
        """The value of each call at each event of the flow."""
        count = len(feed.kind)
        given = [
            list(zip(*(each(frame).to_pylist() for each in arguments), strict=True))
            if arguments
            else [()] * count
            for arguments in self._arguments
        ]
        values: list[list[Any]] = []
        counted = Sizes().counted
        try:
            for at, (kind, group, realm) in enumerate(
                zip(feed.kind.tolist(), feed.group.tolist(), feed.realm.tolist(), strict=True)
            ):
                own = [arguments[at] for arguments in given]
                values.append(list(map(counted, self._step(kind, group, realm, own))))
        except PROCESSING_ERRORS as error:
            raise Unfit(f"an aggregator refuses an event: {describe(error)}") from error
        by_call = list(zip(*values, strict=True)) if values else [()] * len(self)
        return [
            from_values(type_, list(own)) for type_, own in zip(self._types, by_call, strict=True)
        ]

    def _step(self, kind: int, group: int, realm: int, given: Sequence[tuple[Any, ...]]) -> Any:
        if kind not in (CURRENT, EXPIRED):
            self._reset(realm)
            return self._nothing
        own = self._group(group, realm)
        for aggregator, arguments in zip(own, given, strict=True):
            if kind == CURRENT:
                aggregator.add(*arguments)
            else:
                aggregator.remove(*arguments)
        values = [aggregator.value() for aggregator in own]
        if self._is_over(own):
            del self._of[realm][group]
        return values

    def _group(self, group: int, realm: int) -> Group:
        groups = self._of.setdefault(realm, {})
        own = groups.get(group)
        if own is None:
            own = groups[group] = self._made()
            self._realm_of[group] = realm
        return own

    def _is_over(self, own: Group) -> bool:
        return self._grouped and all(aggregator.is_empty() for aggregator in own)

    def _reset(self, realm: int) -> None:
        groups = self._of.get(realm, {})
        for own in groups.values():
            for aggregator in own:
                aggregator.reset()
        self._of[realm] = {group: own for group, own in groups.items() if not self._is_over(own)}

    # --- groups ----------------------------------------------------------------------------------

    def live(self, groups: int) -> npt.NDArray[np.bool_]:
        """Which groups there are."""
        found = np.zeros(groups, np.bool_)
        found[[group for own in self._of.values() for group in own]] = True
        return found

    def move(self, moved: Ids, groups: int) -> None:
        """Groups got new ids (-1: gone)."""
        self._of = {
            realm: {int(moved[group]): each for group, each in own.items() if moved[group] >= 0}
            for realm, own in self._of.items()
        }
        self._realm_of = {group: realm for realm, own in self._of.items() for group in own}

    def reserve(self, groups: int, realms: int, places: int) -> None:
        """There is room."""

    # --- state, as the reference's selector has it -----------------------------------------------

    def store(self, groups: Ids) -> list[list[Any]]:
        """The states of the calls' aggregators for groups."""
        stored = []
        for group in groups.tolist():
            own = self._of.get(self._realm_of.get(group, group), {}).get(group) or self._made()
            stored.append([aggregator.snapshot() for aggregator in own])
        return stored

    def load(self, groups: Ids, realm: int, states: Sequence[Sequence[Any]]) -> None:
        """Takes over what `store` gave, for groups of one realm."""
        for group, saved in zip(groups.tolist(), states, strict=True):
            for aggregator, state in zip(self._group(group, realm), saved, strict=True):
                aggregator.restore(state.pairs() if isinstance(state, PackedPairs) else state)

    def refeed(self, feed: Feed, frame: Frame) -> None:
        """Nothing is known by its place."""
