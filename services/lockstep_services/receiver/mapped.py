"""Messages in the form of a `@source`: its mapper makes them events of the stream.

JSON and XML messages are taken whole or not at all; lines of CSV and groups of text each for
itself. What is wrong is told for every attribute.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final, Protocol
from urllib.parse import parse_qsl

from lockstep.connectors.hl7 import gives_er7
from lockstep.events import AttributeType, LockstepError, StreamSchema
from lockstep.events.characters import is_whole
from lockstep.functions.json_path import compile_path
from lockstep.mapping import (
    MappingError,
    Reading,
    UsesRegistry,
    columns_reader,
    map_of,
    source_mapper,
)
from lockstep.mapping.reading import MAX_REFUSED, UNMAPPABLE, refusal
from lockstep.schemas import SchemaUser
from lockstep.siddhiql import ast
from lockstep_services.receiver.columns import COLUMNS_MIN_BYTES, ColumnReader, mapped_draft
from lockstep_services.receiver.decode import (
    JSON,
    Decoded,
    MalformedBodyError,
    Refusal,
    decode_at_once,
    parse_json,
    too_deep,
)
from lockstep_services.receiver.drafts import BatchDraft
from lockstep_services.receiver.values import (
    TOO_DEEP,
    EventReader,
    FieldError,
    RawEvent,
    is_too_deep,
)

MISSING: Final = "fail.on.missing.attribute"
CAST: Final = "implicit.cast.enable"

BYTES: Final = frozenset({"avro", "protobuf", "binarypassthrough"})
"""Forms in which every byte counts, and no byte may be a message."""


class MessageReader(Protocol):
    """Reads the messages of one source."""

    @property
    def registered(self) -> SchemaUser | None:
        """Who wants schemas of a registry before a message is read, if anybody does."""

    def read(self, body: bytes, properties: Mapping[str, Any]) -> Decoded:
        """Its events; MalformedBodyError when nothing of it can be taken."""

    def draft(
        self, body: bytes, properties: Mapping[str, Any], timestamp_ms: int | None
    ) -> BatchDraft | None:
        """The same in columns, for large messages; None when `read` has to look.

        `timestamp_ms` is for events without their own.
        """


def message_reader(schema: StreamSchema, source: ast.Annotation) -> MessageReader | None:
    """The reader of a source's own form; None when that is the suite's own."""
    mapping = map_of(source)
    kind = "passthrough" if mapping is None else (mapping.get("type") or "").lower()
    if mapping is None or kind == "passthrough":
        return None
    if kind == "json" and not mapping.nested("attributes"):
        misses = (mapping.get(MISSING) or "true").strip().lower() == "false"
        enclosing = mapping.get("enclosing.element") or "$"
        plain = enclosing == "$" and not misses
        return None if plain else NamedJsonReader(schema, enclosing, fills_missing=misses)
    is_one_text = kind == "text" and schema.types == (AttributeType.STRING,)
    if is_one_text and not mapping.nested("attributes") and gives_er7(source):
        return WholeTextReader(schema)
    return MappedReader(schema, mapping, kind)


class WholeTextReader:
    """A text that is no form of names and values: all of it is the stream's one attribute."""

    registered = None

    def __init__(self, schema: StreamSchema) -> None:
        (self._name,) = schema.names

    def read(self, body: bytes, properties: Mapping[str, Any]) -> Decoded:
        try:
            return Decoded([(RawEvent((body.decode(),)),)])
        except UnicodeDecodeError as error:
            wrong = FieldError(self._name, f"the message is no text in UTF-8: {error.reason}")
            raise _unfit([wrong]) from error

    def draft(
        self, body: bytes, properties: Mapping[str, Any], timestamp_ms: int | None
    ) -> BatchDraft | None:
        return None  # it is one event


