"""What the source mappers share: an event out of its parts, and errors kept apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from lockstep.events import Event, LockstepError
from lockstep.operators.mapping.contract import MappingError, Properties, Reading
from lockstep.operators.mapping.options import Column
from lockstep.operators.mapping.values import lenient

ABSENT: Final = object()
"""What a lookup gives when there is nothing at the path."""


def row_of(
    columns: Iterable[Column],
    look_up: Callable[[Column], Any],
    properties: Properties | None,
    *,
    fails_on_missing: bool,
    convert: Callable[[Any, Any], Any] = lenient,
) -> tuple[Any, ...]:
    """The values of one event; MappingError names the attribute that is missing or does not fit."""
    values = []
    for column in columns:
        attribute = column.attribute
        if column.is_transport:
            found = column.property_of(properties)
            values.append(_fitted(lenient, found, column))
            continue
        found = look_up(column)
        if found is ABSENT:
            if fails_on_missing:
                raise MappingError(f"there is no {column.path!r}", where=attribute.name)
            found = None
        values.append(_fitted(convert, found, column))
    return tuple(values)


def _fitted(convert: Callable[[Any, Any], Any], value: Any, column: Column) -> Any:
    try:
        return convert(value, column.attribute.type)
    except MappingError as error:
        raise MappingError(error.message, where=column.attribute.name) from error


def read_rows(
    items: Iterable[Any],
    read: Callable[[Any], tuple[Any, ...]],
    now_ms: int,
    *,
    as_one_chunk: bool,
) -> Reading:
    """The events of the items that can be read, as one chunk or each as its own."""
    reading = Reading()
    events: list[Event] = []
    for item in items:
        try:
            events.append(Event(now_ms, read(item)))
        except LockstepError as error:
            reading.refused.append(refusal(error))
    if as_one_chunk:
        if events:
            reading.chunks.append(events)
    else:
        reading.chunks += [[event] for event in events]
    return reading


def refusal(error: LockstepError) -> MappingError:
    """Any error of a payload as a MappingError."""
    if isinstance(error, MappingError):
        return error
    return MappingError(error.message, where=error.where, hint=error.hint)


def refused(error: LockstepError) -> Reading:
    """A reading of a payload that brought nothing."""
    return Reading(refused=[refusal(error)])
