"""Rows as messages for sinks that carry whole batches: what cannot be written is the row's fault,
what cannot be set up is the annotation's."""

from __future__ import annotations

from lockstep.events import OutputRow, StreamSchema
from lockstep.operators.mapping import MappingError, MessageWriter, Template
from lockstep.siddhiql import SiddhiQLError, ast
from services.publisher.contract import RefusedRow, RowsRefusedError, SinkSetupError, event_of


class Payload:
    """Renders rows of one schema; `content_type` says as what. Errors: RowsRefusedError."""

    def __init__(self, schema: StreamSchema, annotation: ast.Annotation, where: str) -> None:
        self._schema = schema
        self._annotation = annotation
        self._where = where
        try:
            self._writer = MessageWriter(schema, annotation)
        except SiddhiQLError as error:
            raise SinkSetupError(error.message, where=where, hint=error.hint) from error
        self.content_type = self._writer.content_type

    def render(self, row: OutputRow) -> bytes:
        """The message of one row."""
        try:
            return self._writer.write([event_of(row)])
        except MappingError as error:
            raise RowsRefusedError([RefusedRow(row, error.message)], where=self._where) from error

    def template(self, text: str) -> Template:
        """An option that may hold `{{attribute}}`; SinkSetupError when it names none of ours."""
        try:
            return Template(text, self._schema, self._annotation)
        except SiddhiQLError as error:
            raise SinkSetupError(error.message, where=self._where, hint=error.hint) from error


__all__ = ["Payload", "event_of"]
