"""`@map(type='avro')` of sources: Avro into events (extensions 13.10)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from operator import itemgetter
from typing import Any, Final
from uuid import UUID

from lockstep.events import AttributeType, Event, StreamSchema
from lockstep.functions import json_documents
from lockstep.functions.json_path import MissingError
from lockstep.mapping.avro.container import ContainerReader
from lockstep.mapping.avro.options import defined, is_container, made_of, registered
from lockstep.mapping.avro.schema import AvroSchema
from lockstep.mapping.contract import MappingError, Properties, Reading
from lockstep.mapping.documents import DocumentSource
from lockstep.mapping.numbers import finite, whole
from lockstep.mapping.options import Column, flag, invalid
from lockstep.mapping.reading import ABSENT, row_of
from lockstep.mapping.registered import HEAD, Registered, registry_of, schema_id_of
from lockstep.mapping.values import exact
from lockstep.plan import java
from lockstep.schemas import Kind, Wanted
from lockstep.siddhiql import ast

_FIELD: Final = re.compile(r"(?:\$\.)?[A-Za-z_]\w*")
_FLOATING: Final = (AttributeType.FLOAT, AttributeType.DOUBLE)
_SAME: Final[Mapping[AttributeType, frozenset[str]]] = {
    AttributeType.STRING: frozenset({"string", "enum"}),
    AttributeType.INT: frozenset({"int"}),
    AttributeType.LONG: frozenset({"int", "long"}),
    AttributeType.FLOAT: frozenset({"float"}),
    AttributeType.DOUBLE: frozenset({"float", "double"}),
    AttributeType.BOOL: frozenset({"boolean"}),
}
"""Types whose values are those of the attribute already; an int's range is looked at."""


