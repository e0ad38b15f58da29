"""Avro schemas: read, checked, made of a stream; and records in bytes by them.

Times and dates are read and written as the numbers that they are stored as: `timestamp-millis` is
milliseconds, `timestamp-micros` microseconds, `date` days. Decimals and UUIDs are values.
"""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from decimal import DecimalException
from functools import cached_property
from typing import Any, Final, NamedTuple

import fastavro
import msgspec
from fastavro.schema import SchemaParseException, UnknownType

from lockstep.events import AttributeType, StreamSchema
from lockstep.mapping.amount import begin_message, count, may_be_too_much
from lockstep.mapping.contract import MappingError

MAX_SCHEMA_BYTES: Final = 1_048_576

MAX_DECIMAL_BYTES: Final = 256
"""Of a decimal: some 600 digits, twice those of the largest double."""

MAX_SCALE: Final = 1_000
"""Digits behind the point: a byte could claim any number of them."""

MAX_FREE_IN_RECORD: Final = 100_000
"""Values of a record that take no bytes: a short schema could double them again and again."""

MAX_FREE_IN_ITEM: Final = 100
"""The same of an item of an array or map, of which a message has as many as bytes."""

# What fastavro raises for bytes and values that do not fit their schema; it has no class for them.
UNFIT: Final = (
    ValueError, TypeError, KeyError, IndexError, EOFError, AttributeError, OverflowError,
    struct.error, DecimalException, StopIteration, fastavro.read.SchemaResolutionError,
)  # fmt: skip
_BROKEN: Final = (SchemaParseException, UnknownType, *UNFIT, RecursionError)
_KEPT_LOGICAL: Final = frozenset({"decimal", "uuid"})
_COUNTED: Final = "lockstep-counted"
"""A logical type that the library tells us of, value by value."""
_COUNTED_KINDS: Final = ("record", "error", "array", "map")
_LEAST_BYTES: Final = {
    "null": 0, "boolean": 1, "int": 1, "long": 1, "float": 4, "double": 8, "bytes": 1, "string": 1,
}  # fmt: skip
_PLAIN: Final[Mapping[AttributeType, str]] = {
    AttributeType.STRING: "string",
    AttributeType.INT: "int",
    AttributeType.LONG: "long",
    AttributeType.FLOAT: "float",
    AttributeType.DOUBLE: "double",
    AttributeType.BOOL: "boolean",
}


class AvroSchema:
    """A schema that can be used. MappingError for a text that is none, and for one whose values
    have no limit: schemas that hold themselves, and those of many values that take no bytes.

    `references`: (name, text) of the schemas that it refers to, inner ones first. `is_list`: a
    value is several records.
    """

    def __init__(self, text: str, references: Sequence[tuple[str, str]] = ()) -> None:
        named: dict[str, Any] = {}
        for _, each in references:
            _parsed(each, named)
        self.text = text
        parsed = _parsed(text, named)
        parsed = named.get(parsed, parsed) if isinstance(parsed, str) else parsed
        self.named = named
        self.parsed = self.alone(parsed) if isinstance(parsed, dict) else parsed
        self.is_list = isinstance(parsed, dict) and parsed.get("type") == "array"
        sizes: dict[str, _Size | None] = {}
        for name, schema in named.items():
            if name not in sizes:
                _size(schema, sizes)
        size = _size(self.parsed, sizes)
        self.free_values = size.free_values
        """The most that a value is made of which take no bytes of their own."""
        self._free_in_items = size.free_in_items

    @property
    def record(self) -> Mapping[str, Any] | None:
        """The record that an event is, if it is one."""
        found = self.parsed["items"] if self.is_list else self.parsed
        if isinstance(found, str):
            found = self.named.get(found, found)
        return found if isinstance(found, dict) and found.get("type") == "record" else None

    def fields(self) -> Mapping[str, Mapping[str, Any]]:
        """The record's fields by name; none where an event is no record."""
        record = self.record
        return {} if record is None else {each["name"]: each for each in record["fields"]}

    def alone(self, part: Mapping[str, Any]) -> Any:
        """A part of this schema as a schema by itself, as the library marks what it has read."""
        return {**part, "__fastavro_parsed": True, "__named_schemas": self.named}

    def kinds(self, field: Mapping[str, Any]) -> frozenset[str]:
        """What a field may be: names of types, and of logical ones that are values."""
        type_ = field["type"]
        return frozenset(
            self._kind(each) for each in (type_ if isinstance(type_, list) else [type_])
        )

    def _kind(self, type_: Any) -> str:
        if isinstance(type_, str) and type_ in self.named:
            type_ = self.named[type_]
        if isinstance(type_, dict):
            return str(type_.get("logicalType") or type_["type"])
        return str(type_)

    def other(self, reader: AvroSchema | None) -> AvroSchema | None:
        """The reader's schema, unless it says the same: then a value is read as it was written.
        Where the library resolves it, it may choose another branch of a union than the writer."""
        return None if reader is not None and reader.parsed == self.parsed else reader

    def for_reading(self, message_bytes: int, reader: AvroSchema | None) -> Any:
        """The schema as the library reads a message of that size by it. The values of one that may
        be too much are counted, which takes time; a `reader` may fill in any number of them."""
        most = message_bytes * (1 + self._free_in_items)
        return self.parsed if reader is None and not may_be_too_much(most) else self._counted

    @cached_property
    def _counted(self) -> Any:
        return _counted(self.parsed, {})

    def read(self, payload: bytes, reader: AvroSchema | None) -> Any:
        """A value in bytes, in the form of `reader` if there is one."""
        begin_message()
        source = io.BytesIO(payload)
        reader = self.other(reader)
        form = self.for_reading(len(payload), reader)
        try:
            value = fastavro.schemaless_reader(
                source, form, None if reader is None else reader.parsed
            )
        except UNFIT as error:
            raise MappingError(
                f"the message does not fit its schema at byte {source.tell()}: {told(error)}",
                hint="is it of another schema, or does it begin with the id of one?",
            ) from error
        left = len(payload) - source.tell()
        if left:
            raise MappingError(
                f"{left} bytes stand behind the value, from byte {source.tell()}",
                hint="is it of another schema, or does it begin with the id of one?",
            )
        return value

    def write(self, value: Any) -> bytes:
        """A value as bytes."""
        target = io.BytesIO()
        try:
            fastavro.schemaless_writer(target, self.parsed, value, strict_allow_default=True)
        except UNFIT as error:
            raise MappingError(f"the event does not fit the schema: {told(error)}") from error
        return target.getvalue()


