"""Short forms for writing down signatures; declarations read like the tables of EXTENSIONS.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lockstep.events import AttributeType
from lockstep.siddhiql.catalogue.aggregators import AggregatorExtension
from lockstep.siddhiql.catalogue.contract import (
    Argument,
    Extension,
    ExtensionKind,
    Overload,
    Parameter,
    Result,
    SignatureError,
)

STRING, BOOL, OBJECT = AttributeType.STRING, AttributeType.BOOL, AttributeType.OBJECT
INT, LONG = AttributeType.INT, AttributeType.LONG
FLOAT, DOUBLE = AttributeType.FLOAT, AttributeType.DOUBLE
NUMBER = (INT, LONG, FLOAT, DOUBLE)
TIME = (INT, LONG)
"""What a time parameter accepts: milliseconds; time literals are longs."""


def function(
    name: str,
    *overloads: Overload,
    namespace: str | None = None,
    doc: str = "",
    remembers: bool = False,
    formerly: tuple[str, ...] = (),
) -> Extension:
    """A function's signature."""
    kind = ExtensionKind.FUNCTION
    return Extension(kind, name, overloads, namespace, doc, remembers, formerly=formerly)


def aggregator(
    name: str, *overloads: Overload, namespace: str | None = None, doc: str = "", **traits: Any
) -> AggregatorExtension:
    """An aggregator's declaration; `traits` are further fields of it."""
    kind = ExtensionKind.AGGREGATOR
    return AggregatorExtension(kind, name, overloads, namespace, doc, **traits)


def stream_function(
    name: str, *overloads: Overload, namespace: str | None = None, doc: str = ""
) -> Extension:
    """A stream function's or stream processor's signature."""
    return Extension(ExtensionKind.STREAM_FUNCTION, name, overloads, namespace, doc)


def gives(result: Result | None, *parameters: Parameter) -> Overload:
    """An overload by its result and parameters."""
    return Overload(parameters, result)


def first_type(arguments: Sequence[Argument]) -> AttributeType:
    """The result has the type of the first argument."""
    return arguments[0].type


def named_type(position: int, allowed: Sequence[AttributeType]) -> Result:
    """The result has the type that the constant at `position` names, in any case."""

    def result(arguments: Sequence[Argument]) -> AttributeType:
        name = str(arguments[position].value).lower()
        for candidate in allowed:
            if candidate.value == name:
                return candidate
        names = ", ".join(candidate.value for candidate in allowed)
        raise SignatureError(f"{name!r} is no type", hint=f"use one of {names}")

    return result
