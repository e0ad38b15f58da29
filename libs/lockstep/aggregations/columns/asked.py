"""What of an aggregation in columns a question can find, as the reference keeps it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lockstep.aggregations.columns.bases import Longs
from lockstep.aggregations.columns.level import Level
from lockstep.aggregations.columns.unit import AggregationUnit
from lockstep.aggregations.meaning.aggregation import selected
from lockstep.aggregations.meaning.ranges import RangeReader
from lockstep.columns.units import States
from lockstep.operators.errors import PROCESSING_ERRORS
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedOnDemand
from lockstep.tables.meaning.conditions import equalities


def stored_for(question: CheckedOnDemand, unit: AggregationUnit, states: States) -> None:
    """Adds the buckets of the granularity and the time that the question names, and of its group
    where it names one by constants: the reference goes straight to the same ones. A range that is
    no constant may be any, and then everything is added."""
    range_ = question.query.range
    assert range_ is not None  # as the checker has seen
    if not all(isinstance(e, ast.Constant | None) for e in (range_.start, range_.end, range_.per)):
        unit.store(states)
        return
    reader = RangeReader(range_, unit.checked.granularities, _constant)
    found: list[Any] = []
    try:
        granularity, start_ms, end_ms = reader.read(None)
    except PROCESSING_ERRORS:
        pass  # the reference says so before it looks at any bucket
    else:
        level = unit.levels[granularity]
        slots = _slots(level, start_ms, end_ms, _group(question, unit))
        found = [(granularity.value, level.store(unit.incoming.space.keys, slots), [])]
    states.operators[unit.path] = found


def _constant(expression: ast.Expression) -> Callable[[Any], Any]:
    assert isinstance(expression, ast.Constant)
    value = expression.value
    return lambda event: value


def _slots(level: Level, start_ms: int, end_ms: int, group: int | None) -> Longs:
    """The slots whose buckets start in [start, end), of one group or of all."""
    count = len(level)
    starts = level.pairs.first[:count]
    inside = (starts >= start_ms) & (starts < end_ms)
    if group is not None:
        inside &= level.pairs.second[:count] == group
    return np.flatnonzero(inside)


def _group(question: CheckedOnDemand, unit: AggregationUnit) -> int | None:
    """The group whose key the condition names by constants; -1 where there is none of it, None
    where any may match."""
    checked = unit.checked
    expressions = [item.expression for item in selected(checked)]
    shown = [
        checked.scope.resolve(each) if isinstance(each, ast.Variable) else None
        for each in expressions
    ]
    found, _ = equalities(question.query.on, question.scope, 0)
    values = {equality.attribute: equality.value for equality in found}
    key: list[Any] = []
    for variable in checked.definition.selector.group_by:
        wanted = checked.scope.resolve(variable)
        # In front of what is selected stands the time of the bucket.
        value = values.get(shown.index(wanted) + 1) if wanted in shown else None
        if not isinstance(value, ast.Constant) or value.value is None:
            return None
        key.append(value.value)
    return unit.incoming.space.find(tuple(key)) if key else None
