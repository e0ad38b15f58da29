"""JSON values → one event of a schema: a fast typed path, and a slow one that names every bad
field.

Null is allowed everywhere, a missing field is not; unknown fields are ignored unless one is missing
(then they may be the typo). Numbers stay in the range of their type: int 32 bits, long 64 bits.
"""

from __future__ import annotations

import difflib
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

import msgspec

from lockstep.events import AttributeType, StreamSchema
from lockstep.events.typed import can_name_fields
from lockstep.frame.bodies import UNREADABLE

TIMESTAMP_FIELD: Final = "_timestamp"
ID_FIELD: Final = "_id"
WRAPPER: Final = "event"
"""A member that may stand around an event, as sinks of JSON write it."""

_INT = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
_LONG = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
MILLISECONDS = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
"""The type of a time that a sender gives."""
_JSON_TYPES: Final[Mapping[AttributeType, Any]] = {
    AttributeType.STRING: str,
    AttributeType.INT: _INT,
    AttributeType.LONG: _LONG,
    AttributeType.FLOAT: float,
    AttributeType.DOUBLE: float,
    AttributeType.BOOL: bool,
    AttributeType.OBJECT: Any,
}
_NEVER = Annotated[int, msgspec.Meta(gt=0, lt=0)]
"""The type of nothing."""
_RANGES: Final = {AttributeType.INT: 2**31, AttributeType.LONG: 2**63}
FLOAT_MAX: Final = 3.4028234663852886e38
"""The largest value of type float. JSON has no infinity."""
MAX_DEPTH: Final = 100
"""Levels of lists and objects in a value of type object: whatever reads the logs has to read it."""
TOO_DEEP: Final = f"lists and objects may be nested {MAX_DEPTH} deep"


@dataclass(frozen=True, slots=True)
class FieldError:
    """What is wrong with one field; field None means the event as a whole."""

    field: str | None
    message: str

    def as_json(self) -> dict[str, str | None]:
        """The form in answers."""
        return {"field": self.field, "message": self.message}


@dataclass(frozen=True, slots=True)
class RawEvent:
    """A valid event before it has a clock: own timestamp and id only if the sender gave them."""

    data: tuple[Any, ...]
    timestamp_ms: int | None = None
    event_id: str | None = None


