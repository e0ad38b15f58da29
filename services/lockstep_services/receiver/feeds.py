"""Sources on the bus or on Kafka: their messages, shared by all receivers or read by one at a time.

Where a stream of the bus keeps a subject, a message comes until its record is durable; else at most
once, to whichever receiver is there. Whether one does is looked at again and again.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from lockstep.bus import Bus, ForeignServer, ForeignServers, Mail, Mailbox
from lockstep.clock import Clock
from lockstep.connectors.nats import server_urls
from lockstep.control import Catalogue
from lockstep.events import LockstepError
from lockstep.frame import Tasks
from lockstep.secrets import Hidden, Vault
from lockstep.siddhiql.secrets import secret_names, with_secrets
from lockstep.sources import Place
from lockstep.store import Cursors
from lockstep_services.receiver.carried import CarriedMailbox, SourceSetupError, carrier_of
from lockstep_services.receiver.changes import ChangeSources
from lockstep_services.receiver.cursors import note_of
from lockstep_services.receiver.discreet import DiscreetMailbox, discreet
from lockstep_services.receiver.gate import Gate
from lockstep_services.receiver.health import SourceHealth
from lockstep_services.receiver.kafka import KafkaMailbox
from lockstep_services.receiver.leases import ReaderLeases
from lockstep_services.receiver.messages import BusMessage, Transfer
from lockstep_services.receiver.sources import Source, SourceBook

READ_WAIT_MS: Final = 1_000
MAX_MESSAGES: Final = 256
PAUSE_MS: Final = 200
HELD_WAIT_MS: Final = 1_000
LOOK_AGAIN_MS: Final = 30_000
"""After so long a source's mailbox is opened anew, in case a stream keeps its subject now."""


