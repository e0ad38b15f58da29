"""An app that follows another one at the presenter's stream of events, while receivers die."""

from __future__ import annotations

import asyncio

from tests.integration.services.cluster import Cluster, send_once, until
from tests.integration.services.conftest import Start
from tests.integration.services.test_pausing import state, tell

NODES = ("coordinator", "processor-1", "receiver-1", "presenter")
FIRST = "@app:name('First') define stream In (n int); from In select n insert into Out;"
SECOND = """
@app:name('Second')
@source(type='sse', receiver.url='{url}', event.types='message', last.event.id='0.0',
        retry.interval='100', @map(type='json', @attributes(n='$.event.n', id='trp:id')))
define stream In (n int, id string);
from In select n, id insert into Out;
"""
WORDS = "@app:name('Words') define stream In (w string); from In select w insert into Out;"
SHORT = """
@app:name('Short')
@source(type='sse', receiver.url='{url}', event.types='message', last.event.id='0.0',
        max.event.bytes='1000', @map(type='json', @attributes(w='$.event.w')))
define stream In (w string);
from In select w insert into Out;
"""
SOURCE = "source:In.0.sse"


async def numbers(cluster: Cluster, app: str, count: int) -> list[int]:
    """Of so many rows; whatever comes twice is among them."""
    return [row.data[0] for row in await cluster.published_count(app, count)]


async def sent(cluster: Cluster, app: str, first: int, end: int) -> None:
    """Numbers, each in a request of its own; sent again under its key if a receiver dies."""
    for number in range(first, end):
        await send_once(cluster, app, "In", [[number]], key=f"number-{number}")


async def test_rows_at_the_presenter_are_events_of_another_app_each_once(
    cluster_of: Start,
) -> None:
    """Over a receiver's death, a pause, and a presenter's end; nothing is lost or comes twice."""
    async with cluster_of(*NODES) as cluster:
        first = await cluster.deploy(FIRST)
        await sent(cluster, first, 0, 5)
        url = f"{cluster.url('presenter')}/v1/apps/First/streams/Out/sse"
        second = await cluster.deploy(SECOND.format(url=url))
        await state(cluster, second, SOURCE, "running")
        await sent(cluster, first, 5, 10)
        assert await numbers(cluster, second, 10) == list(range(10))

        await cluster.start("receiver-2")
        sending = asyncio.create_task(sent(cluster, first, 10, 60))
        await numbers(cluster, second, 20)
        await cluster.crash("receiver-1")
        await sending
        assert await numbers(cluster, second, 60) == list(range(60))

        await tell(cluster, second, f"/{SOURCE}/pause", why="later")
        await state(cluster, second, SOURCE, "paused")
        await sent(cluster, first, 60, 70)
        await tell(cluster, second, f"/{SOURCE}/resume")
        assert await numbers(cluster, second, 70) == list(range(70))

        await cluster.stop("presenter")
        troubled = await state(cluster, second, SOURCE, "retrying")
        assert "/streams/Out/sse" in troubled["reason"], troubled
        await sent(cluster, first, 70, 75)
        port = url.split("/")[2].split(":")[1]
        await cluster.start("presenter", LOCKSTEP_SERVER__PORT=port)
        assert await numbers(cluster, second, 75) == list(range(75))
        assert await until(lambda: _noted(cluster, second), "a note of the last row")


async def test_an_event_that_is_too_large_becomes_a_dead_letter(cluster_of: Start) -> None:
    """The letter says why and shows its beginning; those behind it are taken."""
    async with cluster_of(*NODES) as cluster:
        first = await cluster.deploy(WORDS)
        url = f"{cluster.url('presenter')}/v1/apps/Words/streams/Out/sse"
        second = await cluster.deploy(SHORT.format(url=url))
        await state(cluster, second, SOURCE, "running")
        for word in ("one", "x" * 2_000, "two"):
            await cluster.send(first, "In", [[word]])
        rows = await cluster.published_count(second, 2)
        assert [row.data[0] for row in rows] == ["one", "two"]
        (letter,) = await cluster.watcher.bus.dead_letters.read(second)
        assert "the event has more than 1000 bytes: max.event.bytes" in letter.letter.reason
        assert b"x" * 500 in letter.letter.payload


async def _noted(cluster: Cluster, app: str) -> bool:
    """The source's place is that of its last row."""
    cursors = cluster.watcher.store.cursors
    last = (await cluster.published(app))[-1].data[1]
    names = [name for name in await cursors.names(app) if "source/In.0" in name]
    return any([last in await cursors.note(name) for name in names])
