"""`@map(type='json')` of sources: JSON texts into events (extensions 13.2)."""

from __future__ import annotations

from typing import Any

from lockstep.events import LockstepError, StreamSchema
from lockstep.functions import json_documents
from lockstep.functions.json_path import MissingError, Path, compile_path
from lockstep.mapping.contract import MappingError, Properties, Reading
from lockstep.mapping.options import Column, columns, flag, text_of
from lockstep.mapping.reading import ABSENT, read_rows, refused, row_of
from lockstep.mapping.values import lenient, strict_json
from lockstep.siddhiql import ast

_ROOT = "$"
_WRAPPER = "event"


class JsonSource:
    """Objects, or arrays of objects (one chunk), each bare or as `{"event": {…}}`.

    Without `@attributes` members are named like attributes, in any order; types are strict and
    unknown members are refused. With it, paths lead to the values and conversion is lenient.
    """

    def __init__(self, schema: StreamSchema, annotation: ast.Annotation) -> None:
        self._schema = schema
        self._custom = columns(schema, annotation)
        self._columns = self._custom or [Column(a, a.name) for a in schema.attributes]
        self._paths: dict[str, Path] = {}
        if self._custom is not None:
            self._paths = {c.path: compile_path(c.path) for c in self._custom if not c.is_transport}
        enclosing = annotation.get("enclosing.element") or _ROOT
        self._enclosing = None if enclosing == _ROOT else compile_path(enclosing)
        self._fails = flag(annotation, "fail.on.missing.attribute", True)
        self._groups = flag(annotation, "event.grouping.enabled", True)

    def read(self, payload: Any, now_ms: int, properties: Properties | None = None) -> Reading:
        try:
            elements = self._elements(payload)
        except LockstepError as error:
            return refused(error)
        return read_rows(
            elements,
            lambda element: self._row(element, properties),
            now_ms,
            as_one_chunk=self._groups,
        )

    def _elements(self, payload: Any) -> list[Any]:
        is_parsed = isinstance(payload, (dict, list))
        document = payload if is_parsed else json_documents.parse(text_of(payload))
        if self._enclosing is not None:
            try:
                document = self._enclosing.read(document)
            except MissingError as error:
                raise MappingError(error.message) from error
        return document if isinstance(document, list) else [document]

    def _row(self, element: Any, properties: Properties | None) -> tuple[Any, ...]:
        if not isinstance(element, dict):
            raise MappingError("an event must be a JSON object", where=self._schema.name)
        if self._custom is not None:
            return row_of(
                self._columns,
                lambda column: self._at_path(element, column),
                properties,
                fails_on_missing=self._fails,
                convert=lenient,
            )
        members = self._unwrapped(element)
        unknown = [name for name in members if self._schema.index_of(name) is None]
        if unknown:
            raise MappingError(f"there is no attribute {unknown[0]!r}", where=self._schema.name)
        return row_of(
            self._columns,
            lambda column: members.get(column.path, ABSENT),
            properties,
            fails_on_missing=self._fails,
            convert=strict_json,
        )

    def _unwrapped(self, element: dict[str, Any]) -> dict[str, Any]:
        inner = element.get(_WRAPPER)
        if isinstance(inner, dict) and self._schema.index_of(_WRAPPER) is None:
            return inner
        return element

    def _at_path(self, element: dict[str, Any], column: Column) -> Any:
        try:
            return self._paths[column.path].read(element)
        except MissingError:
            return ABSENT