class AvroSource(DocumentSource):
    """A record is an event; a schema that is an array of records, and a container file, are several
    (one chunk). Fields go to attributes of their names, others are left out; or by `@attributes`.

    Without a schema one is made of the stream. With `use.avro.deserializer` each message names the
    schema that it was written with, and it is read in the form of `schema.def` or `schema.id`.
    """

    def __init__(self, schema: StreamSchema, annotation: ast.Annotation) -> None:
        super().__init__(schema, annotation)
        self._is_container = is_container(annotation)
        self._containers = ContainerReader()
        self._defined = defined(annotation)
        self._named = flag(annotation, "use.avro.deserializer", False)
        self.registered = self._registered(annotation)
        if self._defined is None and self.registered is None and not self._is_container:
            self._defined = made_of(schema, annotation)
        self._fields = _fields(self.columns)
        self._quick: tuple[AvroSchema, Callable[[Any], tuple[Any, ...]] | None] | None = None
        self._ints = [at for at, each in enumerate(schema.types) if each is AttributeType.INT]

    def _registered(self, annotation: ast.Annotation) -> Registered[AvroSchema] | None:
        registry, number = registry_of(annotation), schema_id_of(annotation)
        if registry is None:
            if self._named or number is not None:
                raise invalid(
                    annotation, "there is no schema.registry", "schema.registry='http://host:8081'"
                )
            return None
        if self._is_container and self._named:
            raise invalid(annotation, "a container file brings its schema", "leave one of both out")
        if number is None and not self._named:
            raise invalid(
                annotation,
                "schema.registry without schema.id",
                "schema.id='1', or use.avro.deserializer='true': each message names its schema",
            )
        own = None if number is None else Wanted(registry, Kind.AVRO, number)
        return Registered(registry, Kind.AVRO, registered, own=own, names_ids=self._named)

    def reading(self, payload: Any, now_ms: int, properties: Properties | None) -> Reading:
        """See PayloadReader."""
        if self._fields is not None and isinstance(payload, bytes):
            quick = self._quickly(payload, now_ms)
            if quick is not None:
                return quick
        return super().reading(payload, now_ms, properties)

    def _quickly(self, payload: bytes, now_ms: int) -> Reading | None:
        """Records whose fields have the attributes' types; None for what has to be looked at."""
        values, form = self._records(payload)
        try:
            row = self._row_of(form)
            if row is None:
                return None
            rows = [row(each) for each in values]
        except (MappingError, KeyError, TypeError):
            return None  # told the other way
        for at in self._ints:
            for each in rows:
                if each[at] is not None and not java.INT_MIN <= each[at] <= java.INT_MAX:
                    return None
        events = [Event(now_ms, each) for each in rows]
        if self.groups:
            return Reading(chunks=[events] if events else [])
        return Reading(chunks=[[event] for event in events])

    def _row_of(self, form: AvroSchema) -> Callable[[Any], tuple[Any, ...]] | None:
        """What takes a row out of a record of that form, where nothing has to be converted."""
        if self._quick is None or self._quick[0] is not form:
            fields, wanted = form.fields(), self._fields or ()
            fits = all(
                name in fields and form.kinds(fields[name]) - {"null"} <= _SAME.get(type_, set())
                for name, type_ in zip(wanted, self._schema.types, strict=True)
            )
            self._quick = (form, _getter(wanted) if fits else None)
        return self._quick[1]

    def _records(self, payload: bytes) -> tuple[list[Any], AvroSchema]:
        """What a message says, one for each event, and the schema of that form."""
        if self._is_container:
            reader = self._defined
            if reader is None and self.registered is not None:
                reader = self.registered.own()[1]
            return self._containers.read(payload, reader)
        value, form = self._value(payload)
        return (value if form.is_list else [value]), form

    def _value(self, payload: bytes) -> tuple[Any, AvroSchema]:
        reader = self._defined
        if not self._named:
            writer = reader if self.registered is None else self.registered.own()[1]
            assert writer is not None  # made of the stream, if nothing else is there
            form = reader or writer
            return writer.read(payload, None if form is writer else form), form
        assert self.registered is not None  # by the option
        if reader is None and self.registered.has_own:
            reader = self.registered.own()[1]
        writer = self.registered.writer(payload)
        form = reader or writer
        return writer.read(payload[HEAD.size :], None if form is writer else form), form

    def elements(self, payload: Any) -> list[Any]:
        if not isinstance(payload, (bytes, bytearray, memoryview)):
            raise MappingError(f"Avro is bytes, not a {type(payload).__name__}")
        return self._records(bytes(payload))[0]

    def _row(self, element: Any, properties: Properties | None) -> tuple[Any, ...]:
        if not isinstance(element, dict):
            raise MappingError(
                "an event must be a record",
                where=self._schema.name,
                hint=f"a record with {', '.join(self._schema.names)}",
            )
        return row_of(
            self.columns,
            partial(self._found, element),
            properties,
            fails_on_missing=self.fails,
            convert=converted,
        )

    def _found(self, element: dict[str, Any], column: Column) -> Any:
        if self.custom is None:
            return element.get(column.path, ABSENT)
        try:
            return self.paths[column.path].read(element)
        except MissingError:
            return ABSENT


def _fields(columns: Sequence[Column]) -> Sequence[str] | None:
    """The fields that the attributes are; None where a path leads further, or to the transport."""
    if any(each.is_transport or not _FIELD.fullmatch(each.path) for each in columns):
        return None
    return [each.path.removeprefix("$.") for each in columns]


def _getter(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return itemgetter(*names)
    return lambda record: (record[names[0]],)


def converted(value: Any, wanted: AttributeType) -> Any:
    """A value of Avro as one of the attribute; MappingError for others."""
    if type(value) is int and wanted in _FLOATING:
        return exact(float(value), wanted)
    if isinstance(value, Decimal):
        if wanted in _FLOATING:
            return exact(float(value), wanted)
        if wanted in (AttributeType.INT, AttributeType.LONG):
            return exact(whole(value), wanted)
    if wanted is AttributeType.STRING:
        return _text(value)
    if wanted is AttributeType.OBJECT:
        return _plain(value)
    return exact(value, wanted)


def _text(value: Any) -> Any:
    if isinstance(value, (dict, list)):
        return json_documents.text(_plain(value, inside=True))
    return exact(_plain(value, inside=True), AttributeType.STRING)


def _plain(value: Any, *, inside: bool = False) -> Any:
    """What objects may hold: of bytes within a document the text."""
    if isinstance(value, dict):
        return {key: _plain(inner, inside=True) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner, inside=True) for inner in value]
    if isinstance(value, bytes) and inside:
        try:
            return value.decode()
        except UnicodeDecodeError as error:
            raise MappingError(
                f"bytes are no text: {error}", hint="map them to an attribute of type object"
            ) from error
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, UUID):
        return str(value)
    return finite(value)
