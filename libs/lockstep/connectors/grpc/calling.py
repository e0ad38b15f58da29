"""Messages as calls of a method, with their identity as `idempotency-key`; what the sinks `grpc`
and `grpc-call` share."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import grpc
import grpc.aio

from lockstep.connectors.grpc.events import NoEventError, event_bytes, read_event
from lockstep.connectors.grpc.urls import PROCESS, MethodUrl, method_url
from lockstep.connectors.logins import LOGIN_HINT, row_brings_login
from lockstep.connectors.tls import NAMES, refuse_own
from lockstep.events import UnavailableError
from lockstep.sinks import Message, MessageRefusedError, headers_filled
from lockstep.tls import Renewal, TlsError, TlsFiles, calling

TIMEOUT_MS: Final = 6_000
MAX_ANSWER_BYTES: Final = 4_194_304
KEY: Final = "idempotency-key"
SHOWN_CHARACTERS: Final = 200
REFUSED: Final = frozenset(
    {
        "INVALID_ARGUMENT", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED",
        "FAILED_PRECONDITION", "OUT_OF_RANGE", "UNIMPLEMENTED", "DATA_LOSS",
    }
)  # fmt: skip
"""Statuses that stay the same when a message is sent again; with any other it is."""
LEFT: Final = frozenset({"DEADLINE_EXCEEDED", "UNAVAILABLE"})
"""Statuses behind which a connection may be dead at its other end only: another one is opened."""
LONGEST_MS: Final = 2**31 - 1
"""That gRPC takes as a time."""
UNAUTHENTICATED: Final = "UNAUTHENTICATED"
"""Stays so for a row that brings its own login; that of the sink may be changing just now."""
_NAME: Final = re.compile(r"[0-9a-z_.-]+")


@dataclass(frozen=True, slots=True)
class Called:
    """What a call was answered: a text of the default service, or a message of Protobuf."""

    url: str
    headers: Mapping[str, str]
    body: bytes


class GrpcCalls:
    """Options: `publisher.url`, `headers`, `metadata`, `call.timeout`, `max.inbound.message.size`,
    `enable.ssl`, `keep.alive.time`, `tls.ca.file` … `service`: the name of the service by its
    .proto, where the url has another one."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._url: MethodUrl = method_url(options["publisher.url"], options.get("method", PROCESS))
        self._path = self._url.path(options.get("service", ""))
        self._headers = options.get("headers", "")
        self._metadata = options.get("metadata", "")
        self._is_rows_login = row_brings_login(f"{self._metadata},{self._headers}")
        self._timeout_ms = int(options.get("call.timeout", TIMEOUT_MS))
        self._most_bytes = int(options.get("max.inbound.message.size", MAX_ANSWER_BYTES))
        self._is_secure = options.get("enable.ssl", "").strip().lower() == "true"
        self._files = TlsFiles(*(options.get(name, "") for name in NAMES))
        self._renewal = Renewal(self._files)
        self._channel: grpc.aio.Channel | None = None
        self._call: Any = None
        self._kept_alive = _keepalive(options)
        self._left: dict[grpc.aio.Channel, asyncio.Task[None]] = {}

    def __str__(self) -> str:
        return f"grpc://{self._url.target}{self._path}"

    async def send(self, message: Message) -> Called:
        """The answer. Errors: UnavailableError, OSError, MessageRefusedError."""
        metadata = [(KEY, message.id)]
        for name, value in headers_filled(self._metadata, message.fill).items():
            metadata.append((_checked(name.lower(), value), value))
        request = self._written(message)
        if self._call is None or (self._is_secure and self._renewal.is_due()):
            self._leave(self._channel)
            self._open()
        channel = self._channel
        call = self._call(request, timeout=self._timeout_ms / 1000, metadata=tuple(metadata))
        try:
            answered: bytes = await call
            trailing = [*await call.initial_metadata(), *await call.trailing_metadata()]
        except grpc.aio.AioRpcError as error:
            if error.code().name in LEFT:
                self._leave(channel)
            raise self._failed(error) from error
        headers = {str(name): value for name, value in trailing if isinstance(value, str)}
        return self._read(answered, headers)

    async def close(self) -> None:
        """Closes connections; idempotent."""
        channel, self._channel, self._call = self._channel, None, None
        left, self._left = self._left, {}
        for leaving in left.values():
            leaving.cancel()
        for each in [*left, *([] if channel is None else [channel])]:
            await each.close()

    def _leave(self, channel: grpc.aio.Channel | None) -> None:
        """The next call opens another one; calls that are under way end there. Nobody waits."""
        if channel is None or channel is not self._channel:
            return
        self._channel = self._call = None
        leaving = asyncio.ensure_future(channel.close(grace=self._timeout_ms / 1000))
        self._left[channel] = leaving
        leaving.add_done_callback(lambda _: self._left.pop(channel, None))

    def _open(self) -> None:
        options = (
            ("grpc.max_receive_message_length", self._most_bytes),
            ("grpc.max_send_message_length", -1),
            ("grpc.enable_retries", 0),  # the publisher tries again
            ("grpc.use_local_subchannel_pool", 1),
            ("grpc.initial_reconnect_backoff_ms", 100),
            ("grpc.max_reconnect_backoff_ms", 2_000),
            *self._kept_alive,
        )
        if self._is_secure:
            self._channel = grpc.aio.secure_channel(
                self._url.target, _credentials(self._files), options=options
            )
        else:
            self._channel = grpc.aio.insecure_channel(self._url.target, options=options)
        self._call = self._channel.unary_unary(self._path)

    def _written(self, message: Message) -> bytes:
        if not self._url.is_event_service:
            return message.payload
        headers = headers_filled(self._headers, message.fill)
        if self._url.sequence:
            headers["sequence"] = self._url.sequence
        try:
            return event_bytes(message.payload.decode(), headers)
        except UnicodeDecodeError as error:
            raise MessageRefusedError(f"an event of EventService is text: {error}") from error

    def _read(self, answered: bytes, metadata: Mapping[str, str]) -> Called:
        if not self._url.is_event_service or self._url.method != PROCESS:
            return Called(str(self), metadata, answered)
        try:
            payload, headers = read_event(answered)
        except NoEventError as error:
            raise MessageRefusedError(f"{self}: {error}") from error
        return Called(str(self), {**metadata, **headers}, payload.encode())

    def _failed(self, error: grpc.aio.AioRpcError) -> Exception:
        status = error.code().name
        text = f"{self}: {status}: {(error.details() or '')[:SHOWN_CHARACTERS]}"
        is_login = status == UNAUTHENTICATED
        if status in REFUSED or (is_login and self._is_rows_login):
            return MessageRefusedError(text)
        return UnavailableError(text, hint=LOGIN_HINT if is_login else None)


