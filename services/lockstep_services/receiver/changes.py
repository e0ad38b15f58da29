"""`@source(type='cdc')`: the changes of a table as messages, each a JSON object of a row's columns.

What is read goes into the app's input log. Then the place is noted. After a crash in between the
same comes again under the same ids, and counts once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from lockstep.bus import Mail, Mailbox
from lockstep.clock import Clock
from lockstep.connectors.cdc import LARGEST_SERVER_ID, LISTENING, POLLING, properties_of
from lockstep.control import Catalogue
from lockstep.databases import (
    Datasources,
    Listening,
    RowEvent,
    RowOperation,
    datasource_for,
    open_listening,
    open_polling,
)
from lockstep.events import LockstepError, UnavailableError
from lockstep.siddhiql.parts import parts
from lockstep.store import Cursors
from lockstep.telemetry import Logger
from lockstep_services.receiver.cursors import CursorMemory
from lockstep_services.receiver.sources import Source

POLL_S: Final = 1
_DATASOURCE: Final = {
    "datasource": "datasource.name", "jdbc.url": "url", "username": "username",
    "password": "password",
}  # fmt: skip
"""What a store calls its database, and what a source calls it."""
_IDENTITY: Final = ("datasource.name", "url", "table.name", "mode", "database.server.name")
"""Options that say what is read: with another value the source begins anew."""


def label_of(source: Source, since_ms: int) -> str:
    """What the database knows the source by, and what its place is noted under."""
    options = source.options
    named = [source.name, str(since_ms), *(options.get(name, "") for name in _IDENTITY)]
    named.append(options.get("polling.column", ""))
    return f"lockstep_{hashlib.sha256(json.dumps(named).encode()).hexdigest()[:24]}"


@dataclass(frozen=True, slots=True)
class Opened:
    """What reads a source, and what the database knows it by."""

    label: str
    listening: Listening


class ChangeSources:
    """Makes mailboxes of cdc sources, and ends what the database keeps for them."""

    def __init__(
        self,
        catalogue: Catalogue,
        known: Datasources,
        cursors: Cursors,
        clock: Clock,
        log: Logger,
    ) -> None:
        self._catalogue = catalogue
        self._known = known
        self._cursors = cursors
        self._clock = clock
        self._log = log
        self._opened: dict[str, Opened] = {}
        """By the names of sources."""

    def stamp(self, source: Source) -> bytes:
        """Another one when the app's logs are others."""
        return str(self._since_ms(source)).encode() if source.is_cdc else b""

    def open(self, source: Source, written: Source) -> Mailbox:
        """With its secrets filled in, and as it is `written`: a label holds no secret, and stays
        when one changes. Connects when it is read. DatasourceError, UnavailableError."""
        options, since_ms = source.options, self._since_ms(source)
        if not since_ms:
            raise UnavailableError(f"app {source.app} is not deployed any more")
        label = self._label(written)
        memory = CursorMemory(self._cursors, source.app, f"cdc.{label}", since_ms)
        given = {key: options.get(name) for key, name in _DATASOURCE.items()}
        datasource = datasource_for(given.get, self._known, "")
        table, clock = options["table.name"], self._clock
        if options.get("mode", LISTENING).lower() == POLLING:
            listening = open_polling(
                datasource, table, options["polling.column"], label, memory, clock,
                interval_ms=int(options.get("polling.interval", POLL_S)) * 1000,
            )  # fmt: skip
        else:
            listening = open_listening(
                datasource, table, operations_of(options), label, memory, clock,
                server_id=server_id_of(options, label), publication=options.get("publication"),
            )  # fmt: skip
        self._opened[source.name] = Opened(label, listening)
        return ChangesMailbox(listening, table)

    def ended(self, name: str) -> Opened | None:
        """What was opened for a source that is not read any more as it was."""
        return self._opened.pop(name, None)

    def goes_on(self, opened: Opened, then: Source | None) -> bool:
        """Whether what stands there now reads on from what the database keeps."""
        return then is not None and self._label(then) == opened.label

    async def forget(self, name: str, opened: Opened) -> None:
        """What nobody reads any more the database shall not keep."""
        try:
            await opened.listening.forget()
        except LockstepError as error:
            self._log.warning(
                "a database keeps changes for a source that is not read any more",
                source=name, slot=opened.label, error=error.message,
            )  # fmt: skip

    def _label(self, source: Source) -> str:
        return label_of(source, self._since_ms(source))

    def _since_ms(self, source: Source) -> int:
        """Since when the app's logs exist; 0 when it is not deployed any more."""
        view = self._catalogue.get(source.app)
        return 0 if view is None else view.log.since_ms


def operations_of(options: Mapping[str, str]) -> frozenset[RowOperation]:
    """Which changes are wanted."""
    return frozenset(RowOperation(one.lower()) for one in parts(options["operation"]))


def server_id_of(options: Mapping[str, str], label: str) -> int:
    """As whom MySQL's log is read. Without one that is given it is the source's own: whoever takes
    over takes it, too, so the server hangs up on the one before."""
    properties = properties_of(options.get("connector.properties", ""))
    given = properties.get("database.server.id") or options.get("database.server.id")
    if given is not None:
        return int(given)
    return int(label.rpartition("_")[2], 16) % (LARGEST_SERVER_ID - 1) + 1


class ChangesMailbox(Mailbox):
    """Each change a message."""

    def __init__(self, listening: Listening, table: str) -> None:
        self._listening = listening
        self._table = table
        self._under_way = 0

    async def read(self, *, max_messages: int, wait_ms: int) -> Sequence[Mail]:
        if not self._under_way:
            await self._listening.settle()
        found = await self._listening.read(max_rows=max_messages, wait_ms=wait_ms)
        self._under_way += len(found)
        return [self._mail(one) for one in found]

    async def close(self) -> Sequence[Mail]:
        """What was not acknowledged comes to whoever reads on."""
        try:
            if not self._under_way:
                await self._listening.settle()
        finally:
            await self._listening.close()
        return ()

    def _mail(self, one: RowEvent) -> Mail:
        async def acknowledge() -> None:
            self._under_way -= 1

        properties = {"operation": one.operation.value, "table": self._table}
        payload = json.dumps(one.entries, ensure_ascii=False).encode()
        return Mail(self._table, payload, properties, one.id, acknowledge)
