"""A session with an MQTT broker: the client's own thread, its calls brought to the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion

from lockstep.connectors.tls import context_of

PORTS: Final = {"tcp": 1883, "mqtt": 1883, "ssl": 8883, "mqtts": 8883}
TIMEOUT_S: Final = 30.0


class Session:
    """`connected` ends when the broker has taken us; `lost` is told once. Errors: OSError."""

    def __init__(self, options: Mapping[str, str], *, manual_ack: bool, keeps: bool) -> None:
        parts = urlsplit(options["url"])
        self.host, self.port = parts.hostname or "", parts.port or PORTS[parts.scheme]
        self.client = mqtt.Client(
            CallbackAPIVersion.VERSION2,
            client_id=options.get("client.id", ""),
            clean_session=not keeps,
            protocol=mqtt.MQTTv311,
            manual_ack=manual_ack,
            reconnect_on_failure=False,
        )
        if options.get("username"):
            self.client.username_pw_set(options["username"], options.get("password"))
        if parts.scheme in ("ssl", "mqtts"):
            self.client.tls_set_context(context_of(options))
        self._keep_alive_s = int(options.get("keep.alive", 60))
        self._timeout_s = float(options.get("connection.timeout", TIMEOUT_S))

    async def connect(self, lost: Callable[[str], Coroutine[Any, Any, None]]) -> None:
        """Waits for the broker's answer."""
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[str] = loop.create_future()

        def on_connect(_c: Any, _u: Any, _f: Any, reason: Any, _p: Any) -> None:
            text = str(reason) if reason.is_failure else ""
            loop.call_soon_threadsafe(_settle, answered, text)

        def on_disconnect(_c: Any, _u: Any, _f: Any, reason: Any, _p: Any) -> None:
            loop.call_soon_threadsafe(_settle, answered, str(reason))
            asyncio.run_coroutine_threadsafe(lost(str(reason)), loop)

        self.client.on_connect, self.client.on_disconnect = on_connect, on_disconnect
        await asyncio.to_thread(self.client.connect, self.host, self.port, self._keep_alive_s)
        self.client.loop_start()
        async with asyncio.timeout(self._timeout_s):
            refused = await answered
        if refused:
            raise OSError(f"the broker at {self.host}:{self.port} refuses: {refused}")

    async def close(self) -> None:
        """Idempotent."""
        self.client.on_disconnect = None
        self.client.disconnect()
        await asyncio.to_thread(self.client.loop_stop)


def _settle(future: asyncio.Future[str], text: str) -> None:
    if not future.done():
        future.set_result(text)
