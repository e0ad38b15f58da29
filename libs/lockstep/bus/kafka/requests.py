"""Questions over a topic that all responders read; answers over one of which each asker reads one
partition."""

from __future__ import annotations

import asyncio
import itertools
import zlib
from collections.abc import Awaitable, Callable
from typing import Final

from lockstep.bus.contract import Subscription
from lockstep.bus.kafka.broker import live_config
from lockstep.bus.kafka.ledger import World
from lockstep.bus.kafka.live import Feed, Live, Message
from lockstep.bus.kafka.names import topic_of
from lockstep.bus.kafka.sending import FRAME_BYTES, MAX_REQUEST_BYTES
from lockstep.bus.kafka.window import Raw
from lockstep.bus.losses import Losses
from lockstep.bus.subscriptions import QueuedSubscription
from lockstep.events import LockstepError, UnavailableError
from lockstep.telemetry import get_logger

Handler = Callable[[bytes], Awaitable[bytes]]

_ANSWERS: Final = "live.answers"
_QUESTIONS: Final = "live.questions"
_PARTITIONS: Final = 8
MAX_ANSWER_BYTES: Final = MAX_REQUEST_BYTES - FRAME_BYTES


class Requests:
    """One side or both."""

    def __init__(self, world: World) -> None:
        self._world = world
        connection = world.broker.connection
        self._live = Live(world, _QUESTIONS)
        self._answers = topic_of(connection.address.prefix, _ANSWERS)
        self._partition = zlib.crc32(world.writer) % _PARTITIONS
        self._feed = Feed(world, self._answers, self._heard, self._partition)
        self._numbers = itertools.count()
        self._waiting: dict[bytes, asyncio.Future[bytes]] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self._room = asyncio.Semaphore(connection.limits.max_concurrent_responses)
        self._limit_messages = connection.limits.subscription_queue_messages
        self._losses = Losses(world.clock)
        self._log = get_logger()

    async def make(self) -> None:
        """The topics are there when this returns."""
        broker = self._world.broker
        config = live_config(broker.connection.limits)
        await self._live.make()
        await broker.ensure(self._answers, config, partitions=_PARTITIONS)

    async def request(self, subject: str, payload: bytes, *, timeout_ms: int) -> bytes:
        """See the contract."""
        key = b"%s.%d" % (self._world.writer, next(self._numbers))
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting[key] = answer
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await self._feed.open()
                reply = b"%d/%s" % (self._partition, key)
                self._live.send(subject, payload, None, reply)
                return await answer
        except TimeoutError as error:
            raise UnavailableError(f"no answer within {timeout_ms} ms", where=subject) from error
        finally:
            del self._waiting[key]

    async def respond(self, subject: str, handler: Handler, *, queue: str | None) -> Subscription:
        """See the contract. Without a queue every responder hears the question."""

        def asked(message: Message) -> None:
            if len(self._answering) >= self._limit_messages:
                self._losses.lost(subject, "too many questions wait")
                return
            self._losses.passed()
            task = asyncio.get_running_loop().create_task(self._answer(message, handler))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)

        if queue is None:
            leave = await self._live.listen(subject, asked)

            async def forget() -> None:
                await self._live.feed.pass_end()
                leave()
        else:
            go = await self._live.share(subject, queue, asked)

            async def forget() -> None:
                await self._live.feed.pass_end()
                await go()

        return QueuedSubscription(1, forget)

    async def close(self) -> None:
        """Neither asks nor answers any more."""
        for task in self._answering:
            task.cancel()
        await self._live.close()
        await self._feed.close()

    def _heard(self, raws: list[Raw]) -> None:
        for raw in raws:
            answer = self._waiting.get(raw.key)
            if answer is not None and not answer.done():
                answer.set_result(raw.value)

    async def _answer(self, message: Message, handler: Handler) -> None:
        partition, _, key = message.reply.partition(b"/")
        try:
            async with self._room:
                answer = await handler(message.payload)
            if key:
                await self._world.broker.connection.send(
                    self._answers, answer, where=message.subject, key=key, partition=int(partition)
                )
        except LockstepError as error:
            self._log.warning("a request got no answer", subject=message.subject, error=str(error))
