"""How events find rows of a table on columns: by index where the condition allows, else among all
rows (semantics 9, 10)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from lockstep.columns.column import Column, Longs, Mask, from_values
from lockstep.columns.frame import Evaluate, Frame, Rows
from lockstep.columns.keys import Ids
from lockstep.expressions.columns import Compiler
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedOnDemand
from lockstep.siddhiql.scope import Scope
from lockstep.streams.columns import Condition
from lockstep.tables.chains import Found, Keep
from lockstep.tables.meaning.conditions import compares_alike, conjuncts, equalities, reads_row
from lockstep.tables.reading import has, read, scan
from lockstep.tables.scan import MIRRORED, Bound
from lockstep.tables.store import TableStore
from lockstep.tables.writers import looked_in


def stored_for(question: CheckedOnDemand, table: TableStore) -> Any:
    """What a question that looks at this table alone may find, as the reference's table has it: by
    the primary key one row."""
    key = _key_of(question, table)
    if key is None:
        return table.store()
    index = table.index(table.primary)
    return table.store(table.places(index.number, int(index.ids(key, create=False)[0])))


def _key_of(question: CheckedOnDemand, table: TableStore) -> list[Column] | None:
    """The primary key that an on-demand query names by constants of the key's own types."""
    found, _ = equalities(question.query.on, question.scope, 0)
    values = {each.attribute: each.value for each in found}
    key: list[Column] = []
    for attribute in table.primary:
        value, type_ = values.get(attribute), table.schema.types[attribute]
        if not isinstance(value, ast.Constant) or value.type is not type_ or value.value is None:
            return None
        key.append(from_values(type_, [value.value]))
    return key or None


@dataclass(frozen=True, eq=False)
class _Within:
    """A comparison of an attribute with what an event has, and what a condition says beside it."""

    attribute: int
    operator: ast.CompareOperator
    limit: Evaluate
    rest: Condition | None

    def bound(self, events: Frame) -> Bound:
        return Bound(self.attribute, self.operator, self.limit(events))


def _within(on: ast.Expression, scope: Scope, slot: int) -> _Within | None:
    """The first part of a condition that bounds an attribute of the row, of numbers that compare as
    they are; None where there is none, or where its other parts may fail of other rows."""
    parts = list(conjuncts(on))
    for number, part in enumerate(parts):
        if not isinstance(part, ast.Compare) or part.operator not in MIRRORED:
            continue
        mirrored = MIRRORED[part.operator]
        for row, limit, operator in (
            (part.left, part.right, part.operator),
            (part.right, part.left, mirrored),
        ):
            if not isinstance(row, ast.Variable) or not _is_plain(limit):
                continue
            if reads_row(limit, scope, slot):
                continue
            ref, compiler = scope.resolve(row), Compiler(scope)
            types = ref.type, compiler.type_of(limit)
            if ref.slot != slot or ref.is_list or not compares_alike(*types):
                continue
            others = [*parts[:number], *parts[number + 1 :]]
            rest = compiler.condition(reduce(ast.And, others)) if others else None
            found = _Within(ref.attribute, operator, compiler.compile(limit), rest)
            return None if compiler.may_fail else found
    return None


def _is_plain(limit: ast.Expression) -> bool:
    """Whether it calls nothing, so that an event has one value for all rows."""
    if isinstance(limit, ast.Arithmetic):
        return _is_plain(limit.left) and _is_plain(limit.right)
    return isinstance(limit, ast.Constant | ast.Variable)


class Lookup:
    """Finds the rows (in `slot` of the scope) for which `on` holds, and `keeps`, which see the row
    alone."""

    def __init__(
        self,
        on: ast.Expression | None,
        scope: Scope,
        slot: int,
        table: TableStore,
        keeps: Sequence[Condition] = (),
    ) -> None:
        found, exact = equalities(on, scope, slot)
        values = {equality.attribute: equality.value for equality in found}
        compiler = Compiler(scope)
        self._table = table
        self._slot = slot
        self._index = table.index(looked_in(found, table))
        self._wanted = [compiler.compile(values[each]) for each in self._index.attributes]
        for value in values.values():
            compiler.type_of(value)
        self._keeps = keeps
        self._rest: Condition | None = None
        if on is not None and not (exact and len(values) == len(self._index.attributes)):
            self._rest = compiler.condition(on)
        self._within = None
        if on is not None and not self._wanted:
            self._within = _within(on, scope, slot)

    def find(self, events: Frame, before: Longs) -> Found:
        """The rows for each event, when so many of the slice's writes were done."""
        if self._wanted or not self._table.scans:
            keep = self._keep(events, self._rest)
            return read(self._table, self._index, self._looked_for(events), before, keep)
        if self._within is not None and len(events):
            bound = self._within.bound(events)
            found = scan(self._table, before, self._keep(events, self._within.rest), bound)
            if found is not None:
                return found
        found = scan(self._table, before, self._keep(events, self._rest), None)
        assert found is not None
        return found

    def _looked_for(self, events: Frame) -> Ids:
        """The key of the index for each event."""
        if not self._wanted or not len(events):
            return np.zeros(len(events), np.int64)
        return self._index.ids([value(events) for value in self._wanted], create=False)

    def _keep(self, events: Frame, rest: Condition | None) -> Keep | None:
        """What is asked of pairs beside the index or bound that found them."""
        if rest is None and not self._keeps:
            return None

        def keep(reads: Longs, places: Longs) -> Mask:
            mask = np.ones(len(reads), np.bool_)
            if rest is not None:
                mask &= rest(self.pairs(events, reads, places))
            for condition in self._keeps:
                mask &= condition(self._rows(places))
            return mask

        return keep

    def contains(self, events: Frame, before: Longs) -> Mask:
        """Whether each event finds any."""
        if self._wanted and self._rest is None and not self._keeps:
            has_any = has(self._table, self._index, self._looked_for(events), before)
            if has_any is not None:
                return has_any
        found = np.zeros(len(events), np.bool_)
        found[self.find(events, before)[0]] = True
        return found

    def pairs(self, events: Frame, reads: Longs, places: Longs) -> Rows:
        """Some of the events beside rows."""
        table = self._table

        def find(slot: int, attribute: int) -> Column:
            if slot == self._slot:
                return table.column(attribute, places)
            return events.column(slot, attribute).take(reads)

        def absent(slot: int) -> Mask | None:
            if slot == self._slot:
                gone = places < 0
                return gone if gone.any() else None
            mask = events.absent(slot)
            return None if mask is None else mask[reads]

        return Rows(
            len(reads), find, lambda: events.times()[reads], lambda: events.now()[reads], absent
        )

    def _rows(self, places: Longs) -> Rows:
        table = self._table
        return Rows(
            len(places),
            lambda slot, attribute: table.column(attribute, places),
            lambda: table.times_of(places),
            lambda: table.times_of(places),
        )
