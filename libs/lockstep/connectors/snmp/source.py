"""@source(type='snmp'): at most once; what a variable was between two requests nobody knows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

from lockstep.connectors.snmp import oids_of
from lockstep.connectors.snmp.manager import Manager, SnmpStatusError
from lockstep.connectors.snmp.values import text_of
from lockstep.sources import Place, Received, Source, Turns

INTERVAL_MS: Final = 60_000


class SnmpSource(Source):
    """A message is a JSON object: names of variables and their values as texts. Options: `oids`,
    `request.interval`, and those of `Manager`."""

    def __init__(self, options: Mapping[str, str], place: Place) -> None:
        self._manager = Manager(options)
        self._oids = oids_of(options["oids"])
        self._turns = Turns(place.clock, int(options.get("request.interval", INTERVAL_MS)))

    async def read(self, *, max_messages: int, wait_ms: int) -> Sequence[Received]:
        if not await self._turns.is_due(wait_ms):
            return ()
        try:
            found = await self._manager.get(self._oids)
        except SnmpStatusError as error:
            raise OSError(f"the agent answers {error}") from error
        values = {oid: text_of(found[oid]) if oid in found else None for oid in self._oids}
        return [Received(json.dumps(values).encode())]

    async def close(self) -> Sequence[Received]:
        self._manager.close()
        return ()
