"""@sink(type='http'): each message a request with its identity as Idempotency-Key."""

from __future__ import annotations

from collections.abc import Mapping

from lockstep.sinks import Message, Sink
from lockstep_services.publisher.sinks.requests import Requests


class HttpSink(Sink):
    """Options: those of `Requests`."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._requests = Requests(options)

    async def send(self, message: Message) -> None:
        answered = await self._requests.send(message)
        answered.raise_if_bad()

    async def close(self) -> None:
        """Closes connections."""
        await self._requests.close()