class NamedJsonReader:
    """JSON by attribute names, read as everywhere else, below an element or with gaps."""

    registered = None

    def __init__(self, schema: StreamSchema, enclosing: str, *, fills_missing: bool) -> None:
        self._reader = EventReader(schema)
        self._columns = ColumnReader(schema, fills_missing=fills_missing)
        self._enclosing = None if enclosing == "$" else compile_path(enclosing)
        self._absent = dict.fromkeys(schema.names) if fills_missing else {}

    def read(self, body: bytes, properties: Mapping[str, Any]) -> Decoded:
        try:
            return self._read(body)
        except RecursionError as error:
            raise too_deep(error) from error

    def _read(self, body: bytes) -> Decoded:
        if self._enclosing is None and (whole := decode_at_once(body, self._reader)) is not None:
            return Decoded([whole])
        document = parse_json(body)
        if self._enclosing is not None:
            try:
                document = self._enclosing.read(document)
            except UNMAPPABLE as error:
                raise MalformedBodyError(refusal(error).message) from error
        several = isinstance(document, list)
        events: list[RawEvent] = []
        errors: list[FieldError] = []
        for number, element in enumerate(document if several else [document]):
            found = self._reader.read(self._filled(element))
            if isinstance(found, RawEvent):
                events.append(found)
                continue
            item = f"[{number}]" if several else ""
            errors += [FieldError(_name(item, each.field), each.message) for each in found]
        if errors:
            raise _unfit(errors)
        if not events:
            raise MalformedBodyError("the message holds no events")
        return Decoded([tuple(events)])

    def draft(
        self, body: bytes, properties: Mapping[str, Any], timestamp_ms: int | None
    ) -> BatchDraft | None:
        if len(body) < COLUMNS_MIN_BYTES:
            return None
        if self._enclosing is None:
            draft = self._columns.read(JSON, body, timestamp_ms)
            if draft is not None:
                return draft
        try:
            document = parse_json(body)
            if self._enclosing is not None:
                document = self._enclosing.read(document)
        except UNMAPPABLE:
            return None  # told by `read`
        return self._columns.taken(document, timestamp_ms)

    def _filled(self, element: Any) -> Any:
        if not isinstance(element, dict) or not self._absent:
            return element
        inner = element.get("event")
        if isinstance(inner, dict) and "event" not in self._absent:
            return {**element, "event": {**self._absent, **inner}}
        return {**self._absent, **element}


class MappedReader:
    """By a source mapper of the language."""

    def __init__(self, schema: StreamSchema, mapping: ast.Annotation, kind: str) -> None:
        self._schema = schema
        self._kind = kind
        carried = _carried(mapping, kind)
        self._mapper = source_mapper(schema, carried)
        self._columns = columns_reader(carried, self._mapper)

    @property
    def registered(self) -> SchemaUser | None:
        return self._mapper.registered if isinstance(self._mapper, UsesRegistry) else None

    def read(self, body: bytes, properties: Mapping[str, Any]) -> Decoded:
        if self._kind not in BYTES and not body.strip():
            raise MalformedBodyError("the body is empty")
        try:
            payload: Any = _entries(body) if self._kind == "keyvalue" else body
        except LockstepError as error:
            raise MalformedBodyError(error.message) from error
        decoded = _decoded(self._mapper.read(payload, 0, properties), self._schema)
        _check_depth(decoded, self._schema)
        if self._may_halve(body, properties):
            _check_texts(decoded, self._schema)
        return decoded

    def _may_halve(self, body: bytes, properties: Mapping[str, Any]) -> bool:
        """Whether half a character may be in the texts. JSON has escapes for it, which Base64 may
        hide; and in the headers of HTTP it stands for a byte that is no UTF-8."""
        escapes = self._kind not in BYTES and b"\\u" in body
        hides = self._kind == "cloudevents" and b"data_base64" in body
        return escapes or hides or not is_whole(properties)

    def draft(
        self, body: bytes, properties: Mapping[str, Any], timestamp_ms: int | None
    ) -> BatchDraft | None:
        if self._columns is None or len(body) < COLUMNS_MIN_BYTES or not self._schema.attributes:
            return None
        payload: Any = body
        if self._kind == "keyvalue":
            try:
                payload = _entries(body)
            except LockstepError:
                return None  # told by `read`
        found = self._columns.read(payload, properties)
        return None if found is None else mapped_draft(self._schema, found, timestamp_ms)


