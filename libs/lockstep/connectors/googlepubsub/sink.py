"""@sink(type='googlepubsub'): a message to a topic, delivered when the service has its id."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from lockstep.connectors.google.service import GoogleService, shown
from lockstep.connectors.googlepubsub import ENDPOINT, IDENTITY, SCOPE
from lockstep.sinks import Message, MessageRefusedError, Sink, headers_filled

JSON: Final = "application/json"
MAX_BYTES: Final = 10_000_000
"""Of a message, as the service has it."""
REFUSED: Final = frozenset((400, 413))
"""The statuses of a message that the service will never take."""


class PubSubSink(Sink):
    """Options: `project.id`, `topic.id`, `attributes`, `credential.path`, `credential.json` …"""

    in_flight: ClassVar[int] = 16

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options
        self._service = GoogleService(options, SCOPE)
        endpoint = options.get("endpoint", ENDPOINT).rstrip("/")
        self._name = (
            f"projects/{options['project.id'].strip()}/topics/{options['topic.id'].strip()}"
        )
        self._url = f"{endpoint}/v1/{self._name}:publish"

    async def send(self, message: Message) -> None:
        if len(message.payload) > MAX_BYTES:
            raise MessageRefusedError(f"the message is longer than {MAX_BYTES} bytes")
        body = json.dumps({"messages": [self._message(message)]}).encode()
        status, text = await self._service.ask(self._url, body, JSON)
        if status in REFUSED:
            raise MessageRefusedError(f"the topic refuses the message: {status}: {shown(text)}")
        if status != 200:
            raise OSError(f"{self._name} answered {status}: {shown(text)}")

    async def close(self) -> None:
        await self._service.close()

    def _message(self, message: Message) -> dict[str, Any]:
        own = headers_filled(self._options.get("attributes", ""), message.fill)
        return {
            "data": base64.b64encode(message.payload).decode(),
            "attributes": {**own, IDENTITY: message.id},
        }


class OrderedPubSubSink(PubSubSink):
    """One at a time, each with the key of those among which it has its order; `ordering.key`."""

    in_flight: ClassVar[int] = 1

    def _message(self, message: Message) -> dict[str, Any]:
        key = message.fill(self._options["ordering.key"])
        return {**super()._message(message), "orderingKey": key}


def sink_of(options: Mapping[str, str]) -> Sink:
    """By whether there is an order to be kept."""
    return (OrderedPubSubSink if "ordering.key" in options else PubSubSink)(options)
