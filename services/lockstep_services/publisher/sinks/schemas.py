"""A sink whose schemas are in a registry: it opens when they are there."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.events import UnavailableError
from lockstep.schemas import SchemaRefusedError, Schemas, SchemaUser, bring
from lockstep_services.publisher.around import SinkAround
from lockstep_services.publisher.contract import Sink


class SchemaSink(SinkAround):
    """Another sink. While the registry is away, or has no such schema, the sink waits and says so:
    its rows are kept in the output log."""

    def __init__(self, sink: Sink, users: Sequence[SchemaUser], schemas: Schemas) -> None:
        super().__init__(sink)
        self._users = users
        self._schemas = schemas

    async def open(self) -> int:
        for user in self._users:
            try:
                await bring(user, self._schemas)
            except SchemaRefusedError as error:
                raise UnavailableError(
                    error.message, where=self.binding.key, hint=error.hint
                ) from error
        return await super().open()
