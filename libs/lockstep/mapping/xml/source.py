"""`@map(type='xml')` of sources: XML documents into events (extensions 13.3)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree

from lockstep.events import AttributeType, StreamSchema
from lockstep.functions.map.meaning import parse_xml
from lockstep.mapping.contract import MappingError, Properties, Reading
from lockstep.mapping.options import NAME, Column, columns, flag, invalid, text_of
from lockstep.mapping.reading import ABSENT, PayloadReader, read_rows, row_of
from lockstep.mapping.xml.leaves import is_leaf_path, leaves
from lockstep.mapping.xml.paths import HINT, XmlPath, document
from lockstep.siddhiql import ast

_NIL = "{http://www.w3.org/2001/XMLSchema-instance}nil"
_BLANKS = " \t\r\n"
_TEXTS = frozenset({AttributeType.STRING, AttributeType.OBJECT})
EVENT = "event"

Item = ElementTree.Element | dict[str, str]
"""An event of a document: its element, or what stands at the paths of a leaf (see leaves)."""


@dataclass(frozen=True, slots=True)
class Root:
    """The root of one document, and what stands at paths that begin with it: it is the same for
    many events, and looked for once."""

    element: ElementTree.Element
    values: dict[str, Any] = field(default_factory=dict)


class XmlSource(PayloadReader):
    """`<events><event><name>value</name>…</event>…</events>`, one chunk.

    With `@attributes` paths lead from an event's element to the values (`price`, `@id`, `a/b/@c`).
    The children of `enclosing.element` are the events (itself with `enclosing.element.as.event`);
    without it the root is the one event.
    """

    def __init__(self, schema: StreamSchema, annotation: ast.Annotation) -> None:
        self.custom = columns(schema, annotation)
        self.columns = self.custom or [Column(a, a.name) for a in schema.attributes]
        self.fails = flag(annotation, "fail.on.missing.attribute", True)
        self._namespaces = _namespaces(annotation)
        self.enclosing = annotation.get("enclosing.element")
        self._enclosing = None if self.enclosing is None else self._path(self.enclosing, annotation)
        # What Siddhi finds in a stream of XML are the enclosing elements themselves.
        self._itself = flag(annotation, "enclosing.element.as.event", False) or flag(
            annotation, "enable.streaming.xml.content", False
        )
        leaves_wanted = flag(annotation, "extract.leaf.node.data", False)
        self._has_leaves = leaves_wanted and self.custom is not None
        self.holds_events = not (self._itself or self._has_leaves or "" in self._namespaces)
        """Whether the children of `enclosing` are the events, and its name is what it seems."""
        paths = [column.path for column in self.columns if not column.is_transport]
        self._paths = {path: self._path(path, annotation) for path in paths}
        if self._has_leaves:
            _check_leaves(paths, annotation)
        # Names alone mean children; a default namespace would be part of them.
        self.children = frozenset(
            path for path in paths if NAME.fullmatch(path) and "" not in self._namespaces
        )

    def _path(self, text: str, annotation: ast.Annotation) -> XmlPath:
        try:
            return XmlPath(text, self._namespaces)
        except (SyntaxError, ValueError) as error:
            raise invalid(annotation, f"{text!r} is no path: {error}", HINT) from error

    def reading(self, payload: Any, now_ms: int, properties: Properties | None) -> Reading:
        """See PayloadReader."""
        root = Root(parse_xml(text_of(payload)))
        items = self.events(root.element)
        return read_rows(items, lambda e: self._row(e, root, properties), now_ms, as_one_chunk=True)

    def events(self, root: ElementTree.Element) -> list[Item]:
        """All that are events; MappingError where there is no place for such."""
        elements = self._elements(root)
        if self._has_leaves:
            return [leaf for element in elements for leaf in leaves(element, self._paths)]
        return list(elements)

    def _elements(self, root: ElementTree.Element) -> list[ElementTree.Element]:
        if self._enclosing is None:
            return [root] if self.custom is not None else list(root.iterfind(EVENT))
        found = self._enclosing.below(document(root))
        if not found:
            raise MappingError(f"there is no {self.enclosing!r} in the document")
        return found if self._itself else [child for element in found for child in element]

    def _row(self, item: Item, root: Root, properties: Properties | None) -> tuple[Any, ...]:
        def look_up(column: Column) -> Any:
            value = self.value(item, column.path, root)
            return none_if_empty(value) if self.may_be_empty(column.attribute.type) else value

        return row_of(self.columns, look_up, properties, fails_on_missing=self.fails)

    def may_be_empty(self, wanted: AttributeType) -> bool:
        """Whether an empty element stands for null: no text, where values may be missing."""
        return not self.fails and wanted not in _TEXTS

    def value(self, item: Item, path: str, root: Root) -> Any:
        """What stands at a path, or ABSENT."""
        if isinstance(item, dict):
            return item.get(path, ABSENT)
        if path in self.children and (child := item.find(path)) is not None:
            return _content(child)
        where = self._paths[path]
        if where.is_from_root(item, root.element):
            if path not in root.values:
                root.values[path] = _first(where, where.below(document(root.element)))
            return root.values[path]
        found = ABSENT if path in self.children else _first(where, where.of(item))
        if found is ABSENT and self._itself and where.is_name_of(item):
            return _content(item)
        return found


def _first(path: XmlPath, found: list[ElementTree.Element]) -> Any:
    """What stands at a path that leads to these, or ABSENT."""
    if not found:
        return ABSENT
    return found[0].attrib[path.attribute] if path.attribute else _content(found[0])


def none_if_empty(value: Any) -> Any:
    """None instead of a text that holds nothing."""
    return None if isinstance(value, str) and not value.strip(_BLANKS) else value


def _content(element: ElementTree.Element) -> str | None:
    if element.get(_NIL, "").strip() in ("true", "1"):
        return None
    if not len(element):
        return element.text or ""
    try:
        return ElementTree.tostring(element, encoding="unicode").strip()
    except RecursionError as error:
        raise MappingError("the message is nested too deep") from error


def _check_leaves(paths: list[str], annotation: ast.Annotation) -> None:
    for path in paths:
        if not is_leaf_path(path):
            raise invalid(
                annotation,
                f"{path!r} is no path of extract.leaf.node.data",
                "write /event/a or /event/a/@b, the event's own name first and no prefixes",
            )


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
