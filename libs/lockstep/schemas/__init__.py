"""Schemas that a registry keeps: what a mapper wants of one. `registry` asks for them over HTTP."""

from lockstep.schemas.contract import (
    Kind,
    RegisteredSchema,
    SchemaRefusedError,
    Schemas,
    SchemaUser,
    Wanted,
    bring,
)

__all__ = [
    "Kind",
    "RegisteredSchema",
    "SchemaRefusedError",
    "SchemaUser",
    "Schemas",
    "Wanted",
    "bring",
]
