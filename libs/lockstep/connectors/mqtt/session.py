"""A session with an MQTT broker: the client's own thread, its calls brought to the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.reasoncodes import ReasonCode

from lockstep.connectors.endpoints import address_of
from lockstep.connectors.mqtt import PORTS
from lockstep.connectors.mqtt.five import REFUSED, Limits, connecting, is_five, told
from lockstep.connectors.tls import context_of

TIMEOUT_S: Final = 30.0


def broker(options: Mapping[str, str]) -> tuple[str, int]:
    """Its host and port. ValueError where the address is none."""
    return address_of("url", options["url"], PORTS)


class _Client(mqtt.Client):  # type: ignore[misc]
    """Its library goes on with a message of quality 2 that the broker has refused, and the broker
    ends the connection for that."""

    def _handle_pubrec(self) -> MQTTErrorCode:
        packet = self._in_packet["packet"]  # packet identifier, reason code, properties
        if len(packet) < 3 or packet[2] < REFUSED:
            return super()._handle_pubrec()
        reason = ReasonCode(PacketTypes.PUBREC, identifier=packet[2])
        with self._out_message_mutex:
            return self._do_on_publish(int.from_bytes(packet[:2], "big"), reason, None)


class Session:
    """`connected` ends when the broker has taken us; `lost` is told once. Errors: OSError."""

    def __init__(self, options: Mapping[str, str], *, manual_ack: bool, keeps: bool) -> None:
        self.host, self.port = broker(options)
        self.limits = Limits()
        is_new = is_five(options)
        self.client = _Client(
            CallbackAPIVersion.VERSION2,
            client_id=options.get("client.id", ""),
            clean_session=None if is_new else not keeps,
            protocol=mqtt.MQTTv5 if is_new else mqtt.MQTTv311,
            manual_ack=manual_ack,
            reconnect_on_failure=False,
        )
        if options.get("username"):
            self.client.username_pw_set(options["username"], options.get("password"))
        if urlsplit(options["url"]).scheme in ("ssl", "mqtts"):
            self.client.tls_set_context(context_of(options))
        self._timeout_s = float(options.get("connection.timeout", TIMEOUT_S))
        self._open = partial(
            self.client.connect, self.host, self.port, int(options.get("keep.alive", 60))
        )
        if is_new:
            self._open.keywords.update(
                clean_start=not keeps, properties=connecting(options, keeps=keeps)
            )

    async def connect(self, lost: Callable[[str], Coroutine[Any, Any, None]]) -> None:
        """Waits for the broker's answer."""
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[str] = loop.create_future()

        def on_connect(_c: Any, _u: Any, _f: Any, reason: Any, properties: Any) -> None:
            self.limits = Limits.of(properties)
            text = told(reason, properties) if reason.is_failure else ""
            loop.call_soon_threadsafe(_settle, answered, text)

        def on_disconnect(_c: Any, _u: Any, _f: Any, reason: Any, properties: Any) -> None:
            text = told(reason, properties)
            loop.call_soon_threadsafe(_settle, answered, text)
            asyncio.run_coroutine_threadsafe(lost(text), loop)

        self.client.on_connect, self.client.on_disconnect = on_connect, on_disconnect
        is_open = False
        try:
            await asyncio.to_thread(self._open)
            self.client.loop_start()
            async with asyncio.timeout(self._timeout_s):
                refused = await answered
            if refused:
                raise OSError(f"the broker at {self.host}:{self.port} refuses: {refused}")
            is_open = True
        finally:
            if not is_open:  # an answer that comes later would keep the connection
                await self.close()

    async def close(self) -> None:
        """Idempotent."""
        self.client.on_disconnect = None
        self.client.disconnect()
        await asyncio.to_thread(self.client.loop_stop)


def _settle(future: asyncio.Future[str], text: str) -> None:
    if not future.done():
        future.set_result(text)
