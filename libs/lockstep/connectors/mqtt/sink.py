"""@sink(type='mqtt'): a message counts as delivered when the broker has acknowledged it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from lockstep.connectors.mqtt.session import Session
from lockstep.sinks import Message, MessageRefusedError, Sink

TIMEOUT_S: Final = 10.0


class MqttSink(Sink):
    """Options: `url`, `topic`, `quality.of.service` (1), `message.retain` (false) …"""

    in_flight: ClassVar[int] = 16

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options
        self._keeps = options.get("clean.session", "true").lower() == "false"
        self._session: Session | None = None
        self._opening = asyncio.Lock()
        self._waiting: dict[int, asyncio.Future[None]] = {}

    async def send(self, message: Message) -> None:
        topic = message.fill(self._options["topic"])
        quality = message.fill(self._options.get("quality.of.service", "1")).strip()
        if not topic or {"+", "#"} & set(topic) or quality not in ("0", "1", "2"):
            raise MessageRefusedError(f"topic {topic[:200]!r}, quality of service {quality!r}")
        retain = message.fill(self._options.get("message.retain", "false")).lower() == "true"
        session = await self._opened()
        acknowledged: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        info = session.client.publish(topic, message.payload, int(quality), retain)
        if info.rc:
            await self.close()
            raise OSError(f"the broker is away: {info.rc}")
        if info.is_published():
            return
        self._waiting[info.mid] = acknowledged
        try:
            async with asyncio.timeout(TIMEOUT_S):
                if not info.is_published():
                    await acknowledged
        finally:
            self._waiting.pop(info.mid, None)

    async def _opened(self) -> Session:
        async with self._opening:
            if self._session is None:
                session = Session(self._options, manual_ack=False, keeps=self._keeps)
                loop = asyncio.get_running_loop()

                def on_publish(_c: Any, _u: Any, mid: int, _r: Any, _p: Any) -> None:
                    loop.call_soon_threadsafe(self._acknowledged, mid)

                session.client.on_publish = on_publish
                await session.connect(self._lost)
                self._session = session
            return self._session

    def _acknowledged(self, mid: int) -> None:
        waiting = self._waiting.get(mid)
        if waiting is not None and not waiting.done():
            waiting.set_result(None)

    async def _lost(self, reason: str) -> None:
        self._session = None
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(OSError(f"the connection to the broker is lost: {reason}"))

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()
