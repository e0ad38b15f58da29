"""Schemas that sources keep in a registry: there before the first message, if the registry is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from lockstep.clock import Clock
from lockstep.events import UnavailableError
from lockstep.schemas import (
    RegisteredSchema,
    SchemaRefusedError,
    Schemas,
    SchemaUser,
    Wanted,
    bring,
)
from lockstep.secrets import Hidden, SecretError, Vault, filled
from lockstep.telemetry import Logger
from lockstep_services.receiver.discreet import discreet
from lockstep_services.receiver.sources import SourceBook

LOOK_MS: Final = 2_000
"""How often sources are looked through, and a registry that was away is asked again."""


class SourceSchemas:
    """The registries of all apps' sources; secrets may stand in their addresses."""

    def __init__(self, registry: Schemas, vault: Vault) -> None:
        self._registry = registry
        self._vault = vault

    async def bring(self, app: str, user: SchemaUser | None, payload: bytes | None = None) -> None:
        """What is missing. Does not wait when nothing is. Errors: UnavailableError,
        SchemaRefusedError."""
        if user is not None and user.wanted(payload) is not None:
            await bring(user, _OfApp(self._registry, self._vault, app), payload)


@dataclass(frozen=True, slots=True)
class _OfApp:
    """The registries of one app: what they say of errors is without its secrets."""

    registry: Schemas
    vault: Vault
    app: str

    async def get(self, wanted: Wanted) -> RegisteredSchema:
        values: list[str] = []

        def value(name: str) -> str:
            values.append(self.vault.value(self.app, name))
            return values[-1]

        try:
            address = filled(wanted.registry, value)
        except SecretError as error:
            raise UnavailableError(str(error)) from error
        with discreet(Hidden(values)):
            return await self.registry.get(replace(wanted, registry=address))


class SchemaFetcher:
    """Brings what the sources of all deployed apps want, off the way of their messages."""

    def __init__(self, book: SourceBook, schemas: SourceSchemas, clock: Clock, log: Logger) -> None:
        self._book = book
        self._schemas = schemas
        self._clock = clock
        self._log = log
        self._told: set[str] = set()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self.fetch()
            await self._clock.sleep_ms(LOOK_MS)

    async def fetch(self) -> None:
        """Once for all sources; what cannot be had is left for the next time."""
        for source in self._book.all():
            user = None if source.reader is None else source.reader.registered
            if user is None or user.wanted() is None:
                self._told.discard(source.name)
                continue
            try:
                await self._schemas.bring(source.app, user)
            except (UnavailableError, SchemaRefusedError) as error:
                if source.name not in self._told:
                    self._told.add(source.name)
                    self._log.warning(
                        "a source waits for its schema", source=source.name, error=str(error)
                    )
