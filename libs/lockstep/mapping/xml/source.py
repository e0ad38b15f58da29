"""`@map(type='xml')` of sources: XML documents into events (extensions 13.3)."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

from lockstep.events import StreamSchema
from lockstep.functions.map.meaning import parse_xml
from lockstep.mapping.contract import MappingError, Properties, Reading
from lockstep.mapping.options import NAME, Column, columns, flag, invalid, text_of
from lockstep.mapping.reading import ABSENT, PayloadReader, read_rows, row_of
from lockstep.siddhiql import ast

_NIL = "{http://www.w3.org/2001/XMLSchema-instance}nil"
EVENT = "event"


class XmlSource(PayloadReader):
    """`<events><event><name>value</name>…</event>…</events>`, one chunk.

    With `@attributes` XPaths lead from an event's element to the values (`price`, `@id`, `a/b/@c`).
    The children of `enclosing.element` are the events (itself with `enclosing.element.as.event`);
    without it the root is the one event.
    """

    def __init__(self, schema: StreamSchema, annotation: ast.Annotation) -> None:
        self.custom = columns(schema, annotation)
        self.columns = self.custom or [Column(a, a.name) for a in schema.attributes]
        self.fails = flag(annotation, "fail.on.missing.attribute", True)
        self.enclosing = annotation.get("enclosing.element")
        self._itself = flag(annotation, "enclosing.element.as.event", False)
        self._namespaces = _namespaces(annotation)
        self.holds_events = not self._itself and "" not in self._namespaces
        """Whether the children of `enclosing` are the events, and its name is what it seems."""
        # Names alone mean children; a default namespace would be part of them.
        self.children = frozenset(
            column.path
            for column in self.columns
            if NAME.fullmatch(column.path) and "" not in self._namespaces
        )
        self._leaves = flag(annotation, "extract.leaf.node.data", False)
        for path in [self.enclosing, *(c.path for c in self.custom or () if not c.is_transport)]:
            if path is not None:
                self._check(path, annotation)

    def _check(self, path: str, annotation: ast.Annotation) -> None:
        try:
            self._select(ElementTree.Element("probe"), path)
        except (SyntaxError, KeyError, TypeError) as error:
            raise invalid(annotation, f"{path!r} is no path: {error}") from error

    def reading(self, payload: Any, now_ms: int, properties: Properties | None) -> Reading:
        """See PayloadReader."""
        elements = self.events(parse_xml(text_of(payload)))
        return read_rows(elements, lambda e: self._row(e, properties), now_ms, as_one_chunk=True)

    def events(self, root: ElementTree.Element) -> list[ElementTree.Element]:
        """The elements that are events; MappingError where there is no place for such."""
        if self.enclosing is None:
            return [root] if self.custom is not None else list(root.iterfind(EVENT))
        document = ElementTree.Element("document")
        document.append(root)
        found = self._select(document, self.enclosing)
        if not found:
            raise MappingError(f"there is no {self.enclosing!r} in the document")
        return found if self._itself else [child for element in found for child in element]

    def _select(self, element: ElementTree.Element, path: str) -> list[ElementTree.Element]:
        """The elements of a path; where its last step is an attribute, those that have it."""
        steps, _, attribute = path.partition("@") if "[" not in path else (path, "", "")
        steps = steps.rstrip("/").removesuffix("/text()")
        if steps.startswith("/"):
            steps = f".{steps}"
        found = element.findall(steps, self._namespaces) if steps else [element]
        return [one for one in found if not attribute or self._attribute(attribute) in one.attrib]

    def _attribute(self, name: str) -> str:
        prefix, _, local = name.rpartition(":")
        return f"{{{self._namespaces[prefix]}}}{local}" if prefix else local

    def _row(self, element: ElementTree.Element, properties: Properties | None) -> tuple[Any, ...]:
        return row_of(
            self.columns,
            lambda column: self.value(element, column.path),
            properties,
            fails_on_missing=self.fails,
        )

    def value(self, element: ElementTree.Element, path: str) -> Any:
        """What stands at a path, or ABSENT."""
        if path in self.children:
            child = element.find(path)
            return ABSENT if child is None else self._content(child)
        found = self._select(element, path)
        if not found:
            return ABSENT
        attribute = path.partition("@")[2] if "[" not in path else ""
        if attribute:
            return found[0].attrib[self._attribute(attribute)]
        return self._content(found[0])

    def _content(self, element: ElementTree.Element) -> str | None:
        if element.get(_NIL) == "true":
            return None
        if len(element) and not self._leaves:
            try:
                return ElementTree.tostring(element, encoding="unicode").strip()
            except RecursionError as error:
                raise MappingError("the message is nested too deep") from error
        return "".join(element.itertext()) if self._leaves else element.text or ""


def _namespaces(annotation: ast.Annotation) -> dict[str, str]:
    """The option `namespaces`: `prefix=uri,prefix=uri`."""
    namespaces = {}
    for part in (annotation.get("namespaces") or "").split(","):
        prefix, equals, uri = part.strip().partition("=")
        if part.strip() and not equals:
            raise invalid(annotation, f"{part.strip()!r} is no 'prefix=uri'")
        if equals:
            namespaces[prefix.strip()] = uri.strip()
    return namespaces