class EventReader:
    """Reads events of one schema. Kept per stream: building the typed decoder takes a while."""

    def __init__(self, schema: StreamSchema) -> None:
        self.schema = schema
        self._floats = tuple(
            i for i, kind in enumerate(schema.types) if kind is AttributeType.FLOAT
        )
        self._objects_at = tuple(
            i for i, kind in enumerate(schema.types) if kind is AttributeType.OBJECT
        )
        self._width = len(schema.attributes)
        event = event_struct(schema)
        self._object = msgspec.json.Decoder(event)
        self._objects = msgspec.json.Decoder(list[event])  # type: ignore[valid-type]

    def fast_object(self, text: bytes) -> RawEvent | None:
        """The event of one JSON object, or None when the slow path has to look."""
        try:
            found = self._object.decode(text)
        except UNREADABLE:
            return None
        return self._from_struct(found)

    def fast_objects(self, text: bytes) -> list[RawEvent] | None:
        """The events of a JSON array of objects, or None when the slow path has to look."""
        return self._fast_events(self._objects.decode, text)

    def fast_lines(self, text: bytes) -> list[RawEvent] | None:
        """The events of newline-separated JSON objects, or None when the slow path has to look."""
        return self._fast_events(self._object.decode_lines, text)

    def _fast_events(
        self, decode: Callable[[bytes], list[Any]], text: bytes
    ) -> list[RawEvent] | None:
        try:
            found = decode(text)
        except UNREADABLE:
            return None
        events = [self._from_struct(one) for one in found]
        return None if None in events else [event for event in events if event is not None]

    def read(self, value: Any) -> RawEvent | list[FieldError]:
        """One event from a decoded JSON object or array of values; else all its errors."""
        if isinstance(value, Mapping):
            inner = value.get(WRAPPER)
            if isinstance(inner, Mapping) and self.schema.index_of(WRAPPER) is None:
                value = {**inner, **{k: v for k, v in value.items() if k.startswith("_")}}
            return self._read_object(value)
        if isinstance(value, list):
            return self._read_row(value, None, None)
        return [FieldError(None, f"expected an object or an array, got {_kind(value)}")]

    def _read_object(self, value: Mapping[str, Any]) -> RawEvent | list[FieldError]:
        errors = []
        timestamp = value.get(TIMESTAMP_FIELD)
        if timestamp is not None and not _is_timestamp(timestamp):
            errors.append(
                FieldError(TIMESTAMP_FIELD, f"expected milliseconds (long), got {_kind(timestamp)}")
            )
        event_id = value.get(ID_FIELD)
        if event_id is not None and not (isinstance(event_id, str) and event_id):
            errors.append(FieldError(ID_FIELD, f"expected a text, got {_kind(event_id)}"))
        errors += self._missing(value)
        row = [value.get(name) for name in self.schema.names]
        found = self._read_row(row, timestamp, event_id)
        if isinstance(found, list):
            return errors + found
        return errors or found

    def _missing(self, value: Mapping[str, Any]) -> list[FieldError]:
        missing = [name for name in self.schema.names if name not in value]
        unknown = [str(k) for k in value if k not in self.schema.names and not k.startswith("_")]
        return [FieldError(name, "missing" + came_instead(name, unknown)) for name in missing]

    def _read_row(
        self, row: Sequence[Any], timestamp: int | None, event_id: str | None
    ) -> RawEvent | list[FieldError]:
        if len(row) != self._width:
            wanted = ", ".join(f"{a.name} {a.type}" for a in self.schema.attributes)
            return [FieldError(None, f"expected {self._width} values ({wanted}), got {len(row)}")]
        errors = []
        data = []
        for attribute, value in zip(self.schema.attributes, row, strict=True):
            converted, wrong = _convert(value, attribute.type)
            data.append(converted)
            if wrong is not None:
                errors.append(FieldError(attribute.name, wrong))
        return errors or RawEvent(tuple(data), timestamp, event_id)

    def _from_struct(self, found: Any) -> RawEvent | None:
        values = msgspec.structs.astuple(found)
        data = values[: self._width]
        if self._floats:
            as_list = list(data)
            for i in self._floats:
                if as_list[i] is not None:
                    if abs(as_list[i]) > FLOAT_MAX:
                        return None
                    as_list[i] = single(as_list[i])
            data = tuple(as_list)
        if any(is_too_deep(data[i]) for i in self._objects_at):
            return None
        return RawEvent(data, values[self._width], values[self._width + 1])


def event_struct(
    schema: StreamSchema, *, fills_missing: bool = False, forbids: bool = False
) -> type[msgspec.Struct]:
    """The typed struct of the schema's events: fields f0, f1, …, ts and id. Where attributes have
    names that no field can have, one that nothing fits.

    `fills_missing`: an attribute that is missing is null. Then an event within `event` is refused,
    as it would be one of nothing but nulls. `forbids`: so is one with names that nobody knows.
    """
    if not can_name_fields(schema.names):
        return msgspec.defstruct("Never", [("never", _NEVER)])  # the slow path looks at each
    default: tuple[None, ...] = (None,) if fills_missing else ()
    fields: list[Any] = [
        (f"f{i}", _JSON_TYPES[kind] | None if kind != "object" else Any, *default)
        for i, kind in enumerate(schema.types)
    ]
    rename = {f"f{i}": name for i, name in enumerate(schema.names)}
    for field, name, kind in (("ts", TIMESTAMP_FIELD, MILLISECONDS), ("id", ID_FIELD, str)):
        fields.append((field, kind | None, None))
        rename[field] = name if schema.index_of(name) is None else f"{name}_"
    if fills_missing and schema.index_of(WRAPPER) is None:
        fields.append(("wrapped", None, None))
        rename["wrapped"] = WRAPPER
    return msgspec.defstruct(
        "Event", fields, rename=rename, gc=False, forbid_unknown_fields=forbids
    )


