"""Functions on columns: the reference's function, called once per row, or once per different
string."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import NoneType
from typing import Any, NoReturn

import numpy as np

from lockstep.columns.column import Column, Strings, Unfit, constant, from_values
from lockstep.columns.frame import Evaluate, Frame
from lockstep.columns.rule import NotLowerable
from lockstep.events import AttributeType
from lockstep.functions.convert import CLASSES
from lockstep.operators.errors import PROCESSING_ERRORS
from lockstep.siddhiql import ast


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
        if len(varying) == 1:
            column = arguments[varying[0]](frame)
            if isinstance(column, Strings):
                return _by_word(function, column, varying[0], fixed, type_)
        given = [
            argument(frame) if each is None else None
            for each, argument in zip(fixed, arguments, strict=True)
        ]
        columns = [
            [each.value] * len(frame) if each is not None else column.to_pylist()  # type: ignore[union-attr]
            for each, column in zip(fixed, given, strict=True)
        ]
        values = list(map(function, *columns))
    except PROCESSING_ERRORS as error:
        raise Unfit(f"a function failed: {error}") from error
    if any(column is not None and column.type is AttributeType.OBJECT for column in given):
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


def _by_word(
    function: Callable[..., Any],
    column: Strings,
    place: int,
    fixed: Sequence[ast.Constant | None],
    type_: AttributeType,
) -> Column:
    """The function of each different string, and of null, handed out by code."""
    codes = column.values
    used = np.unique(codes if column.nulls is None else codes[~column.nulls])
    given = [None if each is None else each.value for each in fixed]
    results: list[Any] = []
    words = column.words.texts
    for code in used.tolist():
        given[place] = words[code]
        results.append(function(*given))
    index = np.searchsorted(used, codes).astype(np.int64)
    if column.nulls is not None and column.nulls.any():
        given[place] = None
        index[column.nulls] = len(results)
        results.append(function(*given))
    return from_values(type_, results).take(index)
