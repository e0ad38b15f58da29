"""Functions on columns: the reference's function, called once per row, or once per different
value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import NoneType
from typing import Any, Final, NoReturn

import numpy as np

from lockstep.columns.column import Column, Unfit, constant, from_values
from lockstep.columns.frame import Evaluate, Frame
from lockstep.columns.keys import distinct
from lockstep.columns.rule import NotLowerable
from lockstep.events import AttributeType
from lockstep.functions.convert import CLASSES
from lockstep.operators.errors import PROCESSING_ERRORS
from lockstep.siddhiql import ast

_REPEATED: Final = frozenset(
    {AttributeType.STRING, AttributeType.INT, AttributeType.LONG, AttributeType.BOOL}
)
"""Types whose values come again and again. Floating numbers hardly do."""


class Probe:
    """The context of functions without state: whoever asks for more has no columnar form."""

    def now_ms(self) -> int:
        """A function that reads the clock at each call."""
        raise Unfit("a function that reads the clock")

    wall_ms = now_ms

    def register(self, name: str, operator: Any) -> None:
        """A function with state."""
        raise NotLowerable(f"a function with state ({name})")

    def __getattr__(self, name: str) -> NoReturn:
        raise NotLowerable(f"a function that needs {name}")


def mapped(
    function: Callable[..., Any],
    arguments: Sequence[Evaluate],
    fixed: Sequence[ast.Constant | None],
    type_: AttributeType,
    frame: Frame,
) -> Column:
    """The function's values; `fixed` are the arguments that are constants."""
    varying = [i for i, each in enumerate(fixed) if each is None]
    try:
        if not varying:
            return _repeated(function(*(each.value for each in fixed if each)), type_, len(frame))
        # Each once: calls stand in calls, and twice at each would be 2^depth times in all.
        given = {i: arguments[i](frame) for i in varying}
        if len(varying) == 1 and given[varying[0]].type in _REPEATED:
            return _by_value(function, given[varying[0]], varying[0], fixed, type_)
        columns = [
            given[i].to_pylist() if each is None else [each.value] * len(frame)
            for i, each in enumerate(fixed)
        ]
        values = list(map(function, *columns))
    except PROCESSING_ERRORS as error:
        raise Unfit(f"a function failed: {error}") from error
    if any(column.type is AttributeType.OBJECT for column in given.values()):
        _check_kinds(type_, values)
    return from_values(type_, values)


def _check_kinds(type_: AttributeType, values: Sequence[Any]) -> None:
    """Unfit where a column would turn a value into another kind. What is made of an object may be
    of any: cast(object, 'double') lets a bool be one (semantics 21)."""
    wanted = CLASSES.get(type_)
    if wanted is None:
        return
    for kind in set(map(type, values)):
        if kind not in (wanted, NoneType):
            raise Unfit(f"a function gave {kind.__name__} for {type_}")


def _repeated(value: Any, type_: AttributeType, length: int) -> Column:
    if value is None:
        return from_values(type_, [None] * length)
    return constant(type_, value, length)


def _by_value(
    function: Callable[..., Any],
    column: Column,
    place: int,
    fixed: Sequence[ast.Constant | None],
    type_: AttributeType,
) -> Column:
    """The function of each different value, and of null, handed out by code."""
    codes, values, null = distinct(column)
    there = codes if null is None else codes[~null]
    used = np.flatnonzero(np.bincount(there, minlength=len(values)))
    given = [None if each is None else each.value for each in fixed]
    results: list[Any] = []
    for code in used.tolist():
        given[place] = values[code]
        results.append(function(*given))
    result_of = np.zeros(len(values), np.int64)
    result_of[used] = np.arange(len(used))
    index = result_of[codes]
    if null is not None:
        given[place] = None
        index[null] = len(results)
        results.append(function(*given))
    return from_values(type_, results).take(index)
