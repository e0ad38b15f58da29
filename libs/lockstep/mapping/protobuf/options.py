"""What the options of both Protobuf mappers have in common."""

from __future__ import annotations

from lockstep.mapping.contract import MappingError
from lockstep.mapping.options import invalid
from lockstep.mapping.protobuf.types import ProtobufTypes, types_of_set, types_of_text
from lockstep.schemas import RegisteredSchema
from lockstep.siddhiql import ast

_GIVE = "schema.def='syntax = \"proto3\"; message M { … }', descriptor.set, or schema.registry"


def defined(annotation: ast.Annotation) -> ProtobufTypes | None:
    """The types of `schema.def` or `descriptor.set`; None without both."""
    name = annotation.get("class")
    if name is not None:
        raise invalid(
            annotation,
            f"{name!r} is a class of Java, which is not here",
            f"give what it was made of: {_GIVE}",
        )
    text, packed = annotation.get("schema.def"), annotation.get("descriptor.set")
    if text is not None and packed is not None:
        raise invalid(annotation, "schema.def and descriptor.set say the same", "leave one out")
    try:
        if text is not None:
            return types_of_text(text)
        return None if packed is None else types_of_set(packed)
    except MappingError as error:
        raise invalid(annotation, error.message, error.hint) from error


def no_schema(annotation: ast.Annotation) -> Exception:
    """An error: nothing says what a message holds."""
    return invalid(annotation, "protobuf needs a schema", _GIVE)


def registered(found: RegisteredSchema) -> ProtobufTypes:
    """The types of a schema that a registry gave."""
    return types_of_text(found.text, tuple(found.references))
