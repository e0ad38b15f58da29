"""The functions without namespace (semantics 21)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lockstep.events import NUMERIC_TYPES, AttributeType
from lockstep.functions.collected import keeper
from lockstep.functions.convert import CLASSES, converter
from lockstep.functions.draws import Draws
from lockstep.operators.contract import Context
from lockstep.operators.errors import EventError
from lockstep.plan import java
from lockstep.siddhiql.catalogue import Argument

Function = Callable[..., Any]


def _named(argument: Argument) -> AttributeType:
    return AttributeType(str(argument.value).lower())


def _cast(arguments: Sequence[Argument], context: Context) -> Function:
    own, wanted = arguments[0].type, _named(arguments[1])
    if own in NUMERIC_TYPES and wanted in NUMERIC_TYPES:
        # A column of doubles holds doubles: an int left behind would be one to one executor only.
        change = converter(own, wanted)
        return lambda value, _type: None if value is None else change(value)
    # Other values are re-typed, not converted: a wrong one fails where it is used.
    return lambda value, _type: value


def _convert(arguments: Sequence[Argument], context: Context) -> Function:
    own, wanted = arguments[0].type, _named(arguments[1])
    change = converter(own, wanted)
    of_null = False if wanted is AttributeType.BOOL else None
    return lambda value, _type: of_null if value is None else change(value)


def _coalesce(arguments: Sequence[Argument], context: Context) -> Function:
    def coalesce(*values: Any) -> Any:
        for value in values:
            if value is not None:
                return value
        return None

    return coalesce


def _default(arguments: Sequence[Argument], context: Context) -> Function:
    return lambda value, default: default if value is None else value


def _if_then_else(arguments: Sequence[Argument], context: Context) -> Function:
    return lambda condition, then, otherwise: then if condition is True else otherwise


def _current_time_millis(arguments: Sequence[Argument], context: Context) -> Function:
    return context.now_ms


def _maximum(arguments: Sequence[Argument], context: Context) -> Function:
    return lambda *values: max((v for v in values if v is not None), default=None)


def _minimum(arguments: Sequence[Argument], context: Context) -> Function:
    return lambda *values: min((v for v in values if v is not None), default=None)


def _uuid(arguments: Sequence[Argument], context: Context) -> Function:
    return Draws(context, "UUID").uuid


def _create_set(arguments: Sequence[Argument], context: Context) -> Function:
    keep = keeper(arguments[0])
    return lambda value: frozenset((keep(value),))


def _size_of_set(arguments: Sequence[Argument], context: Context) -> Function:
    def size_of_set(members: Any) -> int | None:
        if members is None:
            return 0
        if not isinstance(members, (set, frozenset)):
            raise EventError(f"sizeOfSet wants a set, not a {type(members).__name__}")
        return len(members)

    return size_of_set


def is_instance(value: Any, wanted: AttributeType) -> bool:
    """Whether an object's value is of that type; an integer is an int where it fits."""
    match value:
        case bool():
            return wanted is AttributeType.BOOL
        case int():
            fits = java.INT_MIN <= value <= java.INT_MAX
            return wanted is (AttributeType.INT if fits else AttributeType.LONG)
        case float():
            return wanted is AttributeType.DOUBLE
        case str():
            return wanted is AttributeType.STRING
    return False


def _instance_of(wanted: AttributeType) -> Callable[[Sequence[Argument], Context], Function]:
    def factory(arguments: Sequence[Argument], context: Context) -> Function:
        own = arguments[0].type
        if own is AttributeType.OBJECT:
            return lambda value: is_instance(value, wanted)
        if own is wanted:
            held = CLASSES[wanted]
            return lambda value: type(value) is held
        return lambda value: False

    return factory


FUNCTIONS: dict[tuple[str, str], Callable[[Sequence[Argument], Context], Function]] = {
    ("", "cast"): _cast,
    ("", "coalesce"): _coalesce,
    ("", "convert"): _convert,
    ("", "createSet"): _create_set,
    ("", "currentTimeMillis"): _current_time_millis,
    ("", "default"): _default,
    ("", "ifThenElse"): _if_then_else,
    ("", "instanceOfBoolean"): _instance_of(AttributeType.BOOL),
    ("", "instanceOfDouble"): _instance_of(AttributeType.DOUBLE),
    ("", "instanceOfFloat"): _instance_of(AttributeType.FLOAT),
    ("", "instanceOfInteger"): _instance_of(AttributeType.INT),
    ("", "instanceOfLong"): _instance_of(AttributeType.LONG),
    ("", "instanceOfString"): _instance_of(AttributeType.STRING),
    ("", "maximum"): _maximum,
    ("", "minimum"): _minimum,
    ("", "sizeOfSet"): _size_of_set,
    ("", "UUID"): _uuid,
}
"""`eventTimestamp` is not here: the compiler reads it off the event."""
