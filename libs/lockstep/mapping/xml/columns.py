"""Large XML documents of many events, in columns.

Documents whose events are alike, with values alone in them, are read by one expression: it takes
nothing that a parser would refuse or read in another way. All others are parsed.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

from lockstep.events import AttributeType
from lockstep.functions.map.meaning import XML_MAX_CHARACTERS, parse_xml
from lockstep.mapping.columnar import OddError, QuickReader, Values, constant, converted_column
from lockstep.mapping.contract import Columns, Properties
from lockstep.mapping.forms import FixedForm
from lockstep.mapping.options import NAME, text_of
from lockstep.mapping.reading import ABSENT
from lockstep.mapping.values import lenient
from lockstep.mapping.xml.source import EVENT, Item, Root, XmlSource, none_if_empty

MAX_FORMS: Final = 32
"""Kinds of events that are kept ready."""

MAX_NAMES: Final = 256
"""Children of an event that an expression is made for, which takes the square of their number."""

_NAME: Final = NAME.pattern
_BLANKS: Final = "[ \t\r\n]*"
_ROOT: Final = re.compile(
    rf'{_BLANKS}(?:<\?xml version="1\.0" encoding="(?i:utf-8)"\?>{_BLANKS})?<({_NAME})>{_BLANKS}'
)
_FIRST: Final = re.compile(
    rf"<({_NAME})>({_BLANKS}(?:<{_NAME}>[^<]*</{_NAME}>{_BLANKS})+)</\1>{_BLANKS}"
)
_TAG: Final = re.compile(f"<({_NAME})>")
_VALUE: Final = "([^<&\\x00-\\x1f\\ufffe\\uffff]*)"
"""Neither markup nor references, nor characters that XML has not, nor line ends."""


class XmlColumns(QuickReader):
    """Reads for an XmlSource."""

    def __init__(self, source: XmlSource) -> None:
        self._source = source

    def columns(self, payload: Any, properties: Properties) -> Columns:
        """See QuickReader."""
        text = text_of(payload)
        try:
            return self._in_one_go(text, properties)
        except OddError:
            return self._parsed(text, properties)

    def _in_one_go(self, text: str, properties: Properties) -> Columns:
        source = self._source
        root = _ROOT.match(text)
        first = None if root is None else _FIRST.match(text, root.end())
        if root is None or first is None or "]]>" in text or len(text) > XML_MAX_CHARACTERS:
            raise OddError("events are not values alone")
        if not self._are_events(root[1], first[1]):
            raise OddError("the events stand elsewhere")
        tail = f"</{root[1]}>"
        body = text.rstrip(" \t\r\n")
        if not body.endswith(tail):
            raise OddError("the root ends elsewhere")
        names = tuple(_TAG.findall(first[2]))
        places = {name: at for at, name in enumerate(names)}
        if len(places) < len(names) or len(names) > MAX_NAMES:
            raise OddError("a name stands twice, or there are too many")
        paths = {column.path for column in source.columns if not column.is_transport}
        if not paths <= source.children & places.keys():
            raise OddError("a path, or something is missing")
        found = _form(first[1], names).values(body[root.end() : -len(tail)])
        events = len(found[0])
        values: list[Values] = []
        for column in source.columns:
            wanted = column.attribute.type
            if column.is_transport:
                values.append(constant(column.property_of(properties), events, wanted))
                continue
            texts = list(found[places[column.path]])
            values.append(self._converted(texts, wanted))
        return Columns(values, events, together=True)

    def _are_events(self, root: str, child: str) -> bool:
        """Whether the children of the root are the events."""
        source = self._source
        if source.enclosing is None:
            return source.custom is None and child == EVENT
        return source.enclosing == root and source.holds_events

    def _parsed(self, text: str, properties: Properties) -> Columns:
        root = Root(parse_xml(text))
        items = self._source.events(root.element)
        if not items:
            raise OddError("there are no events")
        values = [
            constant(column.property_of(properties), len(items), column.attribute.type)
            if column.is_transport
            else self._converted(self._values(items, column.path, root), column.attribute.type)
            for column in self._source.columns
        ]
        return Columns(values, len(items), together=True)

    def _converted(self, values: list[Any], wanted: AttributeType) -> Values:
        if self._source.may_be_empty(wanted):
            values = list(map(none_if_empty, values))
        return converted_column(values, wanted, lenient)

    def _values(self, items: list[Item], path: str, root: Root) -> list[Any]:
        values = [self._source.value(item, path, root) for item in items]
        if ABSENT not in values:
            return values
        if self._source.fails:
            raise OddError("something is missing")
        return [None if value is ABSENT else value for value in values]


@lru_cache(maxsize=MAX_FORMS)
def _form(event: str, names: tuple[str, ...]) -> FixedForm:
    values = "".join(f"<{name}>{_VALUE}</{name}>{_BLANKS}" for name in names)
    return FixedForm(f"<{event}>{_BLANKS}{values}</{event}>{_BLANKS}")
