"""Messages of the bus into the input log: acknowledged when their record, or their dead letter, is
durable.

A message's id is the record's key, so a message delivered again finds the record there.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from multidict import CIMultiDict

from lockstep.bus import PROPERTIES_HEADER
from lockstep.events import Fault, LockstepError
from lockstep.events.characters import is_whole
from lockstep.mapping.reading import UNMAPPABLE, refusal
from lockstep.telemetry import Logger
from lockstep_services.receiver.accept import Acceptor, Sending
from lockstep_services.receiver.decode import (
    JSON,
    TIMESTAMP_HEADER,
    MalformedBodyError,
    Refusal,
    timestamp_of,
)
from lockstep_services.receiver.sources import with_source
from lockstep_services.receiver.values import FieldError


@dataclass(frozen=True, slots=True)
class BusMessage:
    """One message for a stream; `source`: the source it came by, or None for the ingress.
    `refused`: why that source says that it cannot be taken."""

    app: str
    stream: str
    payload: bytes
    headers: Mapping[str, str]
    key: str | None
    acknowledge: Callable[[], Awaitable[None]]
    source: int | None = None
    refused: str = ""


class Transfer:
    """Takes messages one after the other, as many at once as there are."""

    def __init__(self, acceptor: Acceptor, log: Logger) -> None:
        self._acceptor = acceptor
        self._log = log

    async def all(self, messages: Sequence[BusMessage]) -> None:
        """In order. Errors: UnavailableError, and what is not the sender's fault."""
        for message in messages:
            if message.source is not None and not message.refused:
                app, stream = message.app, message.stream
                await self._acceptor.bring_schemas(app, stream, message.source, message.payload)
        # Started in order, they reach the intake in order.
        outcomes = await asyncio.gather(
            *(self._one(message) for message in messages), return_exceptions=True
        )
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome

    async def _one(self, message: BusMessage) -> None:
        content_type = message.headers.get("Content-Type", JSON)
        try:
            if message.refused:
                raise MalformedBodyError(message.refused)
            sending = Sending(
                content_type,
                _timestamp(message),
                message.key,
                source=message.source,
                properties=properties_of(message.headers),
                in_order=True,
            )
            await self._acceptor.accept(message.app, message.stream, message.payload, sending)
        except LockstepError as error:
            if error.fault is not Fault.USER:
                raise
            await self._bury(message, error, content_type)
        except UNMAPPABLE as error:
            # A mistake of ours, which the message would meet again and again: what came with it
            # goes on. The log says where the mistake is.
            told = refusal(error, "the receiver", quoted=False)
            await self._bury(message, told, content_type)
        await message.acknowledge()

    async def _bury(self, message: BusMessage, error: LockstepError, content_type: str) -> None:
        found = getattr(error, "errors", None) or [FieldError(None, error.message)]
        refusal = Refusal(0, tuple(found), message.payload)
        if message.source is not None:
            content_type = with_source(content_type, message.source)
        await self._acceptor.bury(message.app, message.stream, [refusal], content_type, message.key)
        self._log.warning(
            "a message was refused", app=message.app, stream=message.stream, why=refusal.reason
        )


def _timestamp(message: BusMessage) -> int | None:
    given = message.headers.get(TIMESTAMP_HEADER)
    return None if given is None else timestamp_of(given)


def properties_of(headers: Mapping[str, str]) -> Mapping[str, Any]:
    """What `trp:` takes: the headers, or what one of them holds; MalformedBodyError when that is
    nothing to be taken."""
    given = headers.get(PROPERTIES_HEADER)
    if given is None:
        return CIMultiDict(headers)
    try:
        found = json.loads(given)
    except (ValueError, RecursionError) as error:
        raise MalformedBodyError(f"the header {PROPERTIES_HEADER} is no JSON: {error}") from error
    if "\\u" in given and not is_whole(found):
        raise MalformedBodyError(f"the header {PROPERTIES_HEADER} has half of a character")
    if not isinstance(found, dict):
        raise MalformedBodyError(f"the header {PROPERTIES_HEADER} is no JSON object")
    return found
