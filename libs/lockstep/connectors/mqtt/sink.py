"""@sink(type='mqtt'): a message counts as delivered when the broker has acknowledged it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Final

from lockstep.connectors.mqtt.five import FINAL, REFUSED, is_five, publishing, told
from lockstep.connectors.mqtt.session import Session, broker
from lockstep.sinks import Message, MessageRefusedError, Sink

TIMEOUT_S: Final = 10.0
MAX_TOPIC_BYTES: Final = 65_535


class MqttSink(Sink):
    """Options: `url`, `topic`, `quality.of.service` (1), `message.retain` (false),
    `protocol.version` (3.1.1) … With MQTT 5 each message bears its identity, and what the broker
    refuses for good is refused."""

    in_flight: ClassVar[int] = 16

    def __init__(self, options: Mapping[str, str]) -> None:
        broker(options)
        self._options = options
        self._keeps = options.get("clean.session", "true").lower() == "false"
        self._is_five = is_five(options)
        self._session: Session | None = None
        self._opening = asyncio.Lock()
        self._waiting: dict[int, asyncio.Future[None]] = {}

    async def send(self, message: Message) -> None:
        topic = message.fill(self._options["topic"])
        quality = message.fill(self._options.get("quality.of.service", "1")).strip()
        is_topic = 0 < len(topic.encode()) <= MAX_TOPIC_BYTES and not {"+", "#"} & set(topic)
        if not is_topic or quality not in ("0", "1", "2"):
            raise MessageRefusedError(f"topic {topic[:200]!r}, quality of service {quality!r}")
        retain = message.fill(self._options.get("message.retain", "false")).lower() == "true"
        properties = publishing(self._options, message) if self._is_five else None
        session = await self._opened()
        if properties is not None:
            session.limits.refuse(topic, message.payload, int(quality), properties, retain=retain)
        acknowledged: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        info = session.client.publish(topic, message.payload, int(quality), retain, properties)
        if info.rc:
            await self.close()
            raise OSError(f"the broker is away: {info.rc}")
        if quality == "0":
            return
        # Its thread tells the loop, so nothing is told before this task waits.
        self._waiting[info.mid] = acknowledged
        try:
            async with asyncio.timeout(TIMEOUT_S):
                await acknowledged
        finally:
            self._waiting.pop(info.mid, None)

    async def _opened(self) -> Session:
        async with self._opening:
            if self._session is None:
                try:
                    self._session = await self._connected()
                except ValueError as error:  # of what a secret holds, or the client alone knows
                    raise OSError(f"the client takes no such option: {error}") from error
            return self._session

    async def _connected(self) -> Session:
        session = Session(self._options, manual_ack=False, keeps=self._keeps)
        loop = asyncio.get_running_loop()

        def on_publish(_c: Any, _u: Any, mid: int, reason: Any, properties: Any) -> None:
            loop.call_soon_threadsafe(self._answered, mid, reason, properties)

        session.client.on_publish = on_publish
        await session.connect(partial(self._lost, session))
        return session

    def _answered(self, mid: int, reason: Any, properties: Any) -> None:
        waiting = self._waiting.get(mid)
        if waiting is None or waiting.done():
            return
        if reason.value < REFUSED:
            waiting.set_result(None)
            return
        kind = MessageRefusedError if reason.value in FINAL else OSError
        waiting.set_exception(kind(f"the broker refuses a message: {told(reason, properties)}"))

    async def _lost(self, session: Session, reason: str) -> None:
        if self._session is not session:  # another one has taken its place
            return
        self._session = None
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(OSError(f"the connection to the broker is lost: {reason}"))

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()
