"""What sources of nested documents share: `@attributes` as paths, and an enclosing element."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Final

from lockstep.events import LockstepError, StreamSchema
from lockstep.functions.json_path import MissingError, Path, compile_path
from lockstep.mapping.contract import MappingError, Properties, Reading
from lockstep.mapping.options import Column, columns, flag
from lockstep.mapping.reading import read_rows, refused
from lockstep.siddhiql import ast

_ROOT: Final = "$"


class DocumentSource(ABC):
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

    def read(self, payload: Any, now_ms: int, properties: Properties | None = None) -> Reading:
        """See the contract."""
        try:
            elements = self.elements(payload)
        except LockstepError as error:
            return refused(error)
        return read_rows(
            elements,
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