class SourceFeeds:
    """Starts and stops a task per source as the catalogue changes."""

    def __init__(
        self,
        bus: Bus,
        catalogue: Catalogue,
        book: SourceBook,
        take: Transfer,
        gate: Gate,
        tasks: Tasks,
        clock: Clock,
        leases: ReaderLeases,
        vault: Vault,
        health: SourceHealth,
        sources_host: str = "127.0.0.1",
        sources_tls: ssl.SSLContext | None = None,
        changes: ChangeSources | None = None,
        cursors: Cursors | None = None,
        *,
        foreign: ForeignServers,
    ) -> None:
        self._bus = bus
        self._foreign = foreign
        self._catalogue = catalogue
        self._book = book
        self._take = take
        self._gate = gate
        self._tasks = tasks
        self._clock = clock
        self._leases = leases
        self._vault = vault
        self._health = health
        health.feeds = self
        self._sources_host = sources_host
        self._sources_tls = sources_tls
        self._changes = changes
        self._cursors = cursors
        self._running: dict[str, tuple[Source, bytes]] = {}
        self._under_way: set[asyncio.Future[None]] = set()

    async def run(self) -> None:
        """Until cancelled."""
        await self._catalogue.follow(self.follow_catalogue)

    async def follow_catalogue(self) -> None:
        """Brings the tasks in line with what is deployed now."""
        wanted = {each.name: (each, self._stamp(each)) for each in self._book.all() if each.is_read}
        for name, running in list(self._running.items()):
            if wanted.get(name) != running:
                await self._end(name, then=wanted.get(name, (None, b""))[0])
        for name, (source, _) in wanted.items():
            if name not in self._running:
                self._running[name] = wanted[name]
                if source.is_cdc and self._changes is not None:
                    # Whoever reads it: what the database keeps for it has to go at its end.
                    with contextlib.suppress(LockstepError):
                        await self._open(source)
                self._tasks.supervise(f"source-{name}", partial(self._feed, source))

    def _stamp(self, source: Source) -> bytes:
        """What makes a source another one, beside its text."""
        secrets = self._vault.stamp(source.app, secret_names(source.annotation))
        return secrets if self._changes is None else secrets + self._changes.stamp(source)

    def troubles(self, app: str) -> Mapping[str, str]:
        """Why streams of an app get nothing of a source now, by stream."""
        found = {
            source.stream: self._health.of(source).trouble
            for source, _ in self._running.values()
            if source.app == app
        }
        return {stream: trouble for stream, trouble in found.items() if trouble is not None}

    def reads(self, source: Source) -> bool:
        """Whether this receiver does, of several. Of one that cannot be read each says why."""
        with contextlib.suppress(SourceSetupError):
            if source.has_one_reader and not self._leases.held(source.name):
                return False
        return source.name in self._running

    async def stop(self) -> None:
        """Takes no more, and ends what it has begun."""
        await self._tasks.stop("sources")
        for name, (source, _) in list(self._running.items()):
            await self._end(name, then=source)
        await self._leases.stop()
        await asyncio.gather(*self._under_way, return_exceptions=True)

    async def _end(self, name: str, then: Source | None) -> None:
        """Another receiver may read on at once. `then`: what stands there from now on."""
        await self._tasks.stop(f"source-{name}")
        self._health.forget(self._running.pop(name)[0])
        changes = self._changes
        opened = None if changes is None else changes.ended(name)
        if changes is None or opened is None or changes.goes_on(opened, then):
            await self._leases.let_go(name)
            return

        def is_wanted() -> bool:
            now = (each for each in self._book.all() if each.name == name)
            return changes.goes_on(opened, next(now, None))

        self._leases.end(name, is_wanted, partial(changes.forget, name, opened))

    async def _feed(self, source: Source) -> None:
        try:
            await self._feed_while_held(source)
        except LockstepError as error:
            condition = self._health.of(source)
            (condition.retries if error.retryable else condition.fails)(str(error))
            raise

    async def _feed_while_held(self, source: Source) -> None:
        keeper = await self._leases.keep(source.name) if source.has_one_reader else None

        def may() -> bool:
            return (keeper is None or keeper.held) and not self._health.is_paused(source)

        while True:
            if keeper is not None and not await keeper.wait_held(HELD_WAIT_MS):
                continue
            if self._health.is_paused(source):
                self._health.of(source).is_paused()
                await self._clock.sleep_ms(PAUSE_MS)
                continue
            self._health.of(source).goes_on()
            await self._read(source, may)

    async def _read(self, source: Source, may: Callable[[], bool]) -> None:
        """As long as it may: what it began before, it ends."""
        mailbox = await self._open(source)
        try:
            while may():
                look_again_ms = self._clock.monotonic_ms() + LOOK_AGAIN_MS
                while may() and (
                    source.subject is None or self._clock.monotonic_ms() < look_again_ms
                ):
                    if self._gate.is_closed(source.app):
                        await self._clock.sleep_ms(PAUSE_MS)
                        continue
                    found = await mailbox.read(max_messages=MAX_MESSAGES, wait_ms=READ_WAIT_MS)
                    self._health.of(source).runs()
                    await self._transfer(source, found)
                if source.subject is not None and may():
                    # The next one listens before this one stops.
                    before, mailbox = mailbox, await self._open(source)
                    await self._close(source, before)
        finally:
            await self._close(source, mailbox)

    async def _open(self, source: Source) -> Mailbox:
        values: list[str] = []

        def value(name: str) -> str:
            values.append(self._vault.value(source.app, name))
            return values[-1]

        filled = with_secrets(source.annotation, value)
        hidden = Hidden(values)
        with discreet(hidden):
            mailbox = await self._opened(replace(source, annotation=filled), source)
        return DiscreetMailbox(mailbox, hidden) if values else mailbox

    async def _opened(self, source: Source, written: Source) -> Mailbox:
        kafka = source.kafka
        if kafka is not None:
            return KafkaMailbox(kafka, self._clock)
        if source.is_cdc and self._changes is not None:
            return self._changes.open(source, written)
        carrier = None if source.subject is not None else carrier_of(source.kind)
        if carrier is not None:
            place = Place(
                source.app, source.stream, source.number, self._sources_host, self._clock,
                self._sources_tls, note_of(self._cursors, self._catalogue, source),
            )  # fmt: skip
            return CarriedMailbox(carrier, source.options, place)
        pattern, options = source.subject or "", source.options
        server = ForeignServer.of(server_urls(options), options) if source.kind == "nats" else None
        if server is None:
            return await self._bus.mailbox(pattern, source.mailbox)
        queue = options.get("queue.group.name", "")
        return await self._foreign.mailbox(server, pattern, source.mailbox, queue)

    async def _transfer(self, source: Source, found: Sequence[Mail]) -> None:
        if found:
            await self._ended(self._take.all(_messages(source, found)))

    async def _close(self, source: Source, mailbox: Mailbox) -> None:
        """Takes what had come and cannot be given back."""

        async def left() -> None:
            await self._take.all(_messages(source, await mailbox.close()))

        await self._ended(left())

    async def _ended(self, work: Coroutine[None, None, None]) -> None:
        """What has been begun is not given up when this task is cancelled, however often."""
        begun = asyncio.ensure_future(work)
        self._under_way.add(begun)
        begun.add_done_callback(self._under_way.discard)
        await asyncio.shield(begun)


def _messages(source: Source, found: Sequence[Mail]) -> list[BusMessage]:
    return [
        BusMessage(
            source.app,
            source.stream,
            mail.payload,
            mail.headers,
            None if mail.id is None else f"{source.name}/{mail.id}",
            mail.acknowledge,
            source.number,
            mail.refused,
        )
        for mail in found
    ]
