"""`@map(type='protobuf')` of sinks: events into Protobuf (extensions 13.11)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import EncodeError

from lockstep.events import AttributeType, Event, LockstepError, StreamSchema
from lockstep.mapping.contract import MappingError
from lockstep.mapping.options import flag, invalid, nested
from lockstep.mapping.payloads import record_maker
from lockstep.mapping.protobuf.options import defined, no_schema, registered
from lockstep.mapping.protobuf.types import ProtobufTypes, class_of, write_indexes
from lockstep.mapping.protobuf.values import field_of, fill, is_safe
from lockstep.mapping.registered import HEAD, Registered, registry_of_sink
from lockstep.schemas import Kind, Wanted
from lockstep.siddhiql import ast

# What Protobuf's library raises for values that do not fit a field; it has no class for them.
_UNFIT: Final = (TypeError, ValueError, OverflowError, AttributeError, KeyError, EncodeError)


class ProtobufSink:
    """A message per event, with the attributes as fields of their names, or those of `@payload`.

    With `use.protobuf.serializer` each message begins with the id of its schema in the registry and
    the place of its type in it.
    """

    def __init__(self, schema: StreamSchema, annotation: ast.Annotation) -> None:
        self._make, self._members = record_maker(schema, annotation)
        is_plain = nested(annotation, "payload") is None
        self._types = dict(zip(schema.names, schema.types, strict=True)) if is_plain else {}
        self._message = annotation.get("message")
        self._names_id = flag(annotation, "use.protobuf.serializer", False)
        types = defined(annotation)
        self.registered = self._registered(annotation, types)
        self._ready: tuple[ProtobufTypes, _Form] | None = None
        self._defined = types
        if self.registered is None:
            if types is None:
                raise no_schema(annotation)
            try:
                self._form(types)
            except LockstepError as error:
                raise invalid(annotation, error.message, error.hint) from error

    def _registered(
        self, annotation: ast.Annotation, types: ProtobufTypes | None
    ) -> Registered[ProtobufTypes] | None:
        registry = registry_of_sink(annotation, names_id=self._names_id, registers="schema.def")
        if registry is None:
            return None
        if registry.number is not None:
            own = Wanted(registry.address, Kind.PROTOBUF, registry.number)
        elif types is not None and types.text is not None:
            own = Wanted(registry.address, Kind.PROTOBUF, subject=registry.subject, text=types.text)
        else:
            raise invalid(
                annotation, "schema.subject registers a text of .proto", "give it: schema.def"
            )
        return Registered(registry.address, Kind.PROTOBUF, registered, own=own, names_ids=False)

    def write(self, events: Sequence[Event]) -> list[Any]:
        """See the contract."""
        head = b""
        if self.registered is None:
            assert self._defined is not None  # by the options
            form = self._form(self._defined)
        else:
            number, types = self.registered.own()
            form = self._form(types)
            if self._names_id:
                head = HEAD.pack(0, number) + write_indexes(types.indexes(form.descriptor))
        return [head + form.write(self._make(event)) for event in events]

    def _form(self, types: ProtobufTypes) -> _Form:
        if self._ready is None or self._ready[0] is not types:
            form = _Form(types.message(self._message), self._members, self._types)
            self._ready = (types, form)
        return self._ready[1]


class _Form:
    """How records become messages of one type. MappingError where they cannot."""

    def __init__(
        self, descriptor: Descriptor, members: frozenset[str], types: dict[str, AttributeType]
    ) -> None:
        self.descriptor = descriptor
        self._make = class_of(descriptor)
        self._fields = {name: field_of(descriptor, name) for name in members}
        for name, type_ in types.items():
            _check(self._fields[name], type_)
        self._plain = frozenset(
            name
            for name, field in self._fields.items()
            if name in types and is_safe(field, types[name])
        )
        required = [
            field.name
            for field in descriptor.fields
            if field.is_required and field not in self._fields.values()
        ]
        if required:
            raise MappingError(f"nothing fills the required field {required[0]!r}")

    def write(self, record: dict[str, Any]) -> bytes:
        """The message of a record; MappingError when a value does not fit."""
        filled: dict[str, Any] = {}
        for name, value in record.items():
            field = self._fields[name]
            if value is None:
                if not field.has_presence or field.is_required:
                    raise MappingError(
                        f"{name!r} is null, and the field cannot say so",
                        where=name,
                        hint=f"let it be optional in the schema: optional … {field.name}",
                    )
                continue
            filled[field.name] = value if name in self._plain else fill(field, value)
        try:
            message: bytes = self._make(**filled).SerializeToString(deterministic=True)
        except _UNFIT as error:
            said = " ".join(str(error).split())[:200]
            raise MappingError(f"the event is no {self.descriptor.full_name}: {said}") from error
        return message


def _check(field: FieldDescriptor, type_: AttributeType) -> None:
    """An attribute whose values can never be the field's."""
    is_single = not field.is_repeated
    is_text = field.type in (
        FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES, FieldDescriptor.TYPE_ENUM,
    )  # fmt: skip
    is_floating = field.type in (FieldDescriptor.TYPE_FLOAT, FieldDescriptor.TYPE_DOUBLE)
    is_whole = field.message_type is None and not is_text and not is_floating
    fits = {
        AttributeType.STRING: is_text,
        AttributeType.BOOL: field.type == FieldDescriptor.TYPE_BOOL,
        AttributeType.INT: is_whole or is_floating or field.enum_type is not None,
        AttributeType.LONG: is_whole or is_floating or field.enum_type is not None,
        AttributeType.FLOAT: is_floating,
        AttributeType.DOUBLE: is_floating,
        AttributeType.OBJECT: True,
    }[type_]
    if type_ in (AttributeType.INT, AttributeType.LONG) and field.type == FieldDescriptor.TYPE_BOOL:
        fits = False
    if field.message_type is not None and is_single:
        fits = field.message_type.full_name.startswith("google.protobuf.")
    if type_ is not AttributeType.OBJECT and not (fits and is_single):
        raise MappingError(
            f"{field.name!r} is {type_.value}, and in the schema of another type",
            where=field.name,
            hint="change one of both, or name the values: @payload(name='attribute')",
        )
