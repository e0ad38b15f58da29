"""@sink(type='nats'), and inMemory beyond one process: messages on the suite's bus, or on a server
that is named.

Each bears its identity as message id. Where a stream of the bus's server keeps the subject, the
message counts as delivered when the stream has acknowledged it; else nobody can say who heard it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import ClassVar, Protocol

from lockstep.bus import (
    ID_HEADER,
    ForeignNats,
    ForeignServer,
    ForeignServers,
    Topics,
    topic_subject,
)
from lockstep.bus.subjects import escaped
from lockstep.connectors.nats import FRONT_DOOR, MAX_SUBJECT_BYTES, may_send, server_urls
from lockstep.events import LockstepError, UnavailableError
from lockstep.sinks import Message, MessageRefusedError, Sink
from lockstep_services.publisher.contract import SinkSetupError


class Publishing(Protocol):
    """Where messages go: `Topics`, or a server of others."""

    async def publish_kept(
        self, subject: str, payload: bytes, *, headers: Mapping[str, str] | None = None
    ) -> bool:
        """See `Topics`."""


class SubjectSink(Sink):
    """Sends to the subject of each message; `name` says which."""

    in_flight: ClassVar[int] = 64

    def __init__(self, topics: Publishing, subject_of: Callable[[Message], str]) -> None:
        self._topics = topics
        self._subject_of = subject_of

    async def send(self, message: Message) -> None:
        headers = {
            ID_HEADER: message.id,
            "Content-Type": message.content_type,
            "Timestamp-Ms": str(message.timestamp_ms),
        }
        subject = self._subject_of(message)
        try:
            await self._topics.publish_kept(subject, message.payload, headers=headers)
        except LockstepError as error:
            if error.retryable:
                raise
            # Too large for the bus, or against a rule of the stream.
            raise MessageRefusedError(error.message, where=subject) from error


class ServerSink(SubjectSink):
    """Sends to a server of others, to which it is connected from its first message to `close`."""

    def __init__(
        self,
        server: ForeignServer,
        servers: ForeignServers,
        subject_of: Callable[[Message], str],
    ) -> None:
        super().__init__(self, subject_of)
        self._server = server
        self._servers = servers
        self._opening = asyncio.Lock()
        self._nats: ForeignNats | None = None

    async def publish_kept(
        self, subject: str, payload: bytes, *, headers: Mapping[str, str] | None = None
    ) -> bool:
        """See `Topics`. A server that does not let us in may do so later."""
        async with self._opening:
            if self._nats is None:
                try:
                    self._nats = await self._servers.borrow(self._server)
                except LockstepError as error:
                    raise UnavailableError(str(error)) from error
            nats = self._nats
        return await nats.publish_kept(subject, payload, headers=headers)

    async def close(self) -> None:
        """Gives the connection back; idempotent."""
        nats, self._nats = self._nats, None
        if nats is not None:
            await self._servers.give_back(self._server)


def nats_sink(
    options: Mapping[str, str], topics: Topics, servers: ForeignServers | None, app: str
) -> Sink:
    """Options: `destination` (a subject, may hold `{{attribute}}`); `server.urls` … for a server
    that is not the suite's own. SinkSetupError for the streams of another app than `app`."""
    destination, own_door = options["destination"], f"{FRONT_DOOR}{escaped(app)}."
    if "{{" not in destination and not may_send(destination, options, own_door):
        raise SinkSetupError(
            f"the subject {destination!r} is not for app {app!r}", where="destination",
            hint=f"{own_door}<stream>, or a subject that does not begin with {FRONT_DOOR}",
        )  # fmt: skip

    def subject_of(message: Message) -> str:
        subject = message.fill(destination).replace(" ", "_")
        size = len(subject.encode())
        if size > MAX_SUBJECT_BYTES:
            raise MessageRefusedError(
                f"a subject of {size} bytes; {MAX_SUBJECT_BYTES} are possible: {subject[:40]!r}…"
            )
        bad = not all(subject.split(".")) or any(c in subject for c in "*>\r\n\t")
        if bad or not may_send(subject, options, own_door):
            raise MessageRefusedError(f"{subject[:200]!r} is no subject for a sink")
        return subject

    server = ForeignServer.of(server_urls(options), options)
    if server is None:
        return SubjectSink(topics, subject_of)
    assert servers is not None  # of whoever delivers for apps
    return ServerSink(server, servers, subject_of)


def topic_sink(options: Mapping[str, str], topics: Topics) -> Sink:
    """Option: `topic` (may hold `{{attribute}}`); in-memory sources of all apps hear it."""
    topic = options["topic"]
    return SubjectSink(topics, lambda message: topic_subject(message.fill(topic)))
