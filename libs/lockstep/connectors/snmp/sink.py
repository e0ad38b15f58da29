"""@sink(type='snmp'): sets variables of an agent to what an event holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qsl

from lockstep.connectors.snmp import MAX_OIDS, oid_of
from lockstep.connectors.snmp.manager import Manager, SnmpStatusError
from lockstep.connectors.snmp.values import TEXT, is_absent, value_of
from lockstep.sinks import Message, MessageRefusedError, Sink

PASSING: Final = frozenset({"genErr", "resourceUnavailable", "commitFailed", "undoFailed"})
"""Statuses that may be others when the same is set again."""
MAX_KNOWN: Final = 10_000
"""Variables whose types are kept; beyond it all are asked for anew."""
MISSING: Final = frozenset({"noSuchName", "noAccess"})


class SnmpSink(Sink):
    """A message is a form, as `@map(type='keyvalue')` writes it: names of variables, and values.

    A variable keeps its type, which the agent is asked for once. One that it does not give becomes
    a text.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self._manager = Manager(options)
        self._like: dict[str, Any] = {}

    async def send(self, message: Message) -> None:
        """Set when this returns; set again it is the same."""
        texts = _texts(message.payload)
        try:
            if len(self._like) + len(texts) > MAX_KNOWN:
                self._like.clear()
            await self._learn([oid for oid in texts if oid not in self._like])
            values = {oid: value_of(text, self._like[oid]) for oid, text in texts.items()}
            await self._manager.set(values)
        except ValueError as error:
            raise MessageRefusedError(str(error)) from error
        except SnmpStatusError as error:
            for oid in texts:
                self._like.pop(oid, None)  # another agent may stand there now
            if error.status in PASSING:
                raise OSError(f"the agent answers {error}") from error
            raise MessageRefusedError(f"the agent answers {error}") from error

    async def _learn(self, oids: list[str]) -> None:
        """One by one: version 1 refuses a whole request for one variable."""
        for oid in oids:
            try:
                found = await self._manager.get([oid])
            except SnmpStatusError as error:
                if error.status not in MISSING:
                    raise
                found = {}
            like = found.get(oid, TEXT)
            self._like[oid] = TEXT if is_absent(like) else like

    async def close(self) -> None:
        self._manager.close()


def _texts(payload: bytes) -> dict[str, str]:
    try:
        pairs = parse_qsl(payload.decode(), keep_blank_values=True, strict_parsing=True)
        found = {oid_of(name): value for name, value in pairs}
    except ValueError as error:
        raise MessageRefusedError(
            f"the message is no form of OIDs: {error}",
            hint="@map(type='keyvalue', @payload('1.3.6.1.2.1.1.6.0'='attribute'))",
        ) from error
    if not 0 < len(found) <= MAX_OIDS:
        raise MessageRefusedError(f"{len(found)} variables; 1 to {MAX_OIDS} can be set at once")
    return found
