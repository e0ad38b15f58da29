"""MQTT 5 through a whole suite: what comes again over deaths is known."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from tests.integration.services.cluster import until
from tests.integration.services.conftest import Start
from tests.integration.services.test_pausing import state

pytest.importorskip("paho.mqtt.client")
from tests.contract.connectors.mosquitto import Ear, Mosquitto, Voice

NODES = ("coordinator", "processor-1", "receiver-1", "publisher-1")
TEXT = """
@app:name('Rooms')
@source(type='mqtt', url='{url}', topic='in/#', protocol.version='5', client.id='rooms',
    clean.session='false', @map(type='json', @attributes(n='$.n', room='trp:topic')))
define stream In (n int, room string);
@sink(type='mqtt', url='{url}', topic='out/rooms', protocol.version='5', @map(type='json'))
define stream Out (n int, room string);
from In select n, room insert into Out;
"""


async def test_each_message_counts_once_over_deaths_and_repetitions(
    cluster_of: Start, tmp_path: Path
) -> None:
    """By its identity; the other side sees each row under one of its own."""
    broker = Mosquitto(tmp_path / "broker")
    ear, voice = Ear(broker, "out/#"), Voice(broker, "in/a")
    await voice.start()
    try:
        await ear.listen()
        async with cluster_of(*NODES) as cluster:
            app = await cluster.deploy(TEXT.format(url=broker.url))
            await state(cluster, app, "source:In.0.mqtt", "running")

            async def sent(first: int, end: int) -> None:
                for number in range(first, end):
                    await voice.send(b'{"n": %d}' % number)

            await sent(0, 20)
            await sent(10, 20)  # once more, by a sender that does not know better
            await cluster.start("receiver-2")
            await cluster.start("publisher-2")
            sending = asyncio.create_task(sent(20, 80))
            await cluster.published_count(app, 40)
            await cluster.crash("receiver-1")
            await cluster.crash("publisher-1")
            await sending
            rows = await cluster.published_count(app, 80)
            assert [row.data for row in rows] == [(number, "in/a") for number in range(80)]

            async def all_there() -> bool:
                return len({one.payload for one in ear.got}) == 80

            await until(all_there, "80 messages", seen=lambda: len(ear.got))
            assert len(await cluster.published(app)) == 80
        ids = {one.payload: one.id for one in ear.got}
        assert None not in ids.values()
        assert len(set(ids.values())) == 80
        assert all(ids[one.payload] == one.id for one in ear.got), Counter(ear.got).most_common(3)
    finally:
        await ear.stop()
        await voice.stop()
