"""The aggregator calls of a query on accumulators; equal calls share one."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lockstep.aggregators.accumulators import Accumulator, Choose, Chosen, Feed, Leaves
from lockstep.aggregators.hosted import hosted
from lockstep.columns.column import Column
from lockstep.columns.frame import Evaluate, Frame
from lockstep.columns.keys import Ids
from lockstep.expressions.columns import Compiler
from lockstep.siddhiql import ast
from lockstep.siddhiql.catalogue import ExtensionKind
from lockstep.siddhiql.catalogue.aggregators import AggregatorExtension
from lockstep.siddhiql.catalogue.core import default_catalogue
from lockstep.siddhiql.typing import infer


class Aggregates:
    """Running values of all calls; `leaves` tells how events leave, `is_siddhi_5_1` whose meaning
    they have, `grouped` whether groups that are empty are forgotten."""

    def __init__(
        self,
        calls: Sequence[ast.FunctionCall],
        compiler: Compiler,
        leaves: Leaves,
        *,
        is_siddhi_5_1: bool = False,
        grouped: bool = False,
    ) -> None:
        self._calls: list[tuple[str, int]] = []
        self._accumulators: list[Accumulator] = []
        self._arguments: list[list[Evaluate]] = []
        known: dict[Any, int] = {}
        for call in calls:
            chosen = _chosen(call, compiler, leaves) or hosted(
                call, compiler, is_siddhi_5_1=is_siddhi_5_1, forgets=grouped
            )
            arguments = call.arguments if chosen.reads else ()
            index = known.setdefault((chosen.share, arguments), len(self._accumulators))
            self._calls.append((call.name, index))
            if index == len(self._accumulators):
                self._accumulators.append(chosen.make())
                self._arguments.append([compiler.compile(each) for each in arguments])

    def __len__(self) -> int:
        return len(self._calls)

    @property
    def needs_places(self) -> bool:
        """Whether some accumulator follows rows by their place."""
        return any(each.needs_places for each in self._accumulators)

    def run(self, feed: Feed, frame: Frame, groups: int, realms: int, places: int) -> list[Column]:
        """The value of each call at each event of the flow."""
        for accumulator, arguments in zip(self._accumulators, self._arguments, strict=True):
            accumulator.reserve(groups, realms, places)
            accumulator.run(feed, [argument(frame) for argument in arguments])
        return [self._accumulators[index].result(name) for name, index in self._calls]

    def live(self, groups: int) -> npt.NDArray[np.bool_]:
        """Which groups hold anything."""
        found = np.zeros(groups, np.bool_)
        for accumulator in self._accumulators:
            own = accumulator.live()
            found[: len(own)] |= own
        return found

    def move(self, moved: Ids, groups: int) -> None:
        for accumulator in self._accumulators:
            accumulator.move(moved, groups)

    # --- state, as the reference's selector has it -----------------------------------------------

    def store(self, groups: Ids) -> list[list[Any]]:
        """The states of the calls' aggregators for groups; None for those that `of_rows` tells."""
        if not len(groups):
            return []
        by_call = [self._accumulators[index].store(groups) for _, index in self._calls]
        return list(map(list, zip(*by_call, strict=True)))

    def of_rows(self, groups: Ids, states: list[list[Any]], held: Frame, group: Ids) -> None:
        """Puts those into the groups' states that are made of the rows they hold; `group` tells
        whose each of these is."""
        for place, (_, index) in enumerate(self._calls):
            accumulator: Any = self._accumulators[index]
            if accumulator.needs_places:
                (argument,) = self._arguments[index]
                own = accumulator.state_of(argument(held), group, groups)
                for state, made in zip(states, own, strict=True):
                    state[place] = made

    def load(self, groups: Ids, realm: int, states: Sequence[Sequence[Any]]) -> None:
        """Takes over what `store` gave, for groups of one realm; what needs places waits for
        `refeed`."""
        for place, (_, index) in enumerate(self._calls):
            accumulator: Any = self._accumulators[index]
            accumulator.realm_of[groups] = realm
            accumulator.load(groups, [state[place] for state in states])

    def reserve(self, groups: int, realms: int, places: int) -> None:
        for accumulator in self._accumulators:
            accumulator.reserve(groups, realms, places)

    def refeed(self, feed: Feed, frame: Frame) -> None:
        """After a restore: what the window holds enters again where it is known by its place."""
        for accumulator, arguments in zip(self._accumulators, self._arguments, strict=True):
            if accumulator.needs_places:
                accumulator.run(feed, [argument(frame) for argument in arguments])


def _chosen(call: ast.FunctionCall, compiler: Compiler, leaves: Leaves) -> Chosen | None:
    """How a call runs in columns of its own; None where its meaning has to."""
    found = default_catalogue().find(ExtensionKind.AGGREGATOR, call.namespace, call.name)
    if isinstance(found, AggregatorExtension) and found.columns:
        types = [infer(argument, compiler.scope) for argument in call.arguments]
        choose: Choose = importlib.import_module(found.columns).choose
        return choose(call.name, types, leaves)
    return None
