"""MQTT source and sink against a broker of its own process."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from lockstep.clock import SystemClock
from lockstep.sources import Place
from lockstep.testing.connectors import play_sink, play_source
from tests.contract.connectors.brokers import Broker, free_port

PLACE = Place("App", "In", 0, "127.0.0.1", SystemClock())

try:
    import amqtt  # noqa: F401

    from lockstep.connectors.mqtt.sink import MqttSink
    from lockstep.connectors.mqtt.source import MqttSource
except ImportError:
    HAS_MQTT = False
else:
    HAS_MQTT = True


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    """One that keeps nothing beyond its life."""
    if not HAS_MQTT:
        pytest.skip("paho-mqtt and amqtt are not installed")
    port = free_port()
    (tmp_path / "amqtt.yaml").write_text(
        f"listeners:\n  default:\n    type: tcp\n    bind: 127.0.0.1:{port}\n"
        "plugins:\n  amqtt.plugins.authentication.AnonymousAuthPlugin:\n    allow_anonymous: true\n"
    )
    command = [str(Path(sys.executable).parent / "amqtt"), "-c", str(tmp_path / "amqtt.yaml")]
    made = Broker(command, {}, [port])
    yield made
    await made.stop()


class Listener:
    """A subscriber of ours beside the broker; it keeps what it heard."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.got: list[bytes] = []
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        await self._broker.start()
        ready = asyncio.Event()
        self._task = asyncio.create_task(self._listen(ready))
        await ready.wait()

    async def stop(self) -> None:
        # The broker keeps what it has acknowledged in memory alone: let it pass that on.
        before = -1
        while before != len(self.got):
            before = len(self.got)
            await asyncio.sleep(0.3)
        if self._task is not None:
            self._task.cancel()
        await self._broker.stop()

    async def received(self) -> Sequence[bytes]:
        return self.got

    async def _listen(self, ready: asyncio.Event) -> None:
        url = f"tcp://127.0.0.1:{self._broker.ports[0]}"
        source = MqttSource({"url": url, "topic": "out/#"}, PLACE)
        while True:
            for each in await source.read(max_messages=10, wait_ms=100):
                self.got.append(each.payload)
                await each.acknowledge()
            ready.set()


class Publisher:
    """Publishes with our sink; the broker's death is its own."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._sink: MqttSink | None = None

    async def start(self) -> None:
        await self._broker.start()
        url = f"tcp://127.0.0.1:{self._broker.ports[0]}"
        self._sink = MqttSink({"url": url, "topic": "in/a"})

    async def stop(self) -> None:
        if self._sink is not None:
            await self._sink.close()
        await self._broker.stop()

    async def send(self, payload: bytes) -> None:
        from lockstep.testing.connectors import message

        assert self._sink is not None
        await self._sink.send(message(0, payload=payload))


async def test_a_sink_delivers_at_least_once_over_the_brokers_death(broker: Broker) -> None:
    """In order; what the broker had not acknowledged is sent again."""
    url = f"tcp://127.0.0.1:{broker.ports[0]}"
    far = Listener(broker)
    # Kept for whoever listens late: the broker is there a moment before our listener is.
    options = {"url": url, "topic": "out/{{n}}", "message.retain": "true"}
    tally = await play_sink(lambda: MqttSink(options), far)
    await far.stop()
    assert (tally.lost, tally.reordered) == (0, 0)


async def test_a_kept_session_gives_again_what_was_not_acknowledged(broker: Broker) -> None:
    """With quality 1 nothing is lost when we die; MQTT has no identity across sessions."""
    url = f"tcp://127.0.0.1:{broker.ports[0]}"
    options = {"url": url, "topic": "in/#", "client.id": "kit", "clean.session": "false"}
    far = Publisher(broker)
    tally = await play_source(lambda: MqttSource(options, PLACE), far)
    await far.stop()
    assert (tally.lost, tally.reordered) == (0, 0)
    assert not tally.identified
