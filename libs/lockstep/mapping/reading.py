"""What the source mappers share: an event out of its parts, and errors kept apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from lockstep.events import Event, LockstepError
from lockstep.mapping.contract import BadField, MappingError, Properties, Reading
from lockstep.mapping.options import Column
from lockstep.mapping.values import lenient

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
    """The values of one event; MappingError names every attribute that is missing or unfit."""
    values = []
    bad: list[BadField] = []
    for column in columns:
        try:
            if column.is_transport:
                values.append(lenient(column.property_of(properties), column.attribute.type))
                continue
            found = look_up(column)
            if found is ABSENT:
                if fails_on_missing:
                    raise MappingError(f"there is no {column.path!r}")
                found = None
            values.append(convert(found, column.attribute.type))
        except MappingError as error:
            bad.append(BadField(column.attribute.name, error.message))
    if bad:
        raise MappingError(bad[0].message, where=bad[0].attribute, fields=bad)
    return tuple(values)


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
    for number, item in enumerate(items, start=1):
        try:
            events.append(Event(now_ms, read(item)))
        except LockstepError as error:
            refused_item = refusal(error)
            refused_item.item = number
            reading.refused.append(refused_item)
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
