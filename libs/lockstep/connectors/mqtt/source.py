"""@source(type='mqtt'): with quality 1 and 2 a message is acknowledged when it is in the log.

A session that the broker keeps (`clean.session='false'` with a `client.id`) gives what came while
nobody listened. MQTT numbers messages anew in each session. So a message that comes again is known
by its identity alone, which MQTT 5 can carry; without one it counts twice.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from lockstep.connectors.mqtt.five import REFUSED, identity_property, received, told
from lockstep.connectors.mqtt.session import Session
from lockstep.siddhiql.parts import parts
from lockstep.sources import Inbox, Place, Received, Source

DRAIN_S: Final = 0.05
SUBSCRIBED_S: Final = 5.0
"""For so long a source waits for the answer to its subscription before it reads on."""


class MqttSource(Source):
    """Options: `url`, `topic` (several with commas), `quality.of.service` (1),
    `protocol.version` (3.1.1) …"""

    def __init__(self, options: Mapping[str, str], place: Place) -> None:
        self._options = options
        self._keeps = options.get("clean.session", "true").lower() == "false"
        self._quality = int(options.get("quality.of.service", "1"))
        self._identity = identity_property(options)
        self._session: Session | None = None
        self._inbox = Inbox()

    async def read(self, *, max_messages: int, wait_ms: int) -> Sequence[Received]:
        if self._session is None:
            await self._open()
        return await self._inbox.take(max_messages, wait_ms)

    async def _open(self) -> None:
        session = self._session = Session(self._options, manual_ack=True, keeps=self._keeps)
        loop = asyncio.get_running_loop()
        subscribed: asyncio.Future[str] = loop.create_future()

        def on_message(_c: Any, _u: Any, message: Any) -> None:
            # A full inbox holds the client's thread, so the broker waits.
            put = self._inbox.put(self._received(session, message))
            asyncio.run_coroutine_threadsafe(put, loop).result()

        def on_subscribe(_c: Any, _u: Any, _m: int, reasons: Sequence[Any], more: Any) -> None:
            refused = [told(one, more) for one in reasons if one.value >= REFUSED]
            loop.call_soon_threadsafe(subscribed.set_result, ", ".join(refused))

        session.client.on_message, session.client.on_subscribe = on_message, on_subscribe
        await session.connect(self._lost)
        topics = [(topic, self._quality) for topic in parts(self._options["topic"])]
        code, _ = session.client.subscribe(topics)
        if code:
            raise OSError(f"the broker is away: {code}")
        refused = ""
        with contextlib.suppress(TimeoutError):  # what was kept for us may come first
            refused = await asyncio.wait_for(asyncio.shield(subscribed), SUBSCRIBED_S)
        if refused:
            raise OSError(f"the broker refuses the subscription: {refused}")

    def _received(self, session: Session, message: Any) -> Received:
        mid, quality = message.mid, message.qos

        async def acknowledge() -> None:
            if session is self._session:
                session.client.ack(mid, quality)

        properties = received(getattr(message, "properties", None))
        identity = properties.get(self._identity)
        properties["topic"] = message.topic
        return Received(message.payload, properties, identity, acknowledge)

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
            with contextlib.suppress(OSError):  # why the connection was lost has been told
                left += await self._inbox.take(len(left) + 1_024, 0)
        # Unacknowledged messages come again where the broker keeps the session.
        return () if self._quality and self._keeps else left
