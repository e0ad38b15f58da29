"""Values of Protobuf's fields as values of attributes and documents, and back.

Repeated fields are lists, maps are objects, messages are objects of their fields. A timestamp or
duration is milliseconds, a wrapper is its value, a `Struct` is what it holds. Enums are their
names; for a number's attribute their numbers. A field that can say that it is not there is null.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message_factory import GetMessageClass

from lockstep.events import AttributeType
from lockstep.functions import json_documents
from lockstep.mapping.amount import count
from lockstep.mapping.contract import MappingError
from lockstep.mapping.numbers import finite
from lockstep.mapping.values import exact

Read = Callable[[Any], Any]

_TIMES: Final = ("google.protobuf.Timestamp", "google.protobuf.Duration")
_WRAPPERS: Final = frozenset(
    f"google.protobuf.{kind}Value"
    for kind in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
)
_DOCUMENTS: Final = frozenset(
    f"google.protobuf.{kind}" for kind in ("Struct", "Value", "ListValue")
)
_NUMBERS: Final = (
    AttributeType.INT, AttributeType.LONG, AttributeType.FLOAT, AttributeType.DOUBLE,
)  # fmt: skip
_FLOATING: Final = (AttributeType.FLOAT, AttributeType.DOUBLE)
_SAFE: Final = {
    FieldDescriptor.TYPE_STRING: (AttributeType.STRING,),
    FieldDescriptor.TYPE_BOOL: (AttributeType.BOOL,),
    FieldDescriptor.TYPE_DOUBLE: (AttributeType.DOUBLE,),
    FieldDescriptor.TYPE_FLOAT: _FLOATING,
    FieldDescriptor.TYPE_INT32: (AttributeType.INT, AttributeType.LONG),
    FieldDescriptor.TYPE_SINT32: (AttributeType.INT, AttributeType.LONG),
    FieldDescriptor.TYPE_SFIXED32: (AttributeType.INT, AttributeType.LONG),
    FieldDescriptor.TYPE_UINT32: (AttributeType.LONG,),
    FieldDescriptor.TYPE_FIXED32: (AttributeType.LONG,),
    FieldDescriptor.TYPE_INT64: (AttributeType.LONG,),
    FieldDescriptor.TYPE_SINT64: (AttributeType.LONG,),
    FieldDescriptor.TYPE_SFIXED64: (AttributeType.LONG,),
}


def field_of(descriptor: Descriptor, name: str) -> FieldDescriptor:
    """A field by its name in the schema, or as JSON and Java write it; MappingError."""
    found = descriptor.fields_by_name.get(name) or descriptor.fields_by_camelcase_name.get(name)
    if found is None:
        raise MappingError(
            f"{descriptor.full_name} has no field {name!r}",
            hint=f"there are {', '.join(descriptor.fields_by_name)}",
        )
    return found


def has_required(descriptor: Descriptor) -> bool:
    """A message of the type, or one within it, has fields that must be there."""
    seen: set[str] = set()
    left = [descriptor]
    while left:
        each = left.pop()
        if each.full_name in seen:
            continue
        seen.add(each.full_name)
        if any(field.is_required for field in each.fields):
            return True
        left += [field.message_type for field in each.fields if field.message_type is not None]
    return False


def is_safe(field: FieldDescriptor, wanted: AttributeType) -> bool:
    """A value of the field is one of the attribute already."""
    return not field.is_repeated and wanted in _SAFE.get(field.type, ())


def converted(value: Any, field: FieldDescriptor, wanted: AttributeType) -> Any:
    """What a field holds, for an attribute; MappingError where it does not fit."""
    enum = field.enum_type
    if enum is not None and not field.is_repeated and wanted in _NUMBERS:
        return exact(value, wanted)
    document = field_document(value, field)
    if document is None or wanted is AttributeType.OBJECT:
        return document
    if isinstance(document, (list, dict)) and wanted is AttributeType.STRING:
        return json_documents.text(_texts(document))
    if isinstance(document, bytes) and wanted is AttributeType.STRING:
        return _texts(document)
    if type(document) is int and wanted in _FLOATING:
        return exact(float(document), wanted)
    return exact(document, wanted)


def field_document(value: Any, field: FieldDescriptor) -> Any:
    """What a field holds, as a value that an object may hold."""
    if not field.is_repeated:
        return _single(value, field)
    inner = field.message_type
    if inner is not None and inner.GetOptions().map_entry:
        keys, values = inner.fields_by_name["key"], inner.fields_by_name["value"]
        return {
            _key(_single(key, keys)): _single(value[key], values) for key in sorted(value, key=_key)
        }
    return [_single(each, field) for each in value]


def document(message: Any) -> dict[str, Any]:
    """A message as an object with a member per field, of which each is counted."""
    count(len(message.DESCRIPTOR.fields))
    return {
        field.name: (
            None
            if field.has_presence and not message.HasField(field.name)
            else field_document(getattr(message, field.name), field)
        )
        for field in message.DESCRIPTOR.fields
    }


def fill(field: FieldDescriptor, value: Any) -> Any:
    """A value as the constructor of a message takes it; MappingError where it cannot."""
    inner = field.message_type
    if inner is not None and inner.GetOptions().map_entry:
        if not isinstance(value, dict):
            raise MappingError(f"{field.name!r} is a map", where=field.name)
        keys, values = inner.fields_by_name["key"], inner.fields_by_name["value"]
        return {_map_key(key, keys): _filled(values, each) for key, each in value.items()}
    if field.is_repeated:
        if not isinstance(value, (list, tuple)):
            raise MappingError(f"{field.name!r} is a list", where=field.name)
        return [_filled(field, each) for each in value]
    return _filled(field, value)


def members(descriptor: Descriptor, value: Any) -> dict[str, Any]:
    """The members of an object as fields of a message; those that are null are left out."""
    if not isinstance(value, dict):
        raise MappingError(f"a {type(value).__name__} is no {descriptor.full_name}")
    found = {}
    for name, each in value.items():
        field = field_of(descriptor, name)
        if each is not None:
            found[field.name] = fill(field, each)
    return found


def _filled(field: FieldDescriptor, value: Any) -> Any:
    if field.type == FieldDescriptor.TYPE_BYTES and isinstance(value, str):
        return value.encode()
    inner = field.message_type
    if inner is None or value is None:
        return value
    if inner.full_name in _TIMES and type(value) is int:
        seconds, rest = divmod(value, 1_000)
        if value < 0 and inner.full_name == _TIMES[1] and rest:
            seconds, rest = seconds + 1, rest - 1_000  # of a duration both have one sign
        return {"seconds": seconds, "nanos": rest * 1_000_000}
    if inner.full_name in _WRAPPERS:
        return {"value": _filled(inner.fields_by_name["value"], value)}
    if inner.full_name in _DOCUMENTS:
        try:
            return json_format.ParseDict(value, GetMessageClass(inner)())
        except (json_format.Error, TypeError, ValueError, RecursionError) as error:
            raise MappingError(f"{field.name!r}: {error}", where=field.name) from error
    return members(inner, value)


def _single(value: Any, field: FieldDescriptor) -> Any:
    enum, inner = field.enum_type, field.message_type
    if enum is not None:
        known = enum.values_by_number.get(value)
        return str(value) if known is None else known.name
    if inner is None:
        if field.type == FieldDescriptor.TYPE_STRING and isinstance(value, bytes):
            raise MappingError(f"{field.full_name} is no UTF-8")
        return finite(value)
    if inner.full_name in _TIMES:
        return value.seconds * 1_000 + int(value.nanos / 1_000_000)
    if inner.full_name in _WRAPPERS:
        return finite(value.value)
    if inner.full_name in _DOCUMENTS:
        try:
            return json_format.MessageToDict(value)
        except (json_format.Error, ValueError) as error:
            raise MappingError(f"{field.name!r}: {error}", where=field.name) from error
    return document(value)


def _texts(value: Any) -> Any:
    """A document with texts for bytes."""
    if isinstance(value, dict):
        return {key: _texts(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_texts(inner) for inner in value]
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError as error:
            raise MappingError(
                f"bytes are no text: {error}", hint="map them to an attribute of type object"
            ) from error
    return value


def _key(key: Any) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)


def _map_key(key: Any, field: FieldDescriptor) -> Any:
    """Objects have texts as keys; maps may have whole numbers and truth values."""
    if field.type == FieldDescriptor.TYPE_STRING:
        return str(key)
    text = _key(key)
    if field.type == FieldDescriptor.TYPE_BOOL:
        if text not in ("true", "false"):
            raise MappingError(f"{text[:60]!r} is no key of a map by truth values")
        return text == "true"
    try:
        return int(text)
    except ValueError as error:
        raise MappingError(f"{text[:60]!r} is no key of a map by whole numbers") from error
