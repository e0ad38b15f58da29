"""The NATS bus: one connection, one JetStream stream per log."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Final

from lockstep.bus.contract import InputLog, LogName, Mailbox, OutputLog
from lockstep.bus.errors import BusRefusedError, LogGoneError
from lockstep.bus.in_flight import InFlight
from lockstep.bus.limits import BusLimits
from lockstep.bus.nats.address import parse_address
from lockstep.bus.nats.bells import Bells
from lockstep.bus.nats.connection import Connection
from lockstep.bus.nats.dead_letters import NatsDeadLetters
from lockstep.bus.nats.ingress import NatsIngress
from lockstep.bus.nats.input_log import NatsInputLog
from lockstep.bus.nats.jetstream import JetStream, stream_config
from lockstep.bus.nats.mailbox import open_mailbox
from lockstep.bus.nats.output_log import NatsOutputLog
from lockstep.bus.nats.topics import NatsTopics
from lockstep.bus.subjects import (
    earlier_stream_name,
    input_subject,
    log_names,
    log_patterns,
    output_subject,
    stream_name,
    subject_of,
)
from lockstep.clock import Randomness

_MIN_MESSAGE_BYTES: Final = 65_536  # with less, what the services tell each other does not fit


class NatsBus:
    """See `lockstep.bus.Bus`. Use `connect`."""

    def __init__(self, connection: Connection, randomness: Randomness) -> None:
        self._connection = connection
        self._randomness = randomness
        self._jetstream = JetStream(connection)
        self._bells = Bells(self._jetstream)
        limits = connection.limits
        self._in_flight = InFlight(
            limits.max_pending_publishes, limits.max_pending_bytes, limits.publish_timeout_ms
        )
        self.dead_letters = NatsDeadLetters(self._jetstream, randomness)
        self.ingress = NatsIngress(self._jetstream, randomness)
        self.topics = NatsTopics(self._jetstream, randomness, self._in_flight)

    @classmethod
    async def connect(
        cls, url: str, limits: BusLimits, randomness: Randomness, *, name: str = "lockstep"
    ) -> NatsBus:
        """Connected, the shared streams made. Errors: UnavailableError, BusRefusedError."""
        connection = await Connection.open(parse_address(url), limits, name)
        bus = cls(connection, randomness)
        try:
            if connection.max_message_bytes < _MIN_MESSAGE_BYTES:
                raise BusRefusedError(
                    f"the bus server takes only {connection.max_message_bytes} bytes in a message",
                    where=connection.address.shown,
                    hint=f"set max_payload there to {_MIN_MESSAGE_BYTES} or more; with its own "
                    "1048576 most records fit as one",
                )
            await bus.dead_letters.stream.make()
            await bus.ingress.stream.make()
        except BaseException:
            await connection.close()
            raise
        return bus

    async def input_log(self, name: LogName, *, make: bool = True) -> InputLog:
        subject = input_subject(name)
        stream = await self._stream(subject)
        if make:
            await self._ensure_log(
                stream, subject, forgets=self._connection.limits.input_logs_age, is_input=True
            )
        elif await self._jetstream.is_gone(stream):
            raise LogGoneError(subject)
        return NatsInputLog(
            self._jetstream, subject, stream, self._randomness, self._in_flight, self._bells
        )

    async def output_log(self, name: LogName, *, make: bool = True) -> OutputLog:
        subject = output_subject(name)
        stream = await self._stream(subject)
        if make:
            await self._ensure_log(stream, subject, forgets=False)
        elif await self._jetstream.is_gone(stream):
            raise LogGoneError(subject)
        return NatsOutputLog(self._jetstream, subject, stream, self._randomness, self._bells)

    async def logs(self, app: str | None, *, inputs: bool = False) -> Sequence[LogName]:
        patterns = log_patterns(app, inputs=inputs)
        found = [await self._jetstream.streams(pattern) for pattern in patterns]
        return log_names(subject_of(name) for names in found for name in names)

    async def remove_logs(self, name: LogName) -> None:
        for subject in (input_subject(name), output_subject(name)):
            await self._jetstream.delete_stream(await self._stream(subject))

    async def mailbox(self, pattern: str, name: str) -> Mailbox:
        return await open_mailbox(self._jetstream, pattern, name)

    async def owner(self, suite: str, *, instead_of: str = "") -> str:
        return await self.ingress.stream.owner(suite, instead_of=instead_of)

    async def healthy(self) -> bool:
        return await self._connection.healthy()

    async def close(self) -> None:
        await self.ingress.release()
        self._bells.stop()
        await self._connection.close()

    async def _stream(self, subject: str) -> str:
        """The stream that holds a log, or that it would get. UnavailableError."""
        name, earlier = stream_name(subject), earlier_stream_name(subject)
        if name != earlier:
            with contextlib.suppress(LogGoneError):
                await self._jetstream.state(earlier)
                return earlier
        return name

    async def _ensure_log(
        self, stream: str, subject: str, *, forgets: bool, is_input: bool = False
    ) -> None:
        limits = self._connection.limits
        # Older servers do not know the field.
        more = {"allow_atomic": True} if is_input and self._connection.stores_together else {}
        config = stream_config(stream, subject, limits, max_bytes=None, forgets=forgets, **more)
        await self._jetstream.ensure_stream(config)
