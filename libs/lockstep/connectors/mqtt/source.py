"""@source(type='mqtt'): with quality 1 and 2 a message is acknowledged when it is in the log.

A session that the broker keeps (`clean.session='false'` with a `client.id`) gives what came while
nobody listened. MQTT numbers messages anew in each session, so one that comes again counts twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from lockstep.connectors.mqtt.session import Session
from lockstep.siddhiql.parts import parts
from lockstep.sources import Inbox, Place, Received, Source

DRAIN_S = 0.05


class MqttSource(Source):
    """Options: `url`, `topic` (several with commas), `quality.of.service` (1) …"""

    def __init__(self, options: Mapping[str, str], place: Place) -> None:
        self._options = options
        self._keeps = options.get("clean.session", "true").lower() == "false"
        self._quality = int(options.get("quality.of.service", "1"))
        self._session: Session | None = None
        self._inbox = Inbox()

    async def read(self, *, max_messages: int, wait_ms: int) -> Sequence[Received]:
        if self._session is None:
            await self._open()
        return await self._inbox.take(max_messages, wait_ms)

    async def _open(self) -> None:
        session = self._session = Session(self._options, manual_ack=True, keeps=self._keeps)
        loop = asyncio.get_running_loop()

        def on_message(_c: Any, _u: Any, message: Any) -> None:
            # A full inbox holds the client's thread, so the broker waits.
            received = self._received(session, message)
            asyncio.run_coroutine_threadsafe(self._inbox.put(received), loop).result()

        session.client.on_message = on_message
        await session.connect(self._lost)
        topics = [(topic, self._quality) for topic in parts(self._options["topic"])]
        code, _ = session.client.subscribe(topics)
        if code:
            raise OSError(f"the broker refuses the subscription: {code}")

    def _received(self, session: Session, message: Any) -> Received:
        mid, quality = message.mid, message.qos

        async def acknowledge() -> None:
            if session is self._session:
                session.client.ack(mid, quality)

        return Received(message.payload, {"topic": message.topic}, None, acknowledge)

    async def _lost(self, reason: str) -> None:
        await self._inbox.fail(OSError(f"the connection to the broker is lost: {reason}"))

    async def close(self) -> Sequence[Received]:
        session, self._session = self._session, None
        if session is None:
            return ()
        closing = asyncio.ensure_future(session.close())
        left: list[Received] = []
        while not closing.done():
            await asyncio.wait([closing], timeout=DRAIN_S)
            left += await self._inbox.take(len(left) + 1_024, 0)
        # Unacknowledged messages come again where the broker keeps the session.
        return () if self._quality and self._keeps else left
