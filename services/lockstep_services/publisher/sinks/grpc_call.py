"""@sink(type='grpc-call'): each message a call, whose answer comes in as that of an `http-call`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from lockstep.sinks import Message
from lockstep_services.publisher.sinks.requests import Answered

OK: Final = 200
"""What sources of answers take where they say nothing of a status."""


class Called(Protocol):
    """What a call was answered."""

    @property
    def url(self) -> str: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    @property
    def body(self) -> bytes: ...


class Calls(Protocol):
    """Sends messages as calls; see `lockstep.connectors.grpc.calling`."""

    async def send(self, message: Message) -> Called: ...

    async def close(self) -> None: ...


class GrpcAsking:
    """Calls as requests: whatever is not good has been raised."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def send(self, message: Message) -> Answered:
        """Errors: UnavailableError, OSError, MessageRefusedError."""
        called = await self._calls.send(message)
        return Answered(called.url, OK, called.headers, called.body, is_cut=False)

    def begin_again(self) -> None:
        """Nothing is kept by identity."""

    async def close(self) -> None:
        """Closes connections."""
        await self._calls.close()
