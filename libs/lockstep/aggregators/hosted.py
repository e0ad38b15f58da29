"""Any aggregator in the midst of columns: its meaning takes a group's events one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from lockstep.aggregators.accumulators import Chosen, Feed, grown
from lockstep.aggregators.contract import Aggregator
from lockstep.aggregators.registry import aggregators
from lockstep.columns.column import Column, Unfit, from_values
from lockstep.columns.flow import CURRENT, EXPIRED
from lockstep.columns.keys import Ids
from lockstep.events import AttributeType, describe
from lockstep.expressions.columns import Compiler
from lockstep.operators.errors import PROCESSING_ERRORS
from lockstep.operators.packed import PackedPairs
from lockstep.siddhiql import ast
from lockstep.siddhiql.typing import arguments_of, infer


class Hosted:
    """See Accumulator. An aggregator for each group; `forgets` those that are empty, as a selector
    does that groups."""

    needs_places = False

    def __init__(
        self, make: Callable[[], Aggregator], type_: AttributeType, *, forgets: bool
    ) -> None:
        self._make = make
        self._forgets = forgets
        self._fresh = make()
        self._type = type_
        self._of: dict[int, Aggregator] = {}
        self._groups = 0
        self.realm_of = np.zeros(0, np.int64)

    def reserve(self, groups: int, realms: int, places: int) -> None:
        self._groups = groups
        self.realm_of = grown(self.realm_of, max(groups, 1))

    def run(self, feed: Feed, arguments: Sequence[Column]) -> None:
        self.realm_of[feed.group] = feed.realm
        rows = zip(*(each.to_pylist() for each in arguments), strict=True)
        given = rows if arguments else [()] * len(feed.kind)
        steps = zip(
            feed.kind.tolist(), feed.group.tolist(), feed.realm.tolist(), given, strict=True
        )
        try:
            values = [self._step(*step) for step in steps]
        except PROCESSING_ERRORS as error:
            raise Unfit(f"an aggregator refuses an event: {describe(error)}") from error
        self._out = from_values(self._type, values)

    def _step(self, kind: int, group: int, realm: int, given: tuple[Any, ...]) -> Any:
        if kind not in (CURRENT, EXPIRED):
            self._reset(realm)
            # Nobody wants it, but functions of it are called.
            return self._fresh.value()
        aggregator = self._of.get(group)
        if aggregator is None:
            aggregator = self._of[group] = self._make()
        if kind == CURRENT:
            aggregator.add(*given)
            return aggregator.value()
        aggregator.remove(*given)
        if self._forgets and aggregator.is_empty():
            del self._of[group]
        return aggregator.value()

    def _reset(self, realm: int) -> None:
        for group, aggregator in list(self._of.items()):
            if self.realm_of[group] == realm:
                aggregator.reset()
                if self._forgets and aggregator.is_empty():
                    del self._of[group]

    def result(self, name: str) -> Column:
        return self._out

    def live(self) -> npt.NDArray[np.bool_]:
        found = np.zeros(self._groups, np.bool_)
        found[[group for group, own in self._of.items() if not own.is_empty()]] = True
        return found

    def move(self, moved: Ids, groups: int) -> None:
        kept = np.flatnonzero(moved >= 0)
        self.realm_of[moved[kept]] = self.realm_of[kept]
        self._of = {int(moved[group]): own for group, own in self._of.items() if moved[group] >= 0}
        self._groups = groups

    def store(self, groups: Ids) -> list[Any]:
        return [self._of.get(group, self._fresh).snapshot() for group in groups.tolist()]

    def load(self, groups: Ids, states: Sequence[Any]) -> None:
        for group, state in zip(groups.tolist(), states, strict=True):
            aggregator = self._of[group] = self._make()
            aggregator.restore(state.pairs() if isinstance(state, PackedPairs) else state)


def hosted(
    call: ast.FunctionCall, compiler: Compiler, *, is_siddhi_5_1: bool, forgets: bool
) -> Chosen:
    """A call of any aggregator."""
    name = (call.namespace or "", call.name)
    factory = aggregators(is_siddhi_5_1=is_siddhi_5_1)[name]
    make = partial(factory, arguments_of(call, compiler.scope))
    type_ = infer(call, compiler.scope)
    return Chosen(name, lambda: Hosted(make, type_, forgets=forgets))