def wrapper_struct(
    schema: StreamSchema, event: type[msgspec.Struct], *, forbids: bool = False
) -> type[msgspec.Struct] | None:
    """The typed struct of `{"event": {…}}`: fields event, ts and id, the last two unset mostly;
    None where the schema has such names itself."""
    if schema.index_of(WRAPPER) is not None or any(name.startswith("_") for name in schema.names):
        return None
    fields: list[Any] = [(WRAPPER, event), ("ts", Any, msgspec.UNSET), ("id", Any, msgspec.UNSET)]
    rename = {"ts": TIMESTAMP_FIELD, "id": ID_FIELD}
    return msgspec.defstruct(
        "Wrapper", fields, rename=rename, gc=False, forbid_unknown_fields=forbids
    )


def is_too_deep(value: Any) -> bool:
    """Lists and objects in one another, more than MAX_DEPTH."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [
            inner
            for each in level
            if isinstance(each, list | dict)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return False
    return True


def single(value: float) -> float:
    """The nearest value that 32 bits can hold."""
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


def came_instead(name: str, others: Sequence[str]) -> str:
    """A closing phrase for a missing name: the nearest of those that nobody knows, or nothing."""
    near = _nearest(name, others)
    return f"; '{near}' came instead" if near else ""


def did_you_mean(name: str, candidates: Sequence[str]) -> str:
    """A closing phrase naming the nearest candidate, or nothing."""
    near = _nearest(name, candidates)
    return f"; did you mean '{near}'?" if near else ""


def _nearest(name: str, candidates: Sequence[str]) -> str | None:
    found = difflib.get_close_matches(name, candidates, n=1, cutoff=0.6)
    return found[0] if found else None


def _convert(value: Any, kind: AttributeType) -> tuple[Any, str | None]:
    """(value in the type, None) or (None, what is wrong)."""
    if value is None:
        return value, None
    if kind is AttributeType.OBJECT:
        return value, TOO_DEEP if is_too_deep(value) else None
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind is AttributeType.STRING and isinstance(value, str):
        return value, None
    if kind is AttributeType.BOOL and isinstance(value, bool):
        return value, None
    if kind in _RANGES and number:
        return _whole(value, kind)
    if kind is AttributeType.DOUBLE and number:
        if abs(value) > sys.float_info.max:
            return None, f"{_shown(value)} is outside the range of double"
        return float(value), None
    if kind is AttributeType.FLOAT and number:
        if abs(value) > FLOAT_MAX:
            return None, f"{value} is outside the range of float"
        return single(float(value)), None
    return None, f"expected {kind}, got {_told(value)}"


def _whole(value: float, kind: AttributeType) -> tuple[Any, str | None]:
    if value != value // 1:
        return None, f"expected {kind}, got a fraction {_shown(value)}"
    limit = _RANGES[kind]
    if not -limit <= value < limit:
        return None, f"{_shown(value)} is outside the range of {kind} (-{limit} to {limit - 1})"
    return int(value), None


def _is_timestamp(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _kind(value: Any) -> str:
    names: dict[type, str] = {
        str: "text", bool: "bool", int: "a number", float: "a number", dict: "an object",
        list: "an array", type(None): "null",
    }  # fmt: skip
    return names.get(type(value), type(value).__name__)


def _told(value: Any) -> str:
    """Lists and objects are named only: they may be nested deeper than can be written out."""
    if isinstance(value, list | dict):
        return _kind(value)
    return f"{_kind(value)} {_shown(value)}"


def _shown(value: Any) -> str:
    text = msgspec.json.encode(value).decode(errors="replace")
    return text if len(text) <= 60 else f"{text[:57]}..."
