"""Function calls on columns: a few have a form of their own, all other stateless ones are the
reference's function, called once per row, or once per different string."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from lockstep.columns.arithmetic import joined
from lockstep.columns.column import Column, Strings, Unfit, constant, from_values
from lockstep.columns.frame import Frame
from lockstep.events import AttributeType
from lockstep.functions.registry import FUNCTIONS
from lockstep.operators.errors import PROCESSING_ERRORS
from lockstep.operators.expressions.calls import arguments_of
from lockstep.siddhiql import ast
from lockstep.siddhiql.typing import infer

if TYPE_CHECKING:
    from lockstep.columns.expressions import Compiler, Evaluate


class Probe:
    """The context of functions without state: whoever asks for more has no columnar form."""

    def now_ms(self) -> int:
        """A function that reads the clock at each call."""
        raise Unfit("a function that reads the clock")

    wall_ms = now_ms

    def register(self, name: str, operator: Any) -> None:
        """A function with state."""
        from lockstep.columns.expressions import NotLowerable

        raise NotLowerable(f"a function with state ({name})")

    def __getattr__(self, name: str) -> NoReturn:
        from lockstep.columns.expressions import NotLowerable

        raise NotLowerable(f"a function that needs {name}")


def compile_call(compiler: Compiler, call: ast.FunctionCall) -> Evaluate:
    """A call of a registered function that keeps no state."""
    from lockstep.columns.expressions import NotLowerable

    title = f"{call.namespace}:{call.name}" if call.namespace else call.name
    type_ = infer(call, compiler.scope)
    if call.namespace is None and call.name == "ifThenElse":
        compiler.type_of(call)
        return _if_then_else(compiler, call)
    if call.namespace is None and call.name in ("coalesce", "default"):
        return _first_present(compiler, call)
    factory = FUNCTIONS.get((call.namespace or "", call.name))
    if factory is None or call.name in compiler.scope.functions:
        raise NotLowerable(f"{title}() is the app's own")
    context: Any = Probe()
    compiler.may_fail = True
    function = factory(arguments_of(call, compiler.scope), context)
    arguments = [compiler.compile(argument) for argument in call.arguments]
    fixed = [
        argument if isinstance(argument, ast.Constant) else None for argument in call.arguments
    ]
    return lambda frame: _mapped(function, arguments, fixed, type_, frame)


def _if_then_else(compiler: Compiler, call: ast.FunctionCall) -> Evaluate:
    condition = compiler.condition(call.arguments[0])
    then, otherwise = map(compiler.compile, call.arguments[1:])
    return lambda frame: joined(then(frame), otherwise(frame), condition(frame))


def _first_present(compiler: Compiler, call: ast.FunctionCall) -> Evaluate:
    choices = [compiler.compile(argument) for argument in call.arguments]
    types = {compiler.type_of(argument) for argument in call.arguments}
    if len(types) > 1:
        from lockstep.columns.expressions import NotLowerable

        raise NotLowerable(f"{call.name}() of several types")

    def evaluate(frame: Frame) -> Column:
        value = choices[0](frame)
        for choice in choices[1:]:
            if value.nulls is None:
                break
            value = joined(value, choice(frame), ~value.nulls)
        return value

    return evaluate


def _mapped(
    function: Callable[..., Any],
    arguments: Sequence[Evaluate],
    fixed: Sequence[ast.Constant | None],
    type_: AttributeType,
    frame: Frame,
) -> Column:
    varying = [i for i, each in enumerate(fixed) if each is None]
    try:
        if not varying:
            return _repeated(function(*(each.value for each in fixed if each)), type_, len(frame))
        if len(varying) == 1:
            column = arguments[varying[0]](frame)
            if isinstance(column, Strings):
                return _by_word(function, column, varying[0], fixed, type_)
        columns = [
            [each.value] * len(frame) if each is not None else argument(frame).to_pylist()
            for each, argument in zip(fixed, arguments, strict=True)
        ]
        return from_values(type_, list(map(function, *columns)))
    except PROCESSING_ERRORS as error:
        raise Unfit(f"a function failed: {error}") from error


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
