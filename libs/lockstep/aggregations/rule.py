"""Incremental aggregations: events into buckets of seconds to years (semantics 17)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lockstep.aggregations.columns.arguments import Argument
from lockstep.aggregations.columns.bases import Longs
from lockstep.aggregations.columns.unit import AggregationUnit, Incoming
from lockstep.aggregations.meaning.aggregation import selected
from lockstep.aggregations.meaning.columns import Columns
from lockstep.aggregations.meaning.ranges import time_ms
from lockstep.columns.column import Column, Strings, Unfit
from lockstep.columns.frame import Frame
from lockstep.columns.pool import StringPool
from lockstep.columns.rule import NotLowerable, check_period
from lockstep.events import AttributeType
from lockstep.expressions.columns import Compiler
from lockstep.operators.errors import PROCESSING_ERRORS
from lockstep.plan import AppPlan
from lockstep.plan.ranks import ranks_of
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedAggregation, CheckedStream
from lockstep.streams.columns import Condition
from lockstep.streams.lowering import check_stream, condition_of


def aggregation_units(plan: AppPlan, pool: StringPool) -> dict[str, AggregationUnit | str]:
    """Each aggregation's unit, or why it has no columnar form."""
    ranks = ranks_of(plan)
    found: dict[str, AggregationUnit | str] = {}
    for name, checked in plan.checked.aggregations.items():
        try:
            found[name] = _lower(checked, ranks[f"aggregation/{name}"], pool)
        except NotLowerable as why:
            found[name] = f"aggregation {name}: {why}"
    return found


def _lower(checked: CheckedAggregation, rank: int, pool: StringPool) -> AggregationUnit:
    if checked.tables:
        raise NotLowerable("its buckets go to a store, chunk by chunk")
    for period_ms in (checked.retention.interval_ms, *checked.retention.kept_ms.values()):
        check_period(period_ms)
    check_stream(checked.input)
    compiler = Compiler(checked.scope)
    columns = Columns(selected(checked), checked.scope)
    arguments = []
    for base in columns.bases:
        type_ = None if base.argument is None else compiler.type_of(base.argument)
        value = _nothing if base.argument is None else compiler.compile(base.argument)
        arguments.append((Argument(base.kind, type_, pool), value))
    groups = []
    for variable in checked.definition.selector.group_by:
        compiler.type_of(variable)
        groups.append(compiler.compile(variable))
    times = _times(checked.definition.aggregate_by, compiler)
    incoming = Incoming(_filters(checked.input), times, groups, arguments)
    return AggregationUnit(checked, rank, checked.definition.input.source, incoming)


def _filters(stream: CheckedStream) -> list[Condition]:
    conditions = []
    for checked in stream.handlers:
        if not isinstance(checked.handler, ast.Filter):
            raise NotLowerable("a stream function on its input")
        conditions.append(condition_of(checked, checked.handler.condition)[1])
    return conditions


def _nothing(frame: Frame) -> Column:
    return Column(AttributeType.INT, np.zeros(0, np.int32))


def _times(by: ast.Variable | None, compiler: Compiler) -> Callable[[Frame], Longs]:
    """The event times in ms: of the `aggregate by` attribute (a long or a text), else those of the
    events."""
    if by is None:
        return lambda frame: frame.times()
    compiler.type_of(by)
    value = compiler.compile(by)

    def times(frame: Frame) -> Longs:
        column = value(frame)
        if column.nulls is not None and column.nulls.any():
            raise Unfit("a null where the event time should be")
        return _of_texts(column) if isinstance(column, Strings) else column.values

    return times


def _of_texts(column: Strings) -> Longs:
    codes, texts = column.values, column.words.texts
    table = np.zeros(len(texts), np.int64)
    try:
        for code in np.unique(codes).tolist():
            table[code] = time_ms(texts[code])
    except PROCESSING_ERRORS as error:
        raise Unfit(f"a text that is no time: {error}") from error
    found: Any = table[codes]
    return found  # type: ignore[no-any-return]
