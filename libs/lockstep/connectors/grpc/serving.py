"""A port on which gRPC clients call methods; what a call comes to is somebody else's business.

Each call is a stream of messages that ends with one answer: a call with a single message is the
same on the wire.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import grpc
import grpc.aio

from lockstep.connectors.grpc.refusals import CallRefusedError
from lockstep.tls import Renewal, TlsError, TlsFiles, serving

MAX_METADATA_BYTES: Final = 16_384


@dataclass(frozen=True, slots=True)
class Call:
    """One call. `path`: /service/method. `messages` ends when the client has sent all."""

    path: str
    metadata: Mapping[str, str]
    messages: AsyncIterator[bytes]


Metadata = tuple[tuple[str, str], ...]
Serve = Callable[[Call], Awaitable[tuple[bytes, Metadata]]]
"""The answer of a call and what goes along with it; CallRefusedError ends it without. Cancelled
when the client has gone."""


class GrpcPort:
    """One port of this process. `knows`: whether a path is served. `tls`: what it speaks, if not
    plainly."""

    def __init__(
        self,
        address: tuple[str, int],
        serve: Serve,
        knows: Callable[[str], bool],
        *,
        tls: TlsFiles | None,
        max_message_bytes: int,
        max_calls: int,
    ) -> None:
        host, port = address
        self._address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._tls = tls
        self._handler = _Handler(serve, knows)
        self._options = (
            ("grpc.max_receive_message_length", max_message_bytes),
            ("grpc.max_send_message_length", -1),
            ("grpc.max_metadata_size", MAX_METADATA_BYTES),
        )
        self._max_calls = max_calls
        self._server: grpc.aio.Server | None = None

    async def start(self) -> None:
        """Listens; OSError."""
        server = grpc.aio.server(
            handlers=(self._handler,),
            options=self._options,
            maximum_concurrent_rpcs=self._max_calls,
        )
        try:
            if self._tls is None:
                server.add_insecure_port(self._address)
            else:
                server.add_secure_port(self._address, _credentials(self._tls))
        except RuntimeError as error:
            raise OSError(f"cannot listen on {self._address}") from error
        await server.start()
        self._server = server

    async def stop(self, grace_ms: int = 0) -> None:
        """Takes no more calls, and ends those that are still there after a time; idempotent."""
        if self._server is not None:
            await self._server.stop(grace_ms / 1000 if grace_ms else None)


class _Handler(grpc.GenericRpcHandler):
    """All methods of all services of a port."""

    def __init__(self, serve: Serve, knows: Callable[[str], bool]) -> None:
        self._serve = serve
        self._knows = knows

    def service(self, details: grpc.HandlerCallDetails) -> Any:
        """What runs a call; None: nobody serves it, which the client is told."""
        path = details.method
        if not self._knows(path):
            return None

        async def run(messages: AsyncIterator[bytes], context: Any) -> bytes:
            return await self._run(path, messages, context)

        return grpc.stream_unary_rpc_method_handler(run)

    async def _run(self, path: str, messages: AsyncIterator[bytes], context: Any) -> bytes:
        metadata = {
            key: value for key, value in context.invocation_metadata() if isinstance(value, str)
        }
        try:
            answer, trailing = await self._serve(Call(path, metadata, messages))
        except CallRefusedError as error:
            await context.abort(grpc.StatusCode[error.status], str(error))
            raise  # it does not come so far
        if trailing:
            context.set_trailing_metadata(trailing)
        return answer


def _credentials(files: TlsFiles) -> grpc.ServerCredentials:
    """Each new connection is shown what the files hold by then. OSError."""
    if files.password:
        raise OSError("gRPC takes no keys with a password: give a key without one")
    renewal = Renewal(files)
    insists = bool(files.authority)

    def read() -> grpc.ServerCertificateConfiguration:
        key, certificate = Path(files.key or files.certificate), Path(files.certificate)
        authority = Path(files.authority).read_bytes() if files.authority else None
        pairs = [(key.read_bytes(), certificate.read_bytes())]
        return grpc.ssl_server_certificate_configuration(pairs, authority)

    def fetch() -> Any:  # None: as before
        return read() if renewal.is_due() else None

    try:
        serving(files)  # says what is wrong with them, which gRPC does not
        return grpc.dynamic_ssl_server_credentials(read(), fetch, insists)
    except (TlsError, ssl.SSLError) as error:
        raise OSError(str(error)) from error