def schema_of(stream: StreamSchema) -> str:
    """A record with the stream's name and its attributes, none of which may be null."""
    fields = []
    for attribute in stream.attributes:
        if attribute.type is AttributeType.OBJECT:
            raise MappingError(
                f"no schema can be made for the object {attribute.name!r}",
                where=attribute.name,
                hint="give one: schema.def",
            )
        fields.append({"name": attribute.name, "type": _PLAIN[attribute.type]})
    name = re.sub(r"\W", "_", stream.name, flags=re.ASCII)
    name = name if re.match(r"[A-Za-z_]", name) else f"_{name}"
    return msgspec.json.encode({"type": "record", "name": name, "fields": fields}).decode()


def told(error: BaseException) -> str:
    """What an error of the library says, in a line."""
    text = " ".join(str(error).split())[:200]
    return text if text and not isinstance(error, KeyError) else f"{type(error).__name__} {text}"


def _parsed(text: str, named: dict[str, Any]) -> Any:
    if len(text) > MAX_SCHEMA_BYTES:
        raise MappingError(f"a schema of {len(text)} characters; {MAX_SCHEMA_BYTES} may be")
    try:
        try:
            document = msgspec.json.decode(text)
        except msgspec.DecodeError:
            if not re.fullmatch(r"\s*[\w.]+\s*", text):
                raise
            document = text.strip()  # the name of a type alone
        return fastavro.parse_schema(_as_stored(document), named_schemas=named)
    except _BROKEN as error:
        raise MappingError(
            f"the text is no Avro schema: {told(error)}",
            hint='{"type":"record","name":"R","fields":[{"name":"a","type":"string"}]}',
        ) from error


