"""Signatures of the catalogue as people read them: `avg(value number) → double`."""

from __future__ import annotations

from functools import cache
from typing import Final

from lockstep.events import AttributeType
from lockstep.siddhiql.catalogue import Extension, ExtensionKind, Overload, Parameter
from lockstep.siddhiql.catalogue.core import default_catalogue

_NUMBERS: Final = frozenset(
    {AttributeType.INT, AttributeType.LONG, AttributeType.FLOAT, AttributeType.DOUBLE}
)
CALLABLE: Final = (ExtensionKind.FUNCTION, ExtensionKind.AGGREGATOR)
"""What may stand in an expression."""


def _types(parameter: Parameter) -> str:
    if not parameter.types:
        return "any"
    if frozenset(parameter.types) == _NUMBERS:
        return "number"
    return "|".join(one.value for one in parameter.types)


def _parameter(parameter: Parameter) -> str:
    shown = f"{parameter.name} {_types(parameter)}"
    if parameter.repeat:
        return f"{shown} …"
    return f"[{shown}]" if parameter.optional else shown


def overload_line(extension: Extension, overload: Overload) -> str:
    """One way to call it."""
    inside = ", ".join(map(_parameter, overload.parameters))
    result = f" → {overload.result.value}" if isinstance(overload.result, AttributeType) else ""
    return f"{extension.full_name}({inside}){result}"


def signature(extension: Extension) -> str:
    """All ways to call it, a line each."""
    return "\n".join(overload_line(extension, one) for one in extension.overloads)


@cache
def of_kind(kind: ExtensionKind) -> tuple[Extension, ...]:
    """Those of the catalogue, and of what is installed beside it."""
    return tuple(default_catalogue().of(kind))


def named(name: str) -> list[Extension]:
    """All that are called so, of whatever kind."""
    return [
        each
        for kind in (*CALLABLE, ExtensionKind.WINDOW, ExtensionKind.STREAM_FUNCTION)
        for each in of_kind(kind)
        if each.full_name == name
    ]