def _keepalive(options: Mapping[str, str]) -> tuple[tuple[str, int], ...]:
    """In seconds, as the older products have it. None unless it is wanted: many servers hang up on
    who asks more often than each five minutes."""
    every_ms = _ms(options.get("keep.alive.time", "0"))
    if every_ms <= 0:
        return ()
    found = [("grpc.keepalive_time_ms", every_ms)]
    if "keep.alive.timeout" in options:
        within_ms = _ms(options["keep.alive.timeout"])
        found.append(("grpc.keepalive_timeout_ms", within_ms))
        # gRPC's own measurements are pings, too: those behind one without an answer are not sent.
        found.append(("grpc.http2.ping_timeout_ms", within_ms))
    if options.get("keep.alive.without.calls", "").strip().lower() == "true":
        found.append(("grpc.keepalive_permit_without_calls", 1))
        found.append(("grpc.http2.max_pings_without_data", 0))
    return tuple(found)


def _ms(seconds: str) -> int:
    return min(int(seconds) * 1_000, LONGEST_MS)


def _checked(name: str, value: str) -> str:
    """A name of metadata; MessageRefusedError for what gRPC cannot carry."""
    is_named = _NAME.fullmatch(name) and not name.startswith("grpc-") and not name.endswith("-bin")
    if not is_named or not value.isascii() or not value.isprintable():
        raise MessageRefusedError(
            f"the metadata {name[:SHOWN_CHARACTERS]!r} cannot be sent",
            hint="names of a-z, 0-9, '_', '-', '.', not grpc-… nor …-bin; values in ASCII",
        )
    return name


def _credentials(files: TlsFiles) -> grpc.ChannelCredentials:
    """OSError for files that cannot be used: their operator may still put them there."""
    refuse_own(files)
    try:
        calling(files)  # says what is wrong with them, which gRPC does not
    except TlsError as error:
        raise OSError(str(error)) from error
    authority = Path(files.authority).read_bytes() if files.authority else None
    if not files.certificate:
        return grpc.ssl_channel_credentials(authority)
    key = Path(files.key or files.certificate).read_bytes()
    return grpc.ssl_channel_credentials(authority, key, Path(files.certificate).read_bytes())
