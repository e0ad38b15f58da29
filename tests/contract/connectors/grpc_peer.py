"""The other sides of gRPC: clients and servers of the default service and of a test's own."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Final

import grpc
import grpc.aio

from lockstep.mapping.protobuf.types import class_of, types_of_text

PROCESS: Final = "/eventservice.EventService/process"
CONSUME: Final = "/eventservice.EventService/consume"
SWEETS: Final = (
    'syntax = "proto3"; message Taken { int32 count = 1; }'
    " message Sweet { string name = 1; double price = 2; }"
    " message Bill { string name = 1; double total = 2; }"
    " service SweetService { rpc getDiscount(Sweet) returns(Bill);"
    " rpc note(stream Sweet) returns(Taken); }"
)
DISCOUNT: Final = "/SweetService/getDiscount"
NOTE: Final = "/SweetService/note"
Event: Final[Any] = class_of(
    types_of_text(
        'syntax = "proto3"; package eventservice;'
        " message Event { string payload = 1; map<string, string> headers = 2; }"
    ).message("Event")
)
Sweet: Final[Any] = class_of(types_of_text(SWEETS).message("Sweet"))
Bill: Final[Any] = class_of(types_of_text(SWEETS).message("Bill"))
Serve = Callable[[list[bytes], Any], Awaitable[bytes]]


def caller(channel: grpc.aio.Channel, path: str, *, streams: bool = False) -> Any:
    """A method as a client has it."""
    make = channel.stream_unary if streams else channel.unary_unary
    return make(
        path,
        request_serializer=lambda message: message.SerializeToString(),
        response_deserializer=bytes,
    )


class _All(grpc.GenericRpcHandler):
    def __init__(self, serve: Serve, streaming: frozenset[str]) -> None:
        self._serve = serve
        self._streaming = streaming

    def service(self, details: grpc.HandlerCallDetails) -> Any:
        path = details.method

        async def one(message: bytes, context: Any) -> bytes:
            return await self._serve([message], context)

        async def many(messages: Any, context: Any) -> bytes:
            return await self._serve([message async for message in messages], context)

        if path in self._streaming:
            return grpc.stream_unary_rpc_method_handler(many)
        return grpc.unary_unary_rpc_method_handler(one)


@contextlib.asynccontextmanager
async def grpc_server(
    serve: Serve, port: int = 0, credentials: grpc.ServerCredentials | None = None
) -> AsyncIterator[int]:
    """Serves all methods; its port. `consume` takes a stream, as the older products' servers do."""
    server = grpc.aio.server(handlers=(_All(serve, frozenset({CONSUME, NOTE})),))
    address = f"127.0.0.1:{port}"
    if credentials is None:
        port = server.add_insecure_port(address)
    else:
        port = server.add_secure_port(address, credentials)
    await server.start()
    try:
        yield port
    finally:
        await server.stop(None)


def metadata_of(context: Any) -> Mapping[str, str]:
    """What came along with a call."""
    return {key: str(value) for key, value in context.invocation_metadata()}
