"""Sends that are repeated after the carrier has forgotten their ids: folded once all the same."""

from __future__ import annotations

from typing import Any

from lockstep.bus.subjects import ID_HEADER
from lockstep.events import EventsRecord
from tests.integration.services.cluster import Cluster, until
from tests.integration.services.conftest import Start

NODES = ("coordinator", "processor-1", "processor-2", "receiver")
FORGETFUL = {"LOCKSTEP_RECEIVER__DEDUP_WINDOW_MS": "200"}
TEXT = "@app:name('{name}') define stream In (v int); from In select v insert into Out;"


async def records(cluster: Cluster, app: str) -> int:
    """How many records with events stand in the input log."""
    return sum(isinstance(each.record, EventsRecord) for each in await cluster.taken_in(app))


async def test_a_key_that_comes_again_after_the_window_is_folded_once(cluster_of: Start) -> None:
    """The log holds it twice, nobody sees it twice: also not behind a revision and a crash."""
    async with cluster_of(*NODES, **FORGETFUL) as cluster:
        app = await cluster.deploy(TEXT.format(name="SentAgain"), replicas=2)
        key = {"Idempotency-Key": "k1"}
        await cluster.send(app, "In", {"v": 1}, **key)

        async def appended_again() -> Any:
            return not (await cluster.send(app, "In", {"v": 1}, **key))["duplicate"]

        await until(appended_again, "the carrier has forgotten the key")
        await cluster.snapshot(app)
        await cluster.crash(await cluster.active(app))
        await until(appended_again, "the carrier has forgotten the key again")
        await cluster.send(app, "In", {"v": 2})
        rows = await cluster.published_count(app, 2)
        assert [row.data for row in rows] == [(1,), (2,)]


async def test_an_ingress_message_held_longer_than_the_window_is_folded_once(
    cluster_of: Start,
) -> None:
    """Delivered to a receiver again when its id is forgotten, as after a crash of all receivers."""
    async with cluster_of(*NODES, **FORGETFUL) as cluster:
        app = await cluster.deploy(TEXT.format(name="SentHeld"), replicas=2)
        ingress, id_header = cluster.watcher.bus.ingress, {ID_HEADER: "m1"}

        async def appended_twice() -> Any:
            await ingress.publish(app, "In", b'{"v": 1}', headers=id_header)
            return await records(cluster, app) >= 2

        await until(appended_twice, "the message stands in the log twice")
        await ingress.publish(app, "In", b'{"v": 2}')
        rows = await cluster.published_count(app, 2)
        assert [row.data for row in rows] == [(1,), (2,)]
