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
from lockstep.aggregators.sizes import Sizes
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
        self._of: dict[int, dict[int, Aggregator]] = {}
        """The groups that there are, by realm: a mark empties those of one realm, and may come
        every few events."""
        self._groups = 0
        self.realm_of = np.zeros(0, np.int64)

    def reserve(self, groups: int, realms: int, places: int) -> None:
        self._groups = groups
        self.realm_of = grown(self.realm_of, max(groups, 1))

    def run(self, feed: Feed, arguments: Sequence[Column]) -> None:
        rows = zip(*(each.to_pylist() for each in arguments), strict=True)
        given = rows if arguments else [()] * len(feed.kind)
        steps = zip(
            feed.kind.tolist(), feed.group.tolist(), feed.realm.tolist(), given, strict=True
        )
        counted = Sizes().counted
        try:
            values = [counted(self._step(*step)) for step in steps]
        except PROCESSING_ERRORS as error:
            raise Unfit(f"an aggregator refuses an event: {describe(error)}") from error
        self._out = from_values(self._type, values)

    def _step(self, kind: int, group: int, realm: int, given: tuple[Any, ...]) -> Any:
        if kind not in (CURRENT, EXPIRED):
            self._reset(realm)
            # Nobody wants it, but functions of it are called.
            return self._fresh.value()
        groups = self._of.setdefault(realm, {})
        aggregator = groups.get(group)
        if aggregator is None:
            aggregator = groups[group] = self._make()
            self.realm_of[group] = realm
        if kind == CURRENT:
            aggregator.add(*given)
            return aggregator.value()
        aggregator.remove(*given)
        if self._forgets and aggregator.is_empty():
            del groups[group]
        return aggregator.value()

    def _reset(self, realm: int) -> None:
        groups = self._of.get(realm, {})
        for aggregator in groups.values():
            aggregator.reset()
        if self._forgets:
            self._of[realm] = {at: own for at, own in groups.items() if not own.is_empty()}

    def result(self, name: str) -> Column:
        return self._out

    def live(self) -> npt.NDArray[np.bool_]:
        found = np.zeros(self._groups, np.bool_)
        groups = (each for own in self._of.values() for each in own.items())
        found[[group for group, own in groups if not own.is_empty()]] = True
        return found

    def move(self, moved: Ids, groups: int) -> None:
        kept = np.flatnonzero(moved >= 0)
        self.realm_of[moved[kept]] = self.realm_of[kept]
        self._of = {
            realm: {int(moved[group]): own for group, own in groups.items() if moved[group] >= 0}
            for realm, groups in self._of.items()
        }
        self._groups = groups

    def store(self, groups: Ids) -> list[Any]:
        named = zip(groups.tolist(), self.realm_of[groups].tolist(), strict=True)
        own = (self._of.get(realm, {}).get(group, self._fresh) for group, realm in named)
        return [aggregator.snapshot() for aggregator in own]

    def load(self, groups: Ids, states: Sequence[Any]) -> None:
        realms = self.realm_of[groups].tolist()
        for group, realm, state in zip(groups.tolist(), realms, states, strict=True):
            aggregator = self._of.setdefault(realm, {})[group] = self._make()
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
