"""Sends that are repeated after the carrier has forgotten their ids: folded once all the same."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
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


async def test_messages_that_come_again_in_other_company_are_folded_once(
    cluster_of: Start,
) -> None:
    """They shared records the first time, and share others the second time."""
    count = 200
    async with cluster_of(*NODES, **FORGETFUL) as cluster:
        app = await cluster.deploy(TEXT.format(name="SentTogether"), replicas=2)
        ingress = cluster.watcher.bus.ingress

        async def send(numbers: Sequence[int]) -> None:
            for number in numbers:
                body, given = f'{{"v": {number}}}'.encode(), {ID_HEADER: f"m{number}"}
                await ingress.publish(app, "In", body, headers=given)

        await asyncio.gather(*(send(range(lane, count, 8)) for lane in range(8)))
        first = await cluster.published_count(app, count)
        shared = await records(cluster, app)
        assert shared < count

        async def all_came_again() -> Any:
            await send([count - 1, 0])
            return await records(cluster, app) > shared

        await until(all_came_again, "the carrier has forgotten the messages")
        await cluster.crash(await cluster.active(app))
        lanes = (list(range(lane, count + 8, 8))[::-1] for lane in range(8))
        await asyncio.gather(*map(send, lanes))
        rows = await cluster.published_count(app, count + 8)
        await cluster.send(app, "In", {"v": -1})
        rows = await cluster.published_count(app, count + 9)
        assert rows[:count] == first
        assert sorted(row.data[0] for row in rows) == [-1, *range(count + 8)]


async def test_a_key_that_comes_for_another_stream_is_folded_for_that_too(
    cluster_of: Start,
) -> None:
    """Within the carrier's window, and behind it, where the processors know what was sent."""
    text = """@app:name('SentTwice') define stream In (v int); define stream Other (v int);
        from In select v insert into Out; from Other select v insert into Out;"""
    for window_ms in ("200", "120000"):
        async with cluster_of(
            *NODES, **{**FORGETFUL, "LOCKSTEP_RECEIVER__DEDUP_WINDOW_MS": window_ms}
        ) as cluster:
            app, key = await cluster.deploy(text, replicas=2), {"Idempotency-Key": "k1"}
            for stream, value in (("In", 1), ("Other", 2)):
                first = await cluster.send(app, stream, {"v": value}, **key)
                assert not first["duplicate"]
                again = await cluster.send(app, stream, {"v": value}, **key)
                assert again["duplicate"] or window_ms == "200"
                await asyncio.sleep(0.5)
            await cluster.send(app, "In", {"v": 3})
            rows = await cluster.published_count(app, 3)
            assert [row.data for row in rows] == [(1,), (2,), (3,)]


async def test_a_key_of_before_an_undeployment_is_of_a_send_that_the_new_state_lacks(
    cluster_of: Start,
) -> None:
    """Deployed with another text it begins empty: what comes again is taken, once. Deployed with
    the same text it goes on, and knows the send."""
    async with cluster_of(*NODES) as cluster:
        text, key = TEXT.format(name="SentAnew"), {"Idempotency-Key": "k1"}
        app = await cluster.deploy(text, replicas=2)
        sent = [await cluster.send(app, "In", {"v": 1}, **key)]
        for again in (text, text.replace("select v", "select v * 10 as v")):
            await cluster.published_count(app, 1)
            status, answer = await cluster.asked("DELETE", f"/v1/apps/{app}")
            assert status == 200, answer
            await cluster.deploy(again, replicas=2)
            sent += [await cluster.send(app, "In", {"v": 1}, **key) for _ in range(2)]
        assert [each["duplicate"] for each in sent] == [False, True, True, False, True]
        await cluster.send(app, "In", {"v": 2})
        rows = await cluster.published_count(app, 3)
        assert [row.data for row in rows] == [(1,), (10,), (20,)]
