"""The aggregator calls of a query on accumulators; equal calls share one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lockstep.aggregators.accumulators import (
    Accumulator,
    Counts,
    Feed,
    FloatDeviations,
    IntegerDeviations,
    Totals,
)
from lockstep.aggregators.extremes_columns import (
    DistinctCounts,
    Extremes,
    SlidingExtremes,
    UnorderedExtremes,
)
from lockstep.columns.column import Column
from lockstep.columns.expressions import Compiler, Evaluate, NotLowerable
from lockstep.columns.frame import Frame
from lockstep.columns.keys import Ids
from lockstep.events import AttributeType
from lockstep.operators.packed import PackedPairs
from lockstep.siddhiql import ast
from lockstep.siddhiql.typing import is_aggregator

_WHOLE = (AttributeType.INT, AttributeType.LONG)
_EXTREMES = {"min": 1, "max": -1}
_FOREVER = {"minForever": 1, "maxForever": -1}


def calls_in(expression: ast.Expression, functions: Any) -> Iterable[ast.FunctionCall]:
    """The aggregator calls, in the order in which the reference compiles them."""
    match expression:
        case ast.FunctionCall():
            if is_aggregator(expression, functions):
                yield expression
                return
            for argument in expression.arguments:
                yield from calls_in(argument, functions)
        case (
            ast.Arithmetic(left=left, right=right)
            | ast.Compare(left=left, right=right)
            | ast.And(left=left, right=right)
            | ast.Or(left=left, right=right)
        ):
            yield from calls_in(left, functions)
            yield from calls_in(right, functions)
        case ast.Not(operand=operand) | ast.IsNull(operand=operand):
            if not isinstance(operand, ast.EventReference):
                yield from calls_in(operand, functions)


class Aggregates:
    """Running values of all calls.

    `slides`: events leave one by one, in order of arrival by group (`in_order`) or not; else they
    only leave all at once. `has_places`: they are rows in places.
    """

    def __init__(
        self,
        calls: Sequence[ast.FunctionCall],
        compiler: Compiler,
        *,
        slides: bool,
        in_order: bool = True,
        has_places: bool = False,
    ) -> None:
        self._slides = slides
        self._has_places = has_places
        self._in_order = in_order
        self._calls: list[tuple[str, int]] = []
        self._accumulators: list[Accumulator] = []
        self._arguments: list[Evaluate | None] = []
        self._known: dict[Any, int] = {}
        for call in calls:
            self._calls.append((call.name, self._index(call, compiler)))

    def __len__(self) -> int:
        return len(self._calls)

    @property
    def needs_places(self) -> bool:
        """Whether some accumulator follows rows by their place."""
        return any(isinstance(each, SlidingExtremes) for each in self._accumulators)

    def _index(self, call: ast.FunctionCall, compiler: Compiler) -> int:
        if call.namespace is not None:
            raise NotLowerable(f"the aggregator {call.namespace}:{call.name}")
        argument = call.arguments[0] if call.arguments else None
        if call.name == "count":
            key: Any = ("count",)
            made: Any = Counts
            argument = None
        elif argument is None:
            raise NotLowerable(f"{call.name}() without an argument")
        else:
            key, made = self._choose(call.name, compiler.type_of(argument), argument)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = len(self._accumulators)
            self._accumulators.append(made())
            self._arguments.append(None if argument is None else compiler.compile(argument))
        return found

    def _choose(self, name: str, type_: AttributeType, argument: ast.Expression) -> tuple[Any, Any]:
        whole = type_ in _WHOLE
        if name in ("sum", "avg"):
            return ("total", argument), lambda: Totals(whole=whole)
        if name == "stdDev":
            return ("deviation", argument), IntegerDeviations if whole else FloatDeviations
        if name == "distinctCount":
            return ("distinct", argument), DistinctCounts
        if name in _FOREVER:
            sign = _FOREVER[name]
            return (name, argument), lambda: Extremes(type_, sign, forever=True)
        if name in _EXTREMES:
            sign = _EXTREMES[name]
            if not self._slides:
                return (name, argument), lambda: Extremes(type_, sign)
            if self._in_order:
                return (name, argument), lambda: SlidingExtremes(type_, sign)
            if self._has_places:
                return (name, argument), lambda: UnorderedExtremes(type_, sign)
        raise NotLowerable(f"the aggregator {name}")

    def run(self, feed: Feed, frame: Frame, groups: int, realms: int, places: int) -> list[Column]:
        """The value of each call at each event of the flow."""
        for accumulator, argument in zip(self._accumulators, self._arguments, strict=True):
            accumulator.reserve(groups, realms, places)
            accumulator.run(feed, None if argument is None else argument(frame))
        return [self._accumulators[index].result(name) for name, index in self._calls]

    def live(self, groups: int) -> npt.NDArray[np.bool_]:
        """Which groups hold anything."""
        found = np.zeros(groups, np.bool_)
        for accumulator in self._accumulators:
            own = accumulator.live()
            found[: len(own)] |= own
        return found

    def move(self, moved: Ids, groups: int) -> None:
        """Groups got new ids."""
        for accumulator in self._accumulators:
            accumulator.move(moved, groups)

    # --- state, as the reference's selector has it -----------------------------------------------

    def store(self, groups: Ids) -> list[list[Any]]:
        """The states of the calls' aggregators for groups; None for those that `of_rows` tells."""
        if not len(groups):
            return []
        by_call: list[Sequence[Any]] = []
        for _, index in self._calls:
            accumulator = self._accumulators[index]
            is_held = isinstance(accumulator, SlidingExtremes)
            by_call.append([None] * len(groups) if is_held else accumulator.store(groups))
        return list(map(list, zip(*by_call, strict=True)))

    def of_rows(self, states: list[Any], held: Frame | None) -> list[Any]:
        """A group's states with those that are made of the rows it holds."""
        for place, (_, index) in enumerate(self._calls):
            accumulator, argument = self._accumulators[index], self._arguments[index]
            if isinstance(accumulator, SlidingExtremes):
                assert held is not None
                assert argument is not None
                states[place] = _copies(argument(held), accumulator.sign)
        return states

    def load(self, groups: Ids, realm: int, states: Sequence[Sequence[Any]]) -> None:
        """Takes over what `store` gave, for groups of one realm; sliding extremes wait for
        `refeed`."""
        for place, (_, index) in enumerate(self._calls):
            accumulator: Any = self._accumulators[index]
            accumulator.realm_of[groups] = realm
            accumulator.load(groups, [state[place] for state in states])

    def reserve(self, groups: int, realms: int, places: int) -> None:
        """Makes room."""
        for accumulator in self._accumulators:
            accumulator.reserve(groups, realms, places)

    def refeed(self, feed: Feed, frame: Frame) -> None:
        """After a restore: what the window holds enters the sliding extremes again."""
        for accumulator, argument in zip(self._accumulators, self._arguments, strict=True):
            if isinstance(accumulator, SlidingExtremes):
                assert argument is not None
                accumulator.run(feed, argument(frame))


def _copies(values: Column, sign: int) -> PackedPairs:
    """How often each number occurs, times `sign`, ascending: what the reference's min and max
    keep."""
    numbers = values.values if values.nulls is None else values.values[~values.nulls]
    numbers = numbers.astype(np.float64 if numbers.dtype.kind == "f" else np.int64)
    if numbers.dtype.kind == "f":
        numbers = numbers[~np.isnan(numbers)]
    found, counts = np.unique(numbers, return_counts=True)
    if sign < 0:
        found, counts = -found[::-1], counts[::-1]
    return PackedPairs.of(pa.array(found), pa.array(counts.astype(np.int64)))
