"""How functions are made of plain ones: some refuse null, some pass it on; literals are read at
once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lockstep.functions.java_regex import compile_pattern
from lockstep.operators.contract import Context
from lockstep.operators.errors import EventError
from lockstep.siddhiql.catalogue import Argument

Function = Callable[..., Any]
Factory = Callable[[Sequence[Argument], Context], Function]


def refusing_null(name: str, function: Function) -> Factory:
    """A function that a null argument makes fail."""

    def checked(*values: Any) -> Any:
        if None in values:
            raise EventError(f"{name} takes no null, but argument {values.index(None) + 1} is null")
        return function(*values)

    return lambda arguments, context: checked


def passing_null(function: Function) -> Factory:
    """A function that is null when an argument is."""

    def checked(*values: Any) -> Any:
        return None if None in values else function(*values)

    return lambda arguments, context: checked


def plain(function: Function) -> Factory:
    """A function that deals with null itself."""
    return lambda arguments, context: function


def with_literal(position: int, read: Callable[[str], object], factory: Factory) -> Factory:
    """The same with the text at `position` read when the function is made, where it is a literal.

    What `read` refuses (EventError) no event could be processed with, so the app is refused.
    """

    def checked(arguments: Sequence[Argument], context: Context) -> Function:
        argument = arguments[position] if position < len(arguments) else None
        if argument is not None and argument.is_constant and isinstance(argument.value, str):
            read(argument.value)
        return factory(arguments, context)

    return checked


def with_pattern(position: int, factory: Factory) -> Factory:
    """The same with the regular expression at `position` checked where it is a literal."""
    return with_literal(position, compile_pattern, factory)
