"""What the options of both Avro mappers have in common."""

from __future__ import annotations

from typing import Final

from lockstep.events import StreamSchema
from lockstep.mapping.avro.schema import AvroSchema, schema_of
from lockstep.mapping.contract import MappingError
from lockstep.mapping.options import invalid
from lockstep.schemas import RegisteredSchema
from lockstep.siddhiql import ast

_FORMS: Final = ("record", "container")


def is_container(annotation: ast.Annotation) -> bool:
    """The option `form`."""
    form = (annotation.get("form") or "record").strip().lower()
    if form not in _FORMS:
        raise invalid(annotation, f"form is {form!r}", "use 'record' or 'container'")
    return form == "container"


def defined(annotation: ast.Annotation) -> AvroSchema | None:
    """The schema of `schema.def`; None without that option."""
    text = annotation.get("schema.def")
    if text is None:
        return None
    try:
        return AvroSchema(text)
    except MappingError as error:
        raise invalid(annotation, f"schema.def: {error.message}", error.hint) from error


def made_of(stream: StreamSchema, annotation: ast.Annotation) -> AvroSchema:
    """A schema of the stream's attributes."""
    try:
        return AvroSchema(schema_of(stream))
    except MappingError as error:
        raise invalid(annotation, error.message, error.hint) from error


def registered(found: RegisteredSchema) -> AvroSchema:
    """A schema that a registry gave."""
    return AvroSchema(found.text, found.references)
