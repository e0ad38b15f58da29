"""`@map(type='protobuf')` of sources: Protobuf into events (extensions 13.11)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError

from lockstep.events import AttributeType, LockstepError, StreamSchema
from lockstep.functions.json_path import MissingError, compile_path
from lockstep.mapping.amount import begin_message
from lockstep.mapping.contract import MappingError, Properties, Reading
from lockstep.mapping.options import Column, columns, flag, invalid
from lockstep.mapping.protobuf.options import defined, no_schema, registered
from lockstep.mapping.protobuf.types import ProtobufTypes, class_of, read_indexes
from lockstep.mapping.protobuf.values import converted, document, field_of, has_required, is_safe
from lockstep.mapping.reading import ABSENT, PayloadReader, read_rows, row_of
from lockstep.mapping.registered import HEAD, Registered, registry_of, schema_id_of
from lockstep.mapping.values import lenient
from lockstep.schemas import Kind, Wanted
from lockstep.siddhiql import ast

_FIELDS: Final = re.compile(r"(?:\$\.)?[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
Read = Callable[[Any], Any]


class ProtobufSource(PayloadReader):
    """A message is an event. Fields go to attributes of their names, others are left out; or by
    `@attributes`, whose paths lead into messages: `a.b`.

    With `use.protobuf.deserializer` each message names its schema and its type in it.
    """

    def __init__(self, schema: StreamSchema, annotation: ast.Annotation) -> None:
        self._columns = columns(schema, annotation) or [
            Column(attribute, attribute.name) for attribute in schema.attributes
        ]
        self._fails = flag(annotation, "fail.on.missing.attribute", True)
        self._named = flag(annotation, "use.protobuf.deserializer", False)
        self._message = annotation.get("message")
        self._forms: dict[Descriptor, _Form] = {}
        types = defined(annotation)
        registry, number = registry_of(annotation), schema_id_of(annotation)
        self.registered: Registered[ProtobufTypes] | None = None
        self._own: _Form | None = None
        if registry is not None:
            if types is not None or (number is None) != self._named:
                raise invalid(
                    annotation,
                    "schema.registry wants schema.id, or that messages name their schemas",
                    "schema.id='1' for bare messages; use.protobuf.deserializer='true' for others",
                )
            own = None if number is None else Wanted(registry, Kind.PROTOBUF, number)
            self.registered = Registered(
                registry, Kind.PROTOBUF, registered, own=own, names_ids=self._named
            )
        elif types is None:
            raise no_schema(annotation)
        elif self._named or number is not None:
            raise invalid(
                annotation, "there is no schema.registry", "schema.registry='http://host:8081'"
            )
        else:
            try:
                self._own = self._form(types.message(self._message))
            except LockstepError as error:
                raise invalid(annotation, error.message, error.hint) from error

    def reading(self, payload: Any, now_ms: int, properties: Properties | None) -> Reading:
        """See PayloadReader."""
        return read_rows(
            [payload], lambda body: self._row(body, properties), now_ms, as_one_chunk=True
        )

    def _row(self, payload: Any, properties: Properties | None) -> tuple[Any, ...]:
        if not isinstance(payload, (bytes, bytearray, memoryview)):
            raise MappingError(f"Protobuf is bytes, not a {type(payload).__name__}")
        form, body = self._taken(bytes(payload))
        try:
            message = form.make.FromString(body)
        except DecodeError as error:
            raise MappingError(
                f"the message is no {form.name}: {error}",
                hint="is it of another type, or does it begin with the id of a schema?",
            ) from error
        if form.may_lack and not message.IsInitialized():
            lacking = ", ".join(message.FindInitializationErrors())
            raise MappingError(f"the message is no {form.name}: it lacks {lacking}")
        return form.row(message, properties)

    def _taken(self, payload: bytes) -> tuple[_Form, bytes]:
        """The form of a message, and what is in it behind the id."""
        if self._own is not None:
            return self._own, payload
        assert self.registered is not None  # else there is a form
        if not self._named:
            return self._form(self.registered.own()[1].message(self._message)), payload
        types = self.registered.writer(payload)
        indexes, at = read_indexes(payload, HEAD.size)
        return self._form(types.at(indexes)), payload[at:]

    def _form(self, descriptor: Descriptor) -> _Form:
        form = self._forms.get(descriptor)
        if form is None:
            if len(self._forms) >= MAX_FORMS:
                self._forms.clear()
            form = self._forms[descriptor] = _Form(descriptor, self._columns, self._fails)
        return form


MAX_FORMS: Final = 1_000
"""Message types that a source keeps ready; beyond it all are made anew."""


class _Form:
    """How messages of one type become rows."""

    def __init__(self, descriptor: Descriptor, wanted: Sequence[Column], fails: bool) -> None:
        self.name = descriptor.full_name
        self.make = class_of(descriptor)
        self.may_lack = has_required(descriptor)
        self._columns = wanted
        self._fails = fails
        self._reads: dict[str, Read] = {}
        quick: list[Read] | None = []
        plain: list[str] | None = []
        for column in wanted:
            if column.is_transport:
                quick = plain = None
                continue
            read, is_ready = _reader(descriptor, column, fails)
            self._reads[column.attribute.name] = read
            if quick is not None:
                quick = [*quick, read] if is_ready else None
            if plain is not None:
                name = _plain_name(descriptor, column)
                plain = None if name is None else [*plain, name]
        self._quick = quick
        self._plain = attrgetter(*plain) if plain is not None and len(plain) > 1 else None

    def row(self, message: Any, properties: Properties | None) -> tuple[Any, ...]:
        """The attributes' values; MappingError names all that do not fit."""
        values = self._quickly(message)
        # Proto2 lets a text be no UTF-8, and it comes as bytes then.
        if values is not None and bytes not in map(type, values):
            return values
        reads = self._reads
        return row_of(
            self._columns,
            lambda column: reads[column.attribute.name](message),
            properties,
            fails_on_missing=self._fails,
            convert=_whole_text,
        )

    def _quickly(self, message: Any) -> tuple[Any, ...] | None:
        """The values where none can be missing or has to be converted."""
        if self._plain is not None:
            values: tuple[Any, ...] = self._plain(message)
            return values
        if self._quick is not None:
            return tuple([read(message) for read in self._quick])
        return None


