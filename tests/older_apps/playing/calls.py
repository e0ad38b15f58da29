"""Clients of gRPC, of the older products' default service."""

from __future__ import annotations

from typing import Any

import grpc.aio

from lockstep.connectors.grpc.events import event_bytes, read_event
from tests.contract.connectors.grpc_peer import CONSUME, PROCESS

ANSWER_S = 10.0


async def consumed(port: int, payload: bytes) -> None:
    """An event that is taken."""
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        call: Any = channel.stream_unary(CONSUME)
        await call(iter((event_bytes(payload.decode(), {}),)), timeout=ANSWER_S)


async def processed(port: int, payload: bytes) -> bytes:
    """What an event is answered."""
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        call: Any = channel.unary_unary(PROCESS)
        answer = await call(event_bytes(payload.decode(), {}), timeout=ANSWER_S)
    return read_event(answer)[0].encode()
