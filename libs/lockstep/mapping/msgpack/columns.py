"""Large MessagePack payloads of many events, in columns."""

from __future__ import annotations

from itertools import chain
from typing import Any

from lockstep.events import AttributeType
from lockstep.mapping.columnar import (
    Documents,
    OddError,
    QuickReader,
    Values,
    all_are,
    converted_column,
)
from lockstep.mapping.contract import Columns, Properties
from lockstep.mapping.msgpack.source import SINGLE, MsgpackSource, converted, plain


class MsgpackColumns(QuickReader):
    """Reads for a MsgpackSource."""

    def __init__(self, source: MsgpackSource) -> None:
        self._source = source
        self._names = frozenset(column.path for column in source.columns)
        self._documents = Documents(
            source.columns,
            is_custom=source.custom is not None,
            fails=source.fails,
            convert=converted if source.custom is not None else _converted,
        )

    def columns(self, payload: Any, properties: Properties) -> Columns:
        """See QuickReader."""
        elements = self._source.elements(payload)
        is_custom = self._source.custom is not None
        values = None
        if all_are(elements, list):
            if is_custom:
                elements = _plain_lists(elements)
            else:
                values = self._in_order(elements)
        elif not all_are(elements, dict):
            raise OddError("events of several kinds")
        elif is_custom:
            elements = _plain_maps(elements)
        else:
            self._check_names(elements)
        if values is None:
            values = self._documents.values(elements, properties)
        return Columns(values, len(elements), self._source.groups)

    def _in_order(self, elements: list[list[Any]]) -> list[Values]:
        """Of events that are their values in the stream's order."""
        placed = zip(*elements, strict=True)
        return [
            converted_column(list(values), column.attribute.type, _converted)
            for values, column in zip(placed, self._source.columns, strict=True)
        ]

    def _check_names(self, elements: list[dict[str, Any]]) -> None:
        names = self._names
        if self._source.fails:
            known = set(map(len, elements)) == {len(names)}  # that all are there shows later
        else:
            known = all(element.keys() <= names for element in elements)
        if not known:
            raise OddError("there are names that nobody knows, or some are missing")


def _converted(value: Any, wanted: AttributeType) -> Any:
    """A value in an event, as the mapper makes it one of the attribute."""
    return converted(plain(value, 1), wanted)


def _plain_lists(elements: list[list[Any]]) -> list[Any]:
    """What JSON knows; mostly it is that already."""
    if set(map(type, chain.from_iterable(elements))) <= SINGLE:
        return elements
    return [plain(element) for element in elements]


def _plain_maps(elements: list[dict[Any, Any]]) -> list[Any]:
    """What JSON knows; mostly it is that already."""
    if not all_are(chain.from_iterable(elements), str):
        raise OddError("a key is no text")
    if set(map(type, chain.from_iterable(map(dict.values, elements)))) <= SINGLE:
        return elements
    return [plain(element) for element in elements]