def _whole_text(value: Any, wanted: AttributeType) -> Any:
    if wanted is AttributeType.STRING and isinstance(value, bytes):
        raise MappingError("the text is no UTF-8")
    return value


def _reader(descriptor: Descriptor, column: Column, fails: bool) -> tuple[Read, bool]:
    """What reads an attribute's value out of a message, and whether it never refuses one."""
    outer: list[str] = []
    inside: Descriptor = descriptor
    try:
        if not _FIELDS.fullmatch(column.path):
            return _by_path(column), False
        *names, last = column.path.removeprefix("$.").split(".")
        for name in names:
            field = field_of(inside, name)
            if field.is_repeated:
                return _by_path(column), False
            if field.message_type is None:
                raise MappingError(f"{name!r} is no message, as {column.path!r} would have it")
            outer.append(field.name)
            inside = field.message_type
        return _by_fields(outer, field_of(inside, last), column)
    except MappingError:
        if fails:
            raise
        return (lambda message: None), True


def _plain_name(descriptor: Descriptor, column: Column) -> str | None:
    """The field whose value is the attribute's as it is; None if it is not that simple."""
    field = descriptor.fields_by_name.get(column.path)
    if field is None or field.has_presence or not is_safe(field, column.attribute.type):
        return None
    return column.path


def _by_path(column: Column) -> Read:
    path, wanted = compile_path(column.path), column.attribute.type

    def read(message: Any) -> Any:
        begin_message()
        try:
            return lenient(path.read(document(message)), wanted)
        except MissingError:
            return ABSENT

    return read


def _by_fields(outer: Sequence[str], field: FieldDescriptor, column: Column) -> tuple[Read, bool]:
    name, wanted, may_miss = field.name, column.attribute.type, field.has_presence
    ready = is_safe(field, wanted)
    if ready and not outer and not may_miss:
        return (lambda message: getattr(message, name)), True

    def read(message: Any) -> Any:
        for each in outer:
            if not message.HasField(each):
                return None
            message = getattr(message, each)
        if may_miss and not message.HasField(name):
            return None
        value = getattr(message, name)
        if ready:
            return value
        begin_message()
        return converted(value, field, wanted)

    return read, ready
