"""What sources of nested documents share: `@attributes` as paths, and an enclosing element."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Final

from lockstep.events import StreamSchema
from lockstep.functions.json_path import MissingError, Path, compile_path
from lockstep.mapping.contract import MappingError, Properties, Reading
from lockstep.mapping.options import Column, columns, flag
from lockstep.mapping.reading import PayloadReader, read_rows
from lockstep.siddhiql import ast

_ROOT: Final = "$"


class DocumentSource(PayloadReader):
    """Reads a payload into elements and each of them into a row; refuses what is neither."""

    def __init__(self, schema: StreamSchema, annotation: ast.Annotation) -> None:
        self._schema = schema
        self.custom = columns(schema, annotation)
        self.columns = self.custom or [Column(a, a.name) for a in schema.attributes]
        self.paths: dict[str, Path] = {
            c.path: compile_path(c.path) for c in self.custom or () if not c.is_transport
        }
        enclosing = annotation.get("enclosing.element") or _ROOT
        self.enclosing = None if enclosing == _ROOT else compile_path(enclosing)
        self.fails = flag(annotation, "fail.on.missing.attribute", True)
        self.groups = flag(annotation, "event.grouping.enabled", True)

    def reading(self, payload: Any, now_ms: int, properties: Properties | None) -> Reading:
        """See PayloadReader."""
        return read_rows(
            self.elements(payload),
            lambda element: self._row(element, properties),
            now_ms,
            as_one_chunk=self.groups,
        )

    def enclosed(self, document: Any) -> Any:
        """What the enclosing element holds; MappingError where there is none."""
        if self.enclosing is None:
            return document
        try:
            return self.enclosing.read(document)
        except MissingError as error:
            raise MappingError(error.message) from error

    @abstractmethod
    def elements(self, payload: Any) -> list[Any]:
        """One for each event."""

    @abstractmethod
    def _row(self, element: Any, properties: Properties | None) -> tuple[Any, ...]:
        """The attributes' values; raises what is wrong."""
