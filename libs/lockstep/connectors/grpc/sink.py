"""@sink(type='grpc'): each message a call, whose answer says that it has arrived."""

from __future__ import annotations

from collections.abc import Mapping

from lockstep.connectors.grpc.calling import GrpcCalls
from lockstep.connectors.grpc.urls import CONSUME
from lockstep.sinks import Message, Sink


class GrpcSink(Sink):
    """Options: those of `GrpcCalls`. One call at a time, so messages arrive in their order."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._calls = GrpcCalls({**options, "method": CONSUME})

    async def send(self, message: Message) -> None:
        await self._calls.send(message)

    async def close(self) -> None:
        await self._calls.close()
