"""Each aggregator in columns against its meaning: values, states, groups with new numbers."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pytest

from lockstep.aggregators.accumulators import Choose, Feed, Leaves
from lockstep.aggregators.hosted import Hosted
from lockstep.columns.column import from_values
from lockstep.events import AttributeType
from lockstep.operators.packed import PackedPairs
from lockstep.siddhiql.catalogue import Argument, Parameter
from lockstep.siddhiql.catalogue.aggregators import AggregatorExtension
from lockstep.siddhiql.catalogue.core import default_catalogue
from lockstep.siddhiql.catalogue.matching import match

VALUES: dict[AttributeType, Sequence[Any]] = {
    AttributeType.STRING: ('{"a":1}', '{"a":2}', '{"b":1}'),
    AttributeType.INT: (3, 7, -2, 7),
    AttributeType.LONG: (5, 0, 1 << 20),
    AttributeType.FLOAT: (0.5, 1.25, -3.0),
    AttributeType.DOUBLE: (0.1, 0.2, 1e10, -7.5),
    AttributeType.BOOL: (True, False),
}
OBJECTS: dict[str, Sequence[Any]] = {
    "set": (frozenset({1, 2}), frozenset({2})),
    "list": ([1, 2], [2]),
}
MAPS = ({"k": 1}, {"k": 2, "l": 3})
ORDERS = {
    "in order": Leaves(slides=True, in_order=True, has_places=True),
    "in any order": Leaves(slides=True, in_order=False, has_places=True),
    "without places": Leaves(slides=True, in_order=False, has_places=False),
    "together": Leaves(slides=False, in_order=True, has_places=True),
}
GROUPS, REALM_OF = 3, (0, 0, 1)
Call = tuple[AggregatorExtension, tuple[Argument, ...], tuple[Sequence[Any], ...]]


def _argument(parameter: Parameter, type_: AttributeType) -> tuple[Argument, Sequence[Any]]:
    if parameter.constant:
        value = {"p": 50.0, "distinct": True, "order": "DESC"}[parameter.name]
        return Argument(type_, is_constant=True, value=value), (value,)
    drawn = VALUES.get(type_) or OBJECTS.get(parameter.name, MAPS)
    # and/or refuse nulls, and so do what takes apart lists and maps.
    refuses = type_ in (AttributeType.BOOL, AttributeType.OBJECT)
    return Argument(type_), drawn if refuses else (*drawn, None)


def calls() -> list[Any]:
    """A call for each type of the first parameter of each overload of each aggregator."""
    found = []
    for each in default_catalogue().aggregators():
        for overload in each.overloads:
            first = overload.parameters[0].types if overload.parameters else (AttributeType.INT,)
            for type_ in first or (AttributeType.LONG,):
                types = (
                    type_,
                    *(p.types[0] if p.types else type_ for p in overload.parameters[1:]),
                )
                made = list(map(_argument, overload.parameters, types))
                call = (each, tuple(a for a, _ in made), tuple(values for _, values in made))
                title = f"{each.namespace or ''}:{each.name}({','.join(types[: len(made)])})"
                found.append(pytest.param(call, id=title))
    return found


def accumulator(call: Call, leaves: Leaves) -> Any:
    """What runs a call in columns."""
    extension, arguments, _ = call
    if extension.columns:
        choose: Choose = importlib.import_module(extension.columns).choose
        chosen = choose(extension.name, [argument.type for argument in arguments], leaves)
        if chosen is not None:
            return chosen.make()
    _, type_ = match(extension, arguments)
    assert type_ is not None
    return Hosted(lambda: meaning(call), type_, forgets=False)


def meaning(call: Call) -> Any:
    """The reference."""
    extension, arguments, _ = call
    assert extension.make is not None
    return extension.make(arguments)


class Both:
    """A call in columns, and by group as the reference runs it."""

    def __init__(self, call: Call, leaves: Leaves) -> None:
        self.call, self.leaves = call, leaves
        self.columns: Any = accumulator(call, leaves)
        self.columns.reserve(GROUPS, 2, 400)
        self.reference = [meaning(call) for _ in range(GROUPS)]
        self.inside: list[tuple[int, int, tuple[Any, ...]]] = []
        """(place, group, values) of what has come and not left."""
        self._places = 0

    def steps(self, random: Random, count: int) -> None:
        """Random events, at each of which both have the same value."""
        lines: list[tuple[int, int, int, int, tuple[Any, ...]]] = []
        expected: list[Any] = []
        for _ in range(count):
            kind, place, group, values = self._drawn(random)
            if kind == 3:
                for other, aggregator in enumerate(self.reference):
                    if REALM_OF[other] == REALM_OF[group]:
                        aggregator.reset()
                realm = REALM_OF[group]
                self.inside = [each for each in self.inside if REALM_OF[each[1]] != realm]
            elif kind == 0:
                self.reference[group].add(*values)
            else:
                self.reference[group].remove(*values)
            lines.append((kind, group, REALM_OF[group], place, values))
            expected.append(None if kind == 3 else self.reference[group].value())
        found = self._fed(lines)
        marks = [line[0] == 3 for line in lines]
        assert [v for v, m in zip(found, marks, strict=True) if not m] == [
            v for v, m in zip(expected, marks, strict=True) if not m
        ]

    def _drawn(self, random: Random) -> tuple[int, int, int, tuple[Any, ...]]:
        leaving = self.inside and random.random() < 0.45
        if leaving and self.leaves.slides:
            at = 0 if self.leaves.in_order else random.randrange(len(self.inside))
            return (1, *self.inside.pop(at))
        group = random.randrange(GROUPS)
        values = tuple(random.choice(each) for each in self.call[2])
        if not self.leaves.slides and random.random() < 0.1:
            return 3, 0, group, values
        self._places += 1
        self.inside.append((self._places, group, values))
        return 0, self._places, group, values

    def _fed(self, lines: Sequence[tuple[int, int, int, int, tuple[Any, ...]]]) -> list[Any]:
        kind, group, realm, place = (
            np.array([line[i] for line in lines], np.int64) for i in range(4)
        )
        columns = [
            from_values(argument.type, [line[4][i] for line in lines])
            for i, argument in enumerate(self.call[1])
        ]
        self.columns.run(Feed(kind.astype(np.int8), group, realm, place), columns)
        found: list[Any] = self.columns.result(self.call[0].name).to_pylist()
        return found

    def hop(self) -> None:
        """Both go on from each other's states."""
        groups, old = np.arange(GROUPS), self.columns
        states = self._states(old)
        self.columns = accumulator(self.call, self.leaves)
        self.columns.reserve(GROUPS, 2, 400)
        self.columns.realm_of[groups] = REALM_OF
        self.columns.load(groups, [each.snapshot() for each in self.reference])
        if self.columns.needs_places and self.inside:
            self._fed([(0, group, REALM_OF[group], at, v) for at, group, v in self.inside])
        for aggregator, state in zip(self.reference, states, strict=True):
            aggregator.restore(state.pairs() if isinstance(state, PackedPairs) else state)

    def _states(self, columns: Any) -> list[Any]:
        if not columns.needs_places:
            stored: list[Any] = columns.store(np.arange(GROUPS))
            return stored
        type_ = self.call[1][0].type
        group = np.array([g for _, g, _ in self.inside], np.int64)
        held = from_values(type_, [v[0] for _, _, v in self.inside])
        made: list[Any] = columns.state_of(held, group, np.arange(GROUPS))
        return made

    def turn(self) -> None:
        """The first two groups change their numbers, and with those their places in the lists."""
        self.columns.move(np.array([1, 0, 2]), GROUPS)
        self.reference[:2] = self.reference[1::-1]
        self.inside = [(at, (1, 0, 2)[group], v) for at, group, v in self.inside]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("call", calls())
def test_columns_bring_what_the_meaning_brings(call: Call, order: str) -> None:
    """On the way, after states were exchanged, and after groups were renumbered."""
    random = Random(7)
    both = Both(call, ORDERS[order])
    both.steps(random, 60)
    both.hop()
    both.steps(random, 60)
    both.turn()
    both.steps(random, 60)
    live = both.columns.live().tolist()
    assert all(live[i] for i, each in enumerate(both.reference) if not each.is_empty())
