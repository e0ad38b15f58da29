"""Foretold writes as a unit, and as a writer of their table (tables.foretold)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from lockstep.columns.chunks import Chunks
from lockstep.columns.column import Column, from_values, truth
from lockstep.columns.frame import Evaluate
from lockstep.columns.lazy import LazyColumns
from lockstep.columns.moves import Moves
from lockstep.columns.output import Output
from lockstep.columns.rule import NotLowerable
from lockstep.columns.units import States
from lockstep.events import AttributeType
from lockstep.plan import QueryNode
from lockstep.siddhiql.checked import CheckedQuery
from lockstep.tables.foretold import Prophecy
from lockstep.tables.kernel import UPSERT
from lockstep.tables.program import Programs
from lockstep.tables.store import TableStore
from lockstep.tables.writers import Foretold, Writer, writer_of


def foretold_writer(query: CheckedQuery, told: Prophecy, table: TableStore) -> Writer:
    """What the query does to the table, of what `ForetoldWrites` brings: first what its output has,
    then the event that asked, then the number of that event's chunk. NotLowerable."""
    width = len(query.output.names)
    programs = Programs(told.scope, width)
    writer = writer_of(query, table, programs, partial(told.of_action, query.action_scope))
    guard = programs.test([each for each in told.guard if programs.reads_rows(each)])
    outputs = {
        place: programs.value(each)
        for place, each in enumerate(told.outputs)
        if programs.reads_rows(each)
    }
    asked = width + len(told.scope.sources[0].schema.names)
    made = replace(writer, foretold=Foretold(told.asker, guard, outputs, asked))
    if not made.has_programs:
        raise NotLowerable("a value that no program computes")
    indexed = {attribute for index in table.indexes for attribute in index.attributes}
    if made.foretold_attributes.intersection(indexed.union(table.not_null)):
        raise NotLowerable("a key that is computed of the table")
    if not table.primary:
        _check_list(made, told)
    return made


def _check_list(writer: Writer, told: Prophecy) -> None:
    """What is written for several rows of a list has to be the same as for the last one alone."""
    if writer.index.attributes != told.key:
        raise NotLowerable("a write that looks for other rows than were asked for")
    if writer.test or writer.computed:
        raise NotLowerable("a write that looks at the rows of a list")
    if writer.kind == UPSERT and not (
        writer.wants_own and list(writer.inserted) == list(writer.changed)
    ):
        raise NotLowerable("a write that gives new rows of a list something else than old ones")


class ForetoldWrites:
    """See Unit: the events that ask, as what the writer's query will make of them."""

    is_observed = False
    shows_timers = False

    def __init__(self, node: QueryNode, told: Prophecy, writes: str) -> None:
        self.name = f"{writes} foretold"
        self.place = told.places[0]
        self.reads = (told.source,)
        self.writes = writes
        self._levels = [level for place in told.places for level in (place, 0)]
        programs = Programs(told.scope)
        self._guard: list[Evaluate] = [
            programs.evaluated(each) for each in told.guard if not programs.reads_rows(each)
        ]
        self._outputs: list[Evaluate | None] = [
            None if programs.reads_rows(each) else programs.evaluated(each) for each in told.outputs
        ]
        source = told.scope.sources[0].schema
        self._types = (*node.query.output.types, *source.types, AttributeType.LONG)

    def run(self, inputs: Mapping[str, Chunks], moves: Moves) -> Output:
        chunks = inputs.get(self.reads[0])
        if chunks is None:
            return Output.nothing(self._types)
        numbers = Column(AttributeType.LONG, np.asarray(chunks.chunk_of, np.int64))
        asking = replace(chunks, columns=_with(chunks.columns, numbers))
        for condition in self._guard:
            asking = asking.keep(truth(condition(asking.rows())))
        return Output(
            Chunks(
                LazyColumns(len(self._types), lambda at: self._column(asking, at)),
                asking.times,
                asking.starts,
                asking.order.below(*self._levels),
                asking.now,
            )
        )

    def _column(self, asking: Chunks, at: int) -> Column:
        width = len(self._outputs)
        if at >= width:
            return asking.columns[at - width]
        evaluate = self._outputs[at]
        if evaluate is None:  # the table computes it
            return from_values(self._types[at], [None]).take(np.zeros(len(asking), np.int64))
        return evaluate(asking.rows())

    def settle(self) -> None:
        """Nothing to forget."""

    def due_ms(self) -> int | None:
        return None

    def store(self, states: States) -> None:
        """There is no state."""

    def load(self, states: States) -> None:
        """There is no state."""

    def text_columns(self) -> list[Any]:
        return []


def _with(columns: Sequence[Column], last: Column) -> LazyColumns:
    count = len(columns)
    return LazyColumns(count + 1, lambda at: columns[at] if at < count else last)
