"""What the source mappers share: an event out of its parts, and errors kept apart."""

from __future__ import annotations

import logging
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Final

from lockstep.events import Event, LockstepError, describe
from lockstep.mapping.contract import BadField, MappingError, Properties, Reading
from lockstep.mapping.options import Column
from lockstep.mapping.values import lenient
from lockstep.operators.errors import PROCESSING_ERRORS
from lockstep.operators.limits import LimitError

ABSENT: Final = object()
"""What a lookup gives when there is nothing at the path."""

UNMAPPABLE: Final = (*PROCESSING_ERRORS, LimitError)
"""What values can cause in a mapper: a message or row that it cannot take, and never the end of its
source or sink."""

MAX_REFUSED: Final = 1_000
"""Events of one payload that may be refused alone; with more it is refused as a whole, and no more
of it is read. What is told of each takes a thousand times the two bytes that it may have."""

MAX_LOGGED: Final = 100
"""Mistakes of mappers and sinks that a process logs with their traceback. Anybody could send a
message again and again that one trips over."""

_log = logging.getLogger(__name__)
_logged: set[str] = set()


class PayloadReader(ABC):
    """A SourceMapper whose `reading` may raise any of UNMAPPABLE: all of the payload is refused."""

    def read(self, payload: Any, now_ms: int, properties: Properties | None = None) -> Reading:
        """See the contract."""
        try:
            return self.reading(payload, now_ms, properties)
        except UNMAPPABLE as error:
            return Reading(refused=[refusal(error)])

    @abstractmethod
    def reading(self, payload: Any, now_ms: int, properties: Properties | None) -> Reading:
        """What a payload brought; any of UNMAPPABLE when nothing of it can be taken."""


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
        except UNMAPPABLE as error:
            refused_item = refusal(error)
            refused_item.item = number
            reading.refused.append(refused_item)
            if len(reading.refused) > MAX_REFUSED:
                return reading
    if as_one_chunk:
        if events:
            reading.chunks.append(events)
    else:
        reading.chunks += [[event] for event in events]
    return reading


def refusal(error: Exception, who: str = "the mapper", *, quoted: bool = True) -> MappingError:
    """Any of UNMAPPABLE as a MappingError. One that says nothing of the payload is a mistake of
    `who`, and is logged, too; unless `quoted` without what it says, which may repeat a secret."""
    if isinstance(error, MappingError):
        return error
    if isinstance(error, LockstepError):
        return MappingError(error.message, where=error.where, hint=error.hint)
    if isinstance(error, RecursionError):
        return MappingError("it is nested too deep")
    if isinstance(error, LimitError):
        return MappingError(str(error))
    told = f"{who} has no answer to a value: "
    _log_once(error, told, quoted=quoted)
    return MappingError(told + describe(error))


def _log_once(error: Exception, told: str, *, quoted: bool) -> None:
    """For each place where it was raised."""
    place = str(traceback.extract_tb(error.__traceback__)[-1:])
    if place in _logged or len(_logged) >= MAX_LOGGED:
        return
    _logged.add(place)
    if quoted:
        _log.warning("%s%s", told, describe(error), exc_info=error)
    else:
        frames = "".join(traceback.format_tb(error.__traceback__))
        _log.warning("%s%s\n%s", told, type(error).__name__, frames)
