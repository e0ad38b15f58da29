"""How events find rows of a table on columns: by index where the condition allows, else among all
rows (semantics 9, 10)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lockstep.columns.column import Column, Longs, Mask, from_values
from lockstep.columns.frame import Frame, Rows
from lockstep.expressions.columns import Compiler
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedOnDemand
from lockstep.siddhiql.scope import Scope
from lockstep.streams.columns import Condition
from lockstep.tables.meaning.conditions import equalities
from lockstep.tables.store import Found, TableStore
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

    def find(self, events: Frame, before: Longs) -> Found:
        """The rows for each event, when so many of the slice's writes were done."""
        wanted = np.zeros(len(events), np.int64)
        if self._wanted and len(events):
            values = [value(events) for value in self._wanted]
            wanted = self._index.ids(values, create=False)

        def keep(reads: Longs, places: Longs) -> Mask:
            mask = np.ones(len(reads), np.bool_)
            if self._rest is not None:
                mask &= self._rest(self.pairs(events, reads, places))
            for condition in self._keeps:
                mask &= condition(self._rows(places))
            return mask

        if self._rest is None and not self._keeps:
            return self._table.read(self._index, wanted, before, None)
        return self._table.read(self._index, wanted, before, keep)

    def contains(self, events: Frame, before: Longs) -> Mask:
        """Whether each event finds any."""
        found = np.zeros(len(events), np.bool_)
        found[self.find(events, before)[0]] = True
        return found

    def pairs(self, events: Frame, reads: Longs, places: Longs) -> Rows:
        """Some of the events beside rows."""
        held = self._table.held

        def find(slot: int, attribute: int) -> Column:
            if slot == self._slot:
                return held.column(attribute, places)
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
        held = self._table.held
        return Rows(
            len(places),
            lambda slot, attribute: held.column(attribute, places),
            lambda: held.times[places],
            lambda: held.times[places],
        )
