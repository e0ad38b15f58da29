"""NATS servers that are not the suite's own: their subjects, for sources and sinks.

A server may have no JetStream, or not for us. Then nothing keeps a subject there.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from lockstep.bus.contract import Mail, Mailbox
from lockstep.bus.in_flight import InFlight
from lockstep.bus.limits import BusLimits
from lockstep.bus.nats.address import Address
from lockstep.bus.nats.connection import Connection
from lockstep.bus.nats.errors import NobodyAnswersError
from lockstep.bus.nats.jetstream import JetStream
from lockstep.bus.nats.mailbox import consumer_name, open_live, open_mailbox
from lockstep.bus.nats.topics import NatsTopics
from lockstep.clock import Randomness
from lockstep.events import UnavailableError
from lockstep.secrets.closed import refuse_closed
from lockstep.tls import TlsError, TlsFiles, calling

ASK_AGAIN_S: Final = 5.0
"""After so long a server that had no JetStream is asked again."""
_FILES: Final = ("ca", "certificate", "key")
_NOT_FOR_US: Final = frozenset({10039, 10076})


@dataclass(frozen=True, slots=True)
class ForeignServer:
    """Where its servers are, and how to be let in."""

    urls: tuple[str, ...]
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    files: TlsFiles = field(default_factory=TlsFiles)

    @classmethod
    def of(cls, urls: Sequence[str], options: Mapping[str, str]) -> ForeignServer | None:
        """As options of a source or sink say: `username`, `password`, `token`, `tls.ca.file`,
        `tls.certificate.file`, `tls.key.file`. None without urls."""
        files = TlsFiles(*(options.get(f"tls.{each}.file", "") for each in _FILES))
        user, password, token = (options.get(name) for name in ("username", "password", "token"))
        return cls(tuple(urls), user, password, token, files) if urls else None


class ForeignNats:
    """One connection. Errors: UnavailableError, RecordTooLargeError."""

    def __init__(self, connection: Connection, randomness: Randomness) -> None:
        limits = connection.limits
        in_flight = InFlight(
            limits.max_pending_publishes, limits.max_pending_bytes, limits.publish_timeout_ms
        )
        self._connection = connection
        self._jetstream = JetStream(connection)
        self._topics = NatsTopics(self._jetstream, randomness, in_flight)
        self._asking = asyncio.Lock()
        self._is_kept = False
        self._asked_s = float("-inf")

    async def mailbox(self, pattern: str, name: str, queue: str) -> Mailbox:
        """As of the suite's own bus. `queue`: the group that shares messages which no stream keeps,
        also with other programs; empty: those who open a mailbox of that name."""
        if await self._has_jetstream():
            return await open_mailbox(self._jetstream, pattern, name, queue)
        return await open_live(self._connection, pattern, queue or consumer_name(pattern, name))

    async def publish_kept(
        self, subject: str, payload: bytes, *, headers: Mapping[str, str] | None = None
    ) -> bool:
        """See `lockstep.bus.Topics`."""
        if await self._has_jetstream():
            return await self._topics.publish_kept(subject, payload, headers=headers)
        await self._topics.publish(subject, payload, headers=headers)
        return False

    async def close(self) -> None:
        """Sends what is pending and disconnects; idempotent."""
        await self._connection.close()

    async def _has_jetstream(self) -> bool:
        now_s = asyncio.get_running_loop().time
        async with self._asking:
            if not self._is_kept and now_s() - self._asked_s > ASK_AGAIN_S:
                self._is_kept = await self._ask()
                self._asked_s = now_s()
            return self._is_kept

    async def _ask(self) -> bool:
        """UnavailableError while nobody can say so."""
        timeout_ms = self._connection.limits.publish_timeout_ms
        try:
            said = await self._connection.request("$JS.API.INFO", b"", timeout_ms=timeout_ms)
        except NobodyAnswersError:
            if self._connection.has_jetstream:
                raise  # it is away for a moment: what is sent now must not get lost
            return False
        error = msgspec.json.decode(said.data).get("error")
        if error is None:
            return True
        if error.get("err_code") in _NOT_FOR_US:
            return False
        raise UnavailableError(
            f"JetStream cannot serve now: {error.get('description')}",
            where=self._connection.address.shown,
        )


class ForeignServers:
    """Connections to servers of others, one for each server however many use it."""

    def __init__(self, limits: BusLimits, randomness: Randomness, name: str) -> None:
        self._limits = limits
        self._randomness = randomness
        self._name = name
        self._opening = asyncio.Lock()
        self._open: dict[ForeignServer, tuple[ForeignNats, int]] = {}

    async def borrow(self, server: ForeignServer) -> ForeignNats:
        """Connected. Errors: UnavailableError, BusRefusedError, TlsError."""
        async with self._opening:
            found = self._open.get(server)
            if found is None:
                tls = await asyncio.to_thread(_context_of, server.files)
                address = Address(
                    server.urls, None, server.token, tls, server.user, server.password
                )
                connection = await Connection.open(address, self._limits, self._name)
                found = (ForeignNats(connection, self._randomness), 0)
            nats, users = found
            self._open[server] = (nats, users + 1)
            return nats

    async def give_back(self, server: ForeignServer) -> None:
        """Once for each `borrow`; the last one disconnects."""
        nats, users = self._open.pop(server)
        if users > 1:
            self._open[server] = (nats, users - 1)
        else:
            await nats.close()

    async def mailbox(self, server: ForeignServer, pattern: str, name: str, queue: str) -> Mailbox:
        """Of a subject of a server. Errors: UnavailableError, BusRefusedError, TlsError."""
        nats = await self.borrow(server)
        try:
            inner = await nats.mailbox(pattern, name, queue)
        except BaseException:
            await self.give_back(server)
            raise
        return _Borrowed(self, server, inner)


def _context_of(files: TlsFiles) -> ssl.SSLContext | None:
    """TlsError, also for a certificate or key of the suite itself: an app says which files."""
    try:
        refuse_closed(files.certificate, files.key)
    except OSError as error:
        raise TlsError(str(error)) from error
    return calling(files)


class _Borrowed:
    """A mailbox that gives its connection back."""

    def __init__(self, servers: ForeignServers, server: ForeignServer, inner: Mailbox) -> None:
        self._servers = servers
        self._server = server
        self._inner: Mailbox | None = inner
        self.read = inner.read

    async def close(self) -> Sequence[Mail]:
        inner, self._inner = self._inner, None
        if inner is None:
            return ()
        try:
            return await inner.close()
        finally:
            await self._servers.give_back(self._server)
