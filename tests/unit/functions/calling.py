"""Calls a function as a query would: bound to its arguments' types, with a context."""

from __future__ import annotations

from typing import Any

from lockstep.events import AttributeType
from lockstep.functions.registry import FUNCTIONS
from lockstep.siddhiql.catalogue import Argument
from tests.unit.operators.plain_context import PlainContext

_TYPES = {
    bool: AttributeType.BOOL,
    int: AttributeType.INT,
    float: AttributeType.DOUBLE,
    str: AttributeType.STRING,
}


def call(
    name: str,
    *values: Any,
    types: str | None = None,
    context: PlainContext | None = None,
) -> Any:
    """The value of `ns:name(values)`; `types` are the arguments' types, separated by blanks.

    Without them they follow from the values. All arguments count as literals.
    """
    namespace, _, local = name.rpartition(":")
    if types is not None:
        kinds = [AttributeType(word) for word in types.split()]
    else:
        kinds = [_TYPES.get(type(value), AttributeType.OBJECT) for value in values]
    arguments = [
        Argument(kind, is_constant=True, value=value)
        for kind, value in zip(kinds, values, strict=True)
    ]
    return FUNCTIONS[namespace, local](arguments, context or PlainContext())(*values)
