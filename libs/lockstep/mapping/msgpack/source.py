"""`@map(type='msgpack')` of sources: MessagePack into events (extensions 13.8)."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from lockstep.events import AttributeType
from lockstep.functions import json_documents
from lockstep.functions.json_path import MissingError
from lockstep.mapping.contract import MappingError, Properties
from lockstep.mapping.documents import DocumentSource
from lockstep.mapping.options import Column
from lockstep.mapping.reading import ABSENT, row_of
from lockstep.mapping.values import exact

MAX_LEVELS: Final = 110
"""Levels of maps and arrays in an event: what a log can hold in a value, and what is around it."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FLOATING: Final = (AttributeType.FLOAT, AttributeType.DOUBLE)
SINGLE: Final = frozenset({str, int, float, bool, type(None)})


class MsgpackSource(DocumentSource):
    """Maps by attribute name, or arrays of values in the stream's order; an array of nothing but
    maps and arrays is several events (one chunk).

    Without `@attributes` unknown names are refused. With it, paths are those of JSON. Numbers have
    the form of their type, but for whole ones where a float or double is wanted: writers shorten.
    """

    def elements(self, payload: Any) -> list[Any]:
        document = _decoded(payload)
        if self.enclosing is not None:
            document = self.enclosed(plain(document))
        if isinstance(document, list) and set(map(type, document)) <= {dict, list}:
            return document
        return [document]

    def _row(self, element: Any, properties: Properties | None) -> tuple[Any, ...]:
        element = plain(element)
        if not isinstance(element, (dict, list)):
            raise MappingError(
                "an event must be a map or an array",
                where=self._schema.name,
                hint=f"a map with {', '.join(self._schema.names)}, or their values in this order",
            )
        if self.custom is None:
            element = self._named(element)
        return row_of(
            self.columns,
            lambda column: self._found(element, column),
            properties,
            fails_on_missing=self.fails,
            convert=converted,
        )

    def _named(self, element: Any) -> Any:
        """By name, also where the values came in order."""
        names = self._schema.names
        if isinstance(element, list):
            if len(element) > len(names):
                raise MappingError(
                    f"{len(element)} values for {len(names)} attributes",
                    where=self._schema.name,
                    hint=f"the order is {', '.join(names)}",
                )
            return dict(zip(names, element, strict=False))
        unknown = [name for name in element if self._schema.index_of(name) is None]
        if unknown:
            raise MappingError(
                f"there is no attribute {unknown[0][:60]!r}",
                where=self._schema.name,
                hint=f"there are {', '.join(names)}",
            )
        return element

    def _found(self, element: Any, column: Column) -> Any:
        if self.custom is None:
            return element.get(column.path, ABSENT)
        try:
            return self.paths[column.path].read(element)
        except MissingError:
            return ABSENT


def _decoded(payload: Any) -> Any:
    if not isinstance(payload, (bytes, bytearray, memoryview)):
        raise MappingError(f"MessagePack is bytes, not a {type(payload).__name__}")
    try:
        return msgspec.msgpack.decode(payload)
    except (ValueError, RecursionError) as error:
        raise MappingError(
            f"the payload is no MessagePack: {error}",
            hint="send one value: a map, or an array",
        ) from error


def plain(value: Any, level: int = 0) -> Any:
    """What JSON knows, too: byte strings are texts, and times are milliseconds."""
    if level > MAX_LEVELS:
        raise MappingError(f"maps and arrays are more than {MAX_LEVELS} deep")
    if type(value) in SINGLE:
        return value
    match value:
        case dict():
            for key in value:
                if not isinstance(key, (str, bytes)):
                    raise MappingError(
                        f"a map has the key {str(key)[:60]}", hint="the keys of maps are texts"
                    )
            return {plain(key): plain(inner, level + 1) for key, inner in value.items()}
        case list():
            return [plain(inner, level + 1) for inner in value]
        case bytes():
            try:
                return value.decode()
            except UnicodeDecodeError as error:
                raise MappingError(f"a byte string is no UTF-8: {error}") from error
        case datetime():
            return (value - _EPOCH) // timedelta(milliseconds=1)
        case msgspec.msgpack.Ext():
            raise MappingError(
                f"nothing reads values of the extension type {value.code}",
                hint="send them as numbers or texts",
            )
    return value


def converted(value: Any, wanted: AttributeType) -> Any:
    """A value of MessagePack as one of the attribute; MappingError for others."""
    if wanted in _FLOATING and type(value) is int:
        return exact(float(value), wanted)
    if isinstance(value, (dict, list)):
        _check_numbers(value)
        if wanted is AttributeType.STRING:
            return json_documents.text(value)
    return exact(value, wanted)


def _check_numbers(value: Any) -> None:
    """Objects are kept as JSON, which has no NaN and no infinity."""
    if isinstance(value, float) and not math.isfinite(value):
        raise MappingError(f"an object cannot hold {value}")
    if isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            _check_numbers(inner)
