"""`@map(type='json')` of sources: JSON texts into events (extensions 13.2)."""

from __future__ import annotations

from typing import Any

from lockstep.functions import json_documents
from lockstep.functions.json_path import MissingError
from lockstep.mapping.contract import MappingError, Properties
from lockstep.mapping.documents import DocumentSource
from lockstep.mapping.options import Column, text_of
from lockstep.mapping.reading import ABSENT, row_of
from lockstep.mapping.values import lenient, strict_json

_WRAPPER = "event"


class JsonSource(DocumentSource):
    """Objects, or arrays of objects (one chunk), each bare or as `{"event": {…}}`.

    Without `@attributes` members are named like attributes, in any order; types are strict and
    unknown members are refused. With it, paths lead to the values and conversion is lenient.
    """

    def elements(self, payload: Any) -> list[Any]:
        is_parsed = isinstance(payload, (dict, list))
        document = payload if is_parsed else json_documents.parse(text_of(payload))
        document = self.enclosed(document)
        return document if isinstance(document, list) else [document]

    def _row(self, element: Any, properties: Properties | None) -> tuple[Any, ...]:
        if not isinstance(element, dict):
            raise MappingError("an event must be a JSON object", where=self._schema.name)
        if self.custom is not None:
            return row_of(
                self.columns,
                lambda column: self._at_path(element, column),
                properties,
                fails_on_missing=self.fails,
                convert=lenient,
            )
        members = self._unwrapped(element)
        unknown = [name for name in members if self._schema.index_of(name) is None]
        if unknown:
            raise MappingError(f"there is no attribute {unknown[0]!r}", where=self._schema.name)
        return row_of(
            self.columns,
            lambda column: members.get(column.path, ABSENT),
            properties,
            fails_on_missing=self.fails,
            convert=strict_json,
        )

    def _unwrapped(self, element: dict[str, Any]) -> dict[str, Any]:
        inner = element.get(_WRAPPER)
        if isinstance(inner, dict) and self._schema.index_of(_WRAPPER) is None:
            return inner
        return element

    def _at_path(self, element: dict[str, Any], column: Column) -> Any:
        try:
            return self.paths[column.path].read(element)
        except MissingError:
            return ABSENT