def _carried(mapping: ast.Annotation, kind: str) -> ast.Annotation:
    """The mapping as it has to be outside a process: forms bring texts, so they are converted."""
    elements = mapping.elements
    if kind == "keyvalue":
        kept = (e for e in mapping.elements if (e.key or "").lower() != CAST)
        elements = (*kept, ast.Element(CAST, "true"))
    return ast.Annotation(mapping.name, elements, mapping.annotations, at=mapping.at)


def _entries(body: bytes) -> Any:
    """A form, or a JSON object of the same entries."""
    if body.lstrip()[:1] in (b"{", b"["):
        return parse_json(body)
    try:
        return dict(parse_qsl(body.decode().strip(), keep_blank_values=True, strict_parsing=True))
    except ValueError as error:
        raise MappingError(f"the body is no form: {error}") from error


def _decoded(reading: Reading, schema: StreamSchema) -> Decoded:
    chunks = _chunks(reading)
    refused = reading.refused
    if any(error.piece is None for error in refused):
        several = bool(chunks) or len(refused) > 1
        items = [f"[{e.item - 1}]" if several and e.item else "" for e in refused]
        raise _unfit(
            field
            for error, item in zip(refused, items, strict=True)
            for field in _fields(error, item, schema)
        )
    if len(refused) > MAX_REFUSED or (len(refused) == 1 and not chunks):
        raise _unfit(field for error in refused for field in _fields(error, "", schema))
    if not chunks and not refused:
        raise MalformedBodyError("the message holds no events")
    pieces = [
        Refusal(error.item, tuple(_fields(error, "", schema)), error.piece or b"")
        for error in refused
    ]
    return Decoded(chunks, pieces)


def _chunks(reading: Reading) -> list[tuple[RawEvent, ...]]:
    """With the time and the id that events bring along."""
    if not reading.origins:
        return [tuple(RawEvent(e.data) for e in chunk) for chunk in reading.chunks if chunk]
    return [
        tuple(RawEvent(e.data, o.timestamp_ms, o.id) for e, o in zip(chunk, origins, strict=True))
        for chunk, origins in zip(reading.chunks, reading.origins, strict=True)
        if chunk
    ]


def _check_texts(decoded: Decoded, schema: StreamSchema) -> None:
    """Half a character, which JSON can write and no log can hold, within objects neither."""
    for chunk in decoded.chunks:
        for event in chunk:
            for name, value in zip(schema.names, event.data, strict=True):
                if not is_whole(value):
                    raise _unfit([FieldError(name, "half of a character: surrogates not allowed")])


def _check_depth(decoded: Decoded, schema: StreamSchema) -> None:
    objects = [i for i, kind in enumerate(schema.types) if kind is AttributeType.OBJECT]
    for chunk in decoded.chunks if objects else ():
        for event in chunk:
            for i in objects:
                if is_too_deep(event.data[i]):
                    raise _unfit([FieldError(schema.names[i], TOO_DEEP)])


def _unfit(errors: Iterable[FieldError]) -> MalformedBodyError:
    shown = list(islice(errors, MAX_REFUSED))
    return MalformedBodyError("the message does not fit its stream", errors=shown)


def _fields(error: MappingError, item: str, schema: StreamSchema) -> Iterator[FieldError]:
    for bad in error.fields:
        field = bad.attribute if bad.attribute in schema.names else None
        message = bad.message if error.hint is None else f"{bad.message} ({error.hint})"
        yield FieldError(_name(item, field), message)


def _name(item: str, field: str | None) -> str | None:
    return ".".join(part for part in (item, field) if part) or None
