"""Schemas of a registry in a mapper: its own, and those that messages name (extensions 13.10).

The form of such a message: a byte 0, the schema's id (four bytes, big-endian), and what it says.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar
from urllib.parse import urlsplit

from lockstep.events import LockstepError
from lockstep.mapping.contract import MappingError
from lockstep.mapping.options import invalid
from lockstep.mapping.reading import refusal
from lockstep.schemas import Kind, RegisteredSchema, Wanted
from lockstep.siddhiql import ast

HEAD: Final = struct.Struct(">bI")
MAX_WRITERS: Final = 1_000
"""Schemas of senders that a mapper keeps ready; beyond it all are made anew."""

_MAX_ID: Final = 2**31 - 1

T = TypeVar("T")


class Registered(Generic[T]):
    """What a mapper knows of its registry. `own`: the schema without which it maps nothing;
    `names_ids`: each message names the schema that it was written with.
    """

    def __init__(
        self,
        registry: str,
        kind: Kind,
        make: Callable[[RegisteredSchema], T],
        *,
        own: Wanted | None,
        names_ids: bool,
    ) -> None:
        self._registry = registry
        self._kind = kind
        self._make = make
        self._own = own
        self._own_made: tuple[int, T] | MappingError | None = None
        self._names_ids = names_ids
        self._writers: dict[int, T | MappingError] = {}

    @property
    def has_own(self) -> bool:
        """There is a schema without which nothing is mapped."""
        return self._own is not None

    def wanted(self, payload: bytes | None = None) -> Wanted | None:
        """See SchemaUser."""
        if self._own is not None and self._own_made is None:
            return self._own
        if payload is None or not self._names_ids or len(payload) < HEAD.size or payload[0] != 0:
            return None
        number = HEAD.unpack_from(payload)[1]
        if number in self._writers or number > _MAX_ID:
            return None
        return Wanted(self._registry, self._kind, number)

    def learn(self, wanted: Wanted, found: RegisteredSchema) -> None:
        """See SchemaUser."""
        made: T | MappingError
        try:
            made = self._make(found)
        except LockstepError as error:
            made = refusal(error)
        if wanted == self._own:
            self._own_made = made if isinstance(made, MappingError) else (found.id, made)
        if wanted.id is not None:
            if len(self._writers) >= MAX_WRITERS:
                self._writers.clear()
            self._writers[wanted.id] = made

    def own(self) -> tuple[int, T]:
        """The mapper's own schema and its id; MappingError when it is not there or no good."""
        if isinstance(self._own_made, MappingError):
            raise self._own_made.with_traceback(None)
        if self._own_made is None:
            raise MappingError(
                "the schema registry has not given the schema yet",
                hint="a mapper with a registry works in services, not in tests of an app",
            )
        return self._own_made

    def writer(self, payload: bytes) -> T:
        """The schema that a message names; MappingError when it names none."""
        if len(payload) < HEAD.size or payload[0] != 0:
            raise MappingError(
                "the message does not begin with a byte 0 and the id of a schema",
                hint="it was not written by a serializer that uses a registry: leave "
                "use.*.deserializer out for such messages",
            )
        number = HEAD.unpack_from(payload)[1]
        found = self._writers.get(number)
        if found is None:
            raise MappingError(f"no schema {number} is known here")
        if isinstance(found, MappingError):
            raise found.with_traceback(None)
        return found


def registry_of(annotation: ast.Annotation) -> str | None:
    """The option `schema.registry`, an address of HTTP."""
    text = annotation.get("schema.registry")
    if text is None:
        return None
    address = text.strip()
    if urlsplit(address).scheme not in ("http", "https") or not urlsplit(address).hostname:
        raise invalid(
            annotation, f"schema.registry is {text!r}", "give an address: 'http://host:8081'"
        )
    return address


def schema_id_of(annotation: ast.Annotation) -> int | None:
    """The option `schema.id`, a number that the registry has given."""
    text = annotation.get("schema.id")
    if text is None:
        return None
    digits = text.strip()
    if not (digits.isascii() and digits.isdigit()) or not 0 <= int(digits) <= _MAX_ID:
        raise invalid(annotation, f"schema.id is {text!r}", "give the number of a schema")
    return int(digits)


@dataclass(frozen=True, slots=True)
class SinkRegistry:
    """From where a sink has its schema: by its number, or registered under a subject; one of both
    is None."""

    address: str
    number: int | None
    subject: str | None


def registry_of_sink(
    annotation: ast.Annotation, *, names_id: bool, registers: str
) -> SinkRegistry | None:
    """Of a sink's mapper; None where it has no registry. `names_id`: its messages name their
    schema; `registers`: what goes under `schema.subject`, for the hint."""
    registry, number = registry_of(annotation), schema_id_of(annotation)
    subject = annotation.get("schema.subject")
    if registry is None:
        if names_id or number is not None or subject is not None:
            raise invalid(
                annotation, "there is no schema.registry", "schema.registry='http://host:8081'"
            )
        return None
    if (number is None) == (subject is None):
        raise invalid(
            annotation,
            "schema.registry wants either schema.id or schema.subject",
            "schema.id='1' takes that one; schema.subject='x-value' registers " + registers,
        )
    return SinkRegistry(registry, number, subject)