def _as_stored(schema: Any) -> Any:
    """Without the logical types whose values are times."""
    if isinstance(schema, list):
        return [_as_stored(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    logical = schema.get("logicalType")
    is_text = schema.get("type") == "string"
    kept = {
        key: value
        for key, value in schema.items()
        if key != "logicalType" or (logical in _KEPT_LOGICAL and not is_text)
    }
    for key in ("type", "items", "values"):
        if key in kept:
            kept[key] = _as_stored(kept[key])
    if isinstance(kept.get("fields"), list):
        kept["fields"] = [_as_stored(each) for each in kept["fields"]]
    return kept


def _counted(schema: Any, done: dict[int, Any]) -> Any:
    """A parsed schema whose records, arrays and maps are counted when they are read. `done`: its
    parts, of which a named one is part of others."""
    if isinstance(schema, list):
        return [_counted(each, done) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if id(schema) in done:
        return done[id(schema)]
    counted = done[id(schema)] = dict(schema)
    for key in ("type", "items", "values"):
        if key in counted:
            counted[key] = _counted(counted[key], done)
    if "fields" in counted:
        counted["fields"] = [
            {**each, "type": _counted(each["type"], done)} for each in counted["fields"]
        ]
    if "__named_schemas" in counted:
        named = counted["__named_schemas"]
        counted["__named_schemas"] = {name: _counted(each, done) for name, each in named.items()}
    if counted["type"] in _COUNTED_KINDS:
        counted["logicalType"] = _COUNTED
    return counted


class _Size(NamedTuple):
    """Of values of a schema. `least_bytes`: what each takes. `free_values`: of how many values one
    is made at most that take no bytes of their own: records, nulls, and what has the size 0.
    `free_in_items`: the same of an item of the arrays and maps in it, of which there is one a byte.
    """

    least_bytes: int
    free_values: int
    free_in_items: int = 0


def _size(schema: Any, sizes: dict[str, _Size | None]) -> _Size:
    """MappingError for what has no limit. `sizes`: of named types; None while inside of one."""
    if isinstance(schema, list):
        each = [_size(one, sizes) for one in schema]
        least = min((one.least_bytes for one in each), default=0)
        most = max((one.free_values for one in each), default=0)
        in_items = max((one.free_in_items for one in each), default=0)
        return _Size(1 + least, max(0, most - 1), in_items)  # the byte that says which one it is
    if isinstance(schema, str):
        if schema in _LEAST_BYTES:
            return _of_bytes(_LEAST_BYTES[schema])
        size = sizes[schema]
        if size is None:
            raise MappingError(
                f"the schema {schema!r} holds itself", hint="values of events have a limited depth"
            )
        return size
    kind, name = schema["type"], schema.get("name", "")
    if kind in ("record", "error"):
        sizes[name] = None
        sizes[name] = total = _size_of_fields([_size(f["type"], sizes) for f in schema["fields"]])
        return total
    if kind == "enum":
        sizes[name] = size = _of_bytes(1)
        return size
    if kind == "fixed":
        length = schema["size"]
        if type(length) is not int or length < 0:
            raise MappingError(f"the schema {name!r} has the size {str(length)[:60]}")
        sizes[name] = size = _of_bytes(length)
        return size
    if kind in ("array", "map"):
        item = _size(schema["items" if kind == "array" else "values"], sizes)
        if kind == "array" and item.least_bytes == 0:
            raise _without_limit("the schema has an array of what takes no bytes")
        if item.free_values > MAX_FREE_IN_ITEM:
            raise _without_limit(
                f"an item of the schema's {kind} is {item.free_values} values that take no bytes"
            )
        return _Size(1, 0, max(item.free_values, item.free_in_items))
    return _size(kind, sizes)


def _of_bytes(least_bytes: int) -> _Size:
    return _Size(least_bytes, 0 if least_bytes else 1)


def _size_of_fields(fields: Sequence[_Size]) -> _Size:
    free = 1 + sum(each.free_values for each in fields)
    if free > MAX_FREE_IN_RECORD:
        raise _without_limit(
            f"a record of the schema is more than {MAX_FREE_IN_RECORD} values that take no bytes"
        )
    in_items = max((each.free_in_items for each in fields), default=0)
    return _Size(sum(each.least_bytes for each in fields), free, in_items)


def _without_limit(message: str) -> MappingError:
    return MappingError(message, hint="a few bytes could claim any number of them")


def _bounded(read: Callable[..., Any]) -> Callable[..., Any]:
    """A reader of decimals that refuses long ones."""

    def bounded(data: bytes, schema: Mapping[str, Any], *more: Any) -> Any:
        if len(data) > MAX_DECIMAL_BYTES or schema.get("scale", 0) > MAX_SCALE:
            raise ValueError(
                f"a decimal of {len(data)} bytes with the scale {schema.get('scale', 0)}; "
                f"{MAX_DECIMAL_BYTES} bytes and the scale {MAX_SCALE} are taken"
            )
        count(0)
        return read(data, schema, *more)

    return bounded


def _has_counted(data: Any, *_: Any) -> Any:
    """A reader of records, arrays and maps. MappingError when they are too many."""
    count(len(data))
    return data


for _kind in _COUNTED_KINDS:
    fastavro.read.LOGICAL_READERS[f"{_kind}-{_COUNTED}"] = _has_counted

# The library has no limit, and takes the square of a number's length for it.
for _kind in ("bytes-decimal", "fixed-decimal"):
    fastavro.read.LOGICAL_READERS[_kind] = _bounded(fastavro.read.LOGICAL_READERS[_kind])
