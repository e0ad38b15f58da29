"""The client: takes events, gathers them into batches, has them delivered, answers for each."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Self

import aiohttp

from lockstep.client.batches import Batch, Item, Waiting, encoded, line_of
from lockstep.client.delivery import Delivery
from lockstep.client.doors import Doors, Mode
from lockstep.client.errors import HeaderError, UndeliveredError, checked
from lockstep.client.limits import Limits
from lockstep.client.posting import Answer, Poster
from lockstep.client.receipts import Receipt
from lockstep.clock import Clock, Randomness, SystemClock, SystemRandomness
from lockstep.events import LockstepError, UnavailableError
from lockstep.tls import TlsFiles, calling

KEPT_ERRORS: Final = 20
Event = Mapping[str, Any] | Sequence[Any]
"""By attribute name, or the values in the stream's order."""


class EventClient:
    """Sends events of one app to one or more receivers; `async with`.

    What is handed over is in the app once and in order, whatever is retried. Leaving the block
    waits until everything is durable; UndeliveredError if something was not accepted. HeaderError
    for a token with a line end in it, LimitError for an address that no receiver can have.
    """

    def __init__(
        self,
        receivers: Sequence[str],
        app: str,
        *,
        mode: Mode | str = Mode.ANY,
        token: str | None = None,
        tls: TlsFiles | None = None,
        limits: Limits | None = None,
        clock: Clock | None = None,
        randomness: Randomness | None = None,
    ) -> None:
        self._limits = limits or Limits()
        self._mode = Mode(mode)
        self._app = app
        self._clock = clock or SystemClock()
        self._doors = Doors(receivers, self._mode, avoid_failed_ms=self._limits.avoid_failed_ms)
        self._token = checked(token, "token")
        self._tls = tls or TlsFiles()
        self._randomness = randomness or SystemRandomness()
        self._name = self._randomness.uuid_hex()
        self._batches = 0
        self._waiting = Waiting(self._limits)
        self._pending_events = self._pending_bytes = 0
        self._taken = self._settled = 0
        self._turn = asyncio.Lock()
        self._arrived = asyncio.Event()
        self._hurry = asyncio.Event()
        self._changed = asyncio.Condition()
        self._failed = 0
        self._errors: list[LockstepError] = []
        self._worker: asyncio.Task[None] | None = None
        self._is_open = False
        self._sending: Batch | None = None
        self._open = contextlib.AsyncExitStack()

    async def __aenter__(self) -> Self:
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        timeout = aiohttp.ClientTimeout(total=self._limits.request_timeout_ms / 1000)
        connector = aiohttp.TCPConnector(ssl=calling(self._tls) or True)
        session = aiohttp.ClientSession(headers=headers, timeout=timeout, connector=connector)
        await self._open.enter_async_context(session)
        poster = Poster(session, self._app)
        delivery = Delivery(
            poster, self._doors, self._mode, self._limits, self._clock, self._randomness
        )
        self._open.push_async_callback(delivery.close)
        self._is_open = True
        self._worker = asyncio.get_running_loop().create_task(self._work(delivery))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                await self.flush()
            elif isinstance(error, Exception):
                # The error that is under way says more than one about its events.
                try:
                    await self.flush()
                except UndeliveredError as undelivered:
                    error.add_note(str(undelivered))
        finally:
            if self._worker is not None:
                self._worker.cancel()
                await asyncio.wait([self._worker])
            await self._open.aclose()

    async def put(
        self, stream: str, event: Event, *, timestamp_ms: int | None = None
    ) -> asyncio.Future[Receipt]:
        """Hands an event over; waits while too much is on its way. The future ends with the
        receipt, or with EventRefusedError, NotAcceptedError or UnavailableError; what nobody
        awaits comes out of `flush`. UnwritableEventError when JSON cannot say it.
        """
        return await self._add(line_of(stream, event, timestamp_ms), 1, watched=False)

    async def send(self, stream: str, event: Event, *, timestamp_ms: int | None = None) -> Receipt:
        """As `put`; returns when the event is durable, raises what became of it otherwise."""
        done = await self._add(line_of(stream, event, timestamp_ms), 1, watched=True)
        self._hurry.set()
        return await done

    async def send_chunk(
        self, stream: str, events: Sequence[Event], *, key: str | None = None
    ) -> Receipt:
        """Events that arrive together (one chunk). A `key` of the caller's own, the same after a
        restart of the program, makes sending them again harmless; HeaderError when it is empty, or
        has a line end in it.
        """
        key = checked(key, "key")
        if key == "":
            raise HeaderError("the key is empty: leave it out, or give one per chunk")
        body = encoded(list(events), stream)
        done = await self._add(body, len(events), watched=True, chunk_of=stream, key=key)
        return await done

    async def flush(self) -> None:
        """Returns when all is settled that was handed over before; UndeliveredError for what `put`
        took in vain."""
        self._hurry.set()
        last = self._taken
        async with self._changed:
            await self._changed.wait_for(lambda: self._settled >= last)
        if self._failed:
            failed, errors = self._failed, self._errors
            self._failed, self._errors = 0, []
            raise UndeliveredError(failed, errors)

    async def _add(
        self,
        body: bytes,
        events: int,
        *,
        watched: bool,
        chunk_of: str | None = None,
        key: str | None = None,
    ) -> asyncio.Future[Receipt]:
        if not self._is_open:
            raise UnavailableError("the client is not open", hint="async with EventClient(…) as …")
        done: asyncio.Future[Receipt] = asyncio.get_running_loop().create_future()
        done.add_done_callback(_looked_at)
        item = Item(body, events, done, watched, chunk_of, key)
        # In turn: what is small would else always be quicker than what needs much room.
        async with self._turn, self._changed:
            await self._changed.wait_for(lambda: not self._is_open or self._has_room(item))
            if not self._is_open:
                raise UnavailableError("the client was closed while this waited for room")
            self._pending_events += events
            self._pending_bytes += len(body)
            self._taken += 1
            self._waiting.add(item)
        self._arrived.set()
        if self._waiting.is_due:
            self._hurry.set()
        return done

    def _has_room(self, item: Item) -> bool:
        """A single item over the limits passes when nothing else is on its way."""
        limits = self._limits
        return self._pending_events == 0 or (
            self._pending_events + item.events <= limits.pending_events
            and self._pending_bytes + len(item.body) <= limits.pending_bytes
        )

    async def _work(self, delivery: Delivery) -> None:
        try:
            while True:
                await self._gather()
                batch = self._sending = self._next_batch()
                try:
                    answer = await delivery.deliver(batch)
                except LockstepError as error:
                    self._settle(batch, dict.fromkeys(range(len(batch.items)), error), None)
                else:
                    self._settle(batch, answer.refused, answer)
                self._sending = None
                async with self._changed:
                    self._pending_events -= sum(item.events for item in batch.items)
                    self._pending_bytes -= sum(len(item.body) for item in batch.items)
                    self._settled += len(batch.items)
                    self._changed.notify_all()
        finally:
            await self._abandon()

    async def _gather(self) -> None:
        """Until something waits, and then until a batch is full, old enough or asked for."""
        while not len(self._waiting):
            self._arrived.clear()
            await self._arrived.wait()
        if not self._waiting.is_due and not self._hurry.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._limits.batch_wait_ms / 1000):
                    await self._hurry.wait()

    def _next_batch(self) -> Batch:
        items = self._waiting.take()
        if not len(self._waiting):
            self._hurry.clear()
        self._batches += 1
        return Batch(items, items[0].key or f"{self._name}-{self._batches}")

    def _settle(
        self, batch: Batch, errors: Mapping[int, LockstepError], answer: Answer | None
    ) -> None:
        for index, item in enumerate(batch.items):
            error = errors.get(index)
            if error is None and answer is not None and answer.receipt is not None:
                if not item.done.done():
                    item.done.set_result(answer.receipt)
                continue
            self._fail(item, error or UnavailableError("the receiver's answer leaves it out"))

    def _fail(self, item: Item, error: LockstepError) -> None:
        if not item.watched:
            self._failed += item.events
            if len(self._errors) < KEPT_ERRORS:
                self._errors.append(error)
        if not item.done.done():
            item.done.set_exception(error)

    async def _abandon(self) -> None:
        """The client closes: what still waits is not sent, and whoever waits for it hears so. As
        does who waits for room, or until nothing is on its way."""
        self._is_open = False
        for item in () if self._sending is None else self._sending.items:
            self._fail(item, UnavailableError("the client was closed before it was answered"))
        while len(self._waiting):
            for item in self._waiting.take():
                self._fail(item, UnavailableError("the client was closed before it was sent"))
        async with self._changed:
            self._pending_events = self._pending_bytes = 0
            self._settled = self._taken
            self._changed.notify_all()


def _looked_at(done: asyncio.Future[Receipt]) -> None:
    """Nobody has to await what `put` gives: `flush` tells."""
    if not done.cancelled():
        done.exception()
