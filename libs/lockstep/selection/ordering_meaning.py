"""order by, offset and limit of one chunk's rows (semantics 5)."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from lockstep.expressions.compiler import compile_output_value
from lockstep.operators.contract import EXPIRED, Context
from lockstep.plan import java
from lockstep.siddhiql import ast
from lockstep.siddhiql.scope import Scope


class Ordering:
    """Sorts each run of one event kind, stably, NaN behind all numbers and nulls last; then drops
    `offset` rows and cuts at `limit`.
    """

    def __init__(self, selector: ast.Selector, scope: Scope, context: Context) -> None:
        self._keys = [
            (context.shared(compile_output_value, item.variable, scope), item.descending)
            for item in selector.order_by
        ]
        self._limit = None if selector.limit is None else int(selector.limit.value)
        self._offset = 0 if selector.offset is None else int(selector.offset.value)
        self.is_active = bool(self._keys) or self._limit is not None or self._offset > 0

    def arrange(self, rows: list[Any]) -> list[Any]:
        """The rows in order, offset and limit applied. Rows carry `origin`, the event they came
        from.
        """
        if self._keys:
            runs = (list(run) for _, run in groupby(rows, key=lambda row: row.kind))
            rows = [row for run in runs for row in self._sorted(run)]
        if self._offset:
            rows = rows[self._offset :]
        if self._limit is not None:
            # Expired rows are never cut, but they use the limit up.
            limit = self._limit
            rows = [row for index, row in enumerate(rows) if index < limit or row.kind == EXPIRED]
        return rows

    def _sorted(self, run: list[Any]) -> list[Any]:
        for value_of, descending in reversed(self._keys):
            valued = [(value_of(row.origin, row.data), row) for row in run]
            present = [pair for pair in valued if pair[0] is not None]
            absent = [row for value, row in valued if value is None]
            present.sort(key=lambda pair: java.rank(pair[0]), reverse=descending)
            run = [row for _, row in present] + absent
        return run
