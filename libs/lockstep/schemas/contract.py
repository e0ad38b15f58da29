"""What a mapper wants of a schema registry, and what it gets.

A mapper does no I/O. It says which schema it wants next, a service brings it, and the mapper learns
it. So a message is mapped when all that it wants is there, and the network is away from the mapper.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from lockstep.events import Fault, LockstepError


class Kind(StrEnum):
    """The language of a schema, as registries name it."""

    AVRO = "AVRO"
    PROTOBUF = "PROTOBUF"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A schema of a registry: the one with this id, or this text under a subject.

    `text` is registered under `subject` if it is not there yet; what comes back has its id.
    """

    registry: str
    kind: Kind
    id: int | None = None
    subject: str | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema, and (name, text) of all that it refers to, inner ones first."""

    id: int
    kind: Kind
    text: str
    references: Sequence[tuple[str, str]] = ()


class SchemaRefusedError(LockstepError):
    """The registry is there, and does not give or take this schema."""

    fault = Fault.USER


class Schemas(Protocol):
    """Where schemas come from."""

    async def get(self, wanted: Wanted) -> RegisteredSchema:
        """The schema. Errors: UnavailableError (again, later), SchemaRefusedError."""


class SchemaUser(Protocol):
    """A mapper whose schemas a registry keeps."""

    def wanted(self, payload: bytes | None = None) -> Wanted | None:
        """What is missing to map the payload (None: to map at all); None: nothing is."""

    def learn(self, wanted: Wanted, found: RegisteredSchema) -> None:
        """Takes a schema. One that it cannot use makes it refuse, with the reason."""


async def bring(user: SchemaUser | None, schemas: Schemas, payload: bytes | None = None) -> None:
    """Brings all that is missing. Does not wait when nothing is. Errors as of `Schemas.get`.

    A long text takes a while to read, so that happens beside the event loop.
    """
    while user is not None and (wanted := user.wanted(payload)) is not None:
        await asyncio.to_thread(user.learn, wanted, await schemas.get(wanted))
