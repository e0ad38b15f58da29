"""A sink whose schemas are in a registry: it opens when they are there."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.events import OutputRow, UnavailableError
from lockstep.schemas import SchemaRefusedError, Schemas, SchemaUser, bring
from lockstep_services.publisher.contract import Batch, Sink, SinkBinding


class SchemaSink(Sink):
    """Another sink. While the registry is away, or has no such schema, the sink waits and says so:
    its rows are kept in the output log."""

    def __init__(self, sink: Sink, users: Sequence[SchemaUser], schemas: Schemas) -> None:
        self._sink = sink
        self._users = users
        self._schemas = schemas

    @property
    def binding(self) -> SinkBinding:
        return self._sink.binding

    @property
    def waits_for_ever(self) -> bool:
        return self._sink.waits_for_ever

    @property
    def takes_again(self) -> bool:
        return self._sink.takes_again

    @property
    def at_once(self) -> int | None:
        return self._sink.at_once

    async def open(self) -> int:
        for user in self._users:
            try:
                await bring(user, self._schemas)
            except SchemaRefusedError as error:
                raise UnavailableError(
                    error.message, where=self.binding.key, hint=error.hint
                ) from error
        return await self._sink.open()

    async def deliver(self, batch: Batch) -> None:
        await self._sink.deliver(batch)

    def pending(self, batch: Batch) -> Sequence[OutputRow]:
        return self._sink.pending(batch)

    async def begin_again(self) -> None:
        await self._sink.begin_again()

    async def close(self) -> None:
        await self._sink.close()
