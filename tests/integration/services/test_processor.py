"""Replicas against real servers: hold back, take over, ticks, revisions, upgrades, hand-over."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from lockstep.events import Generation
from lockstep.store import revision_id
from tests.integration.services.cluster import STEADY, Cluster, log_of, revisions_of, until
from tests.integration.services.conftest import Start

COUNT = """
@app:name('{name}')
define stream In (k string, v int);
@info(name='totals') from In#window.length(5)
select k, sum(v) as total, count() as n group by k insert into Out;
"""


def expected(count: int) -> list[tuple[str, int, int]]:
    """What COUNT gives for events ('a', 0), ('a', 1), …"""
    values = list(range(count))
    rows = []
    for i in range(count):
        window = values[max(0, i - 4) : i + 1]
        rows.append(("a", sum(window), len(window)))
    return rows


async def feed(cluster: Cluster, app: str, start: int, count: int) -> None:
    """Events ('a', start), … one after the other."""
    for i in range(start, start + count):
        await cluster.send(app, "In", {"k": "a", "v": i})


async def hand_over(cluster: Cluster, app: str) -> None:
    """By command, once the leader has heard of a ready standby."""
    last: Any = None

    async def handed() -> bool:
        nonlocal last
        last = await cluster.call("POST", "coordinator", f"/v1/apps/{app}/handover")
        assert last[0] in (200, 409, 503), last
        return bool(last[0] == 200)

    await until(handed, "a hand-over", seen=lambda: last)


async def test_a_crash_of_the_leader_loses_nothing_and_doubles_nothing(cluster_of: Start) -> None:
    """Three crashes under load, each time the standby goes on with the next identity."""
    nodes = ("coordinator", "processor-1", "processor-2", "receiver")
    async with cluster_of(*nodes) as cluster:
        app = await cluster.deploy(COUNT.format(name="Crash"), replicas=2)
        feeding = asyncio.create_task(feed(cluster, app, 0, 300))
        for kill in range(1, 4):
            await cluster.published_count(app, 60 * kill)
            leader = await cluster.active(app)
            await cluster.crash(leader)
            await cluster.start(leader)
            await cluster.settled(app, 2)
        await feeding
        rows = await cluster.published_count(app, 300)
        assert [row.data for row in rows] == expected(300)


async def test_a_stopped_leader_hands_over_at_once(cluster_of: Start) -> None:
    """A graceful stop does not wait for the lease to run out."""
    nodes = ("coordinator", "processor-1", "processor-2", "receiver")
    slow = {"LOCKSTEP_LEADER__LEASE_TTL_MS": "600000"}  # longer than anything waits here
    async with cluster_of(*nodes, **slow) as cluster:
        app = await cluster.deploy(COUNT.format(name="Stop"), replicas=2)
        await feed(cluster, app, 0, 5)
        leader = await cluster.active(app)
        await cluster.stop(leader)
        await feed(cluster, app, 5, 5)
        rows = await cluster.published_count(app, 10)
        assert [row.data for row in rows] == expected(10)


async def test_a_death_is_noticed_before_the_lease_runs_out(cluster_of: Start) -> None:
    """By the closed connection."""
    nodes = ("coordinator", "processor-1", "processor-2", "receiver")
    slow = {"LOCKSTEP_LEADER__LEASE_TTL_MS": "600000"}  # longer than anything waits here
    async with cluster_of(*nodes, **slow) as cluster:
        app = await cluster.deploy(COUNT.format(name="Death"), replicas=2)
        await cluster.settled(app, 2)
        await feed(cluster, app, 0, 5)
        await cluster.published_count(app, 5)
        await cluster.crash(await cluster.active(app))
        await feed(cluster, app, 5, 5)
        rows = await cluster.published_count(app, 10)
        assert [row.data for row in rows] == expected(10)


async def test_a_planned_hand_over(cluster_of: Start) -> None:
    """By command: the standby leads, nothing is lost or doubled."""
    nodes = ("coordinator", "processor-1", "processor-2", "receiver")
    async with cluster_of(*nodes, **STEADY) as cluster:
        app = await cluster.deploy(COUNT.format(name="Over"), replicas=2)
        feeding = asyncio.create_task(feed(cluster, app, 0, 100))
        for _ in range(2):
            before = await cluster.active(app)
            await hand_over(cluster, app)

            async def moved(before: str = before) -> bool:
                return await cluster.active(app) != before

            await until(moved, "another leader")
        await feeding
        rows = await cluster.published_count(app, 100)
        assert [row.data for row in rows] == expected(100)


async def test_timers_fire_without_events(cluster_of: Start) -> None:
    """The leader appends a tick when a window is due and nothing comes."""
    text = (
        "@app:name('Timers') define stream In (v int);"
        " from In#window.timeBatch(300 milliseconds) select sum(v) as total insert into Out;"
    )
    async with cluster_of("coordinator", "processor-1", "processor-2", "receiver") as cluster:
        app = await cluster.deploy(text, replicas=2)
        await cluster.send(app, "In", [[1], [2]])
        rows = await cluster.published_count(app, 1)
        assert rows[0].data == (3,)


async def test_everybody_crashes_and_comes_back(cluster_of: Start) -> None:
    """Revision, replay, and exactly what nobody had published."""
    nodes = ("coordinator", "processor-1", "processor-2", "receiver")
    async with cluster_of(*nodes) as cluster:
        app = await cluster.deploy(COUNT.format(name="All"), replicas=2)
        await feed(cluster, app, 0, 20)
        await cluster.published_count(app, 20)
        await cluster.snapshot(app)
        await feed(cluster, app, 20, 5)
        await cluster.crash("processor-1")
        await cluster.crash("processor-2")
        await feed(cluster, app, 25, 5)
        await cluster.start("processor-1")
        rows = await cluster.published_count(app, 30)
        assert [row.data for row in rows] == expected(30)


async def test_revisions_are_taken_verified_and_the_log_is_trimmed(cluster_of: Start) -> None:
    """At the interval, by the standby; the input log keeps what the oldest one needs."""
    nodes = ("coordinator", "processor-1", "processor-2", "receiver")
    quick = {"LOCKSTEP_PROCESSOR__SNAPSHOT_INTERVAL_MS": "200"}
    async with cluster_of(*nodes, **quick) as cluster:
        app = await cluster.deploy(COUNT.format(name="Rev"), replicas=2)
        log = await cluster.watcher.bus.input_log(await log_of(cluster.watcher, app))
        sent = 0

        async def trimmed() -> Any:
            nonlocal sent
            await feed(cluster, app, sent, 5)
            sent += 5
            first, _ = await log.bounds()
            return first > 1

        await until(trimmed, "a trimmed input log")
        verified = 0

        async def spared() -> bool:
            # A new one stands beside those that it replaces until they are gone.
            nonlocal verified
            verified = sum(one.verified for one in await revisions_of(cluster.watcher, app))
            return 1 <= verified <= cluster.settings.processor.revisions_to_keep

        await until(spared, "as many revisions as are to be kept", seen=lambda: verified)
        await cluster.crash(await cluster.active(app))
        await feed(cluster, app, sent, 5)
        rows = await cluster.published_count(app, sent + 5)
        assert [row.data for row in rows] == expected(sent + 5)


async def test_an_app_that_nothing_happens_to_is_stored_once(cluster_of: Start) -> None:
    """When it begins; its neighbour, with each event, again and again."""
    quick = {"LOCKSTEP_PROCESSOR__SNAPSHOT_INTERVAL_MS": "100"}
    async with cluster_of("coordinator", "processor-1", "receiver", **quick) as cluster:
        text = "@app:name('Idle') define stream In (k string, v int); "
        idle = await cluster.deploy(f"{text} from In select k insert into Out;")
        busy = await cluster.deploy(COUNT.format(name="Busy"))
        (begun,) = await revisions_of(cluster.watcher, idle)
        seen: set[int] = set()
        sent = 0

        async def again() -> bool:
            nonlocal sent
            await feed(cluster, busy, sent, 1)
            sent += 1
            seen.update(one.position for one in await revisions_of(cluster.watcher, busy))
            return len(seen) > 5

        await until(again, "some revisions of the busy one")
        assert [one.id for one in await revisions_of(cluster.watcher, idle)] == [begun.id]
        await feed(cluster, idle, 0, 1)

        async def stored() -> bool:
            return any(one.position for one in await revisions_of(cluster.watcher, idle))

        await until(stored, "a revision with its first event")


async def test_an_upgrade_keeps_the_state_that_fits(cluster_of: Start) -> None:
    """The same window under another query text: one position for both replicas, no row twice."""
    nodes = ("coordinator", "processor-1", "processor-2", "receiver")
    async with cluster_of(*nodes) as cluster:
        first = COUNT.format(name="Up")
        app = await cluster.deploy(first, replicas=2)
        feeding = asyncio.create_task(feed(cluster, app, 0, 60))
        await cluster.published_count(app, 10)
        more = first.replace("@info", "define stream More (x int);\n@info")
        await cluster.deploy(more, replicas=2)
        await feeding
        rows = await cluster.published_count(app, 60)
        assert [row.data for row in rows] == expected(60)
        await cluster.crash(await cluster.active(app))
        await feed(cluster, app, 60, 10)
        rows = await cluster.published_count(app, 70)
        assert [row.data for row in rows] == expected(70)


async def test_a_beginning_that_never_stood_is_not_gone_on_from(cluster_of: Start) -> None:
    """Its leader had stored it, and heard no more of its claim. Another leader has begun the same
    version earlier in the log. Whoever begins anew takes no notice, and it goes."""
    quick = {"LOCKSTEP_PROCESSOR__SNAPSHOT_INTERVAL_MS": "200"}
    async with cluster_of("coordinator", "processor-1", "receiver", **quick) as cluster:
        app = await cluster.deploy(COUNT.format(name="Void"))
        await feed(cluster, app, 0, 20)
        await cluster.published_count(app, 20)
        await cluster.snapshot(app)
        await cluster.crash("processor-1")
        await feed(cluster, app, 20, 5)
        revisions = cluster.watcher.store.revisions
        there = await revisions_of(cluster.watcher, app)
        first, last = there[-1], there[0]
        assert first.position < last.position
        ahead = last.position + 3
        elsewhere = Generation(last.life, ahead)
        void = replace(last, id=revision_id(app, elsewhere, ahead, "u"), position=ahead)
        await revisions.save(void, await revisions.load(first.id))
        await revisions.mark_verified(void.id)
        await cluster.start("processor-1")
        rows = await cluster.published_count(app, 25)
        assert [row.data for row in rows] == expected(25)

        async def gone() -> bool:
            return void.id not in {one.id for one in await revisions_of(cluster.watcher, app)}

        await until(gone, "the beginning that never stood is deleted")


async def test_an_upgrade_to_another_shape_begins_empty(cluster_of: Start) -> None:
    """Streams with other attributes: old records are refused alike, new ones are counted anew."""
    async with cluster_of("coordinator", "processor-1", "processor-2", "receiver") as cluster:
        app = await cluster.deploy(COUNT.format(name="Shape"), replicas=2)
        await feed(cluster, app, 0, 3)
        await cluster.published_count(app, 3)
        text = (
            "@app:name('Shape') define stream In (v int);"
            " from In select count() as n insert into Out;"
        )
        await cluster.deploy(text, replicas=2)

        async def accepted() -> Any:
            status, _ = await cluster.call(
                "POST", "receiver", f"/v1/apps/{app}/streams/In/events", json={"v": 1}
            )
            return status == 200

        await until(accepted, "the receiver knows the new version")
        rows = await cluster.published_count(app, 4)
        assert rows[3].data == (1,)
        (leads,) = [
            one for one in (await cluster.status(app))["replicas"] if one["role"] == "active"
        ]
        (lost,) = leads["began_empty"]
        assert "query 'totals'" in lost
        assert leads["begins_behind"] == 3


async def test_events_that_a_query_cannot_process_become_dead_letters_once(
    cluster_of: Start,
) -> None:
    """Written by the leader with the reason; the next event passes."""
    text = (
        "@app:name('Faults') define function f[python] return int { return 1 / data[0] };"
        " define stream In (a int); from In select f(a) as n insert into Out;"
    )
    async with cluster_of("coordinator", "processor-1", "processor-2", "receiver") as cluster:
        app = await cluster.deploy(text, replicas=2)
        await cluster.send(app, "In", {"a": 0})
        await cluster.send(app, "In", {"a": 1})
        rows = await cluster.published_count(app, 1)
        assert [row.data for row in rows] == [(1,)]
        letters = await cluster.watcher.bus.dead_letters.read(app)
        assert len(letters) == 1
        assert letters[0].letter.stream == "In"
        assert b'"a":0' in letters[0].letter.payload


async def test_a_paused_leader_is_refused_by_the_log(cluster_of: Start) -> None:
    """It believes in its lease still, another has claimed: its append is refused, it steps down."""
    async with cluster_of("coordinator", "processor-1", "processor-2", "receiver") as cluster:
        app = await cluster.deploy(COUNT.format(name="Fence"), replicas=2)
        await feed(cluster, app, 0, 5)
        await cluster.published_count(app, 5)
        leader = await cluster.active(app)
        cluster.nodes[leader].leases.broken = True

        async def another() -> Any:
            replicas = (await cluster.status(app))["replicas"]
            return any(r["role"] == "active" and r["node"] != leader for r in replicas)

        await until(another, "another leader")
        await feed(cluster, app, 5, 10)
        rows = await cluster.published_count(app, 15)
        assert [row.data for row in rows] == expected(15)

        async def stepped_down() -> Any:
            replicas = (await cluster.status(app))["replicas"]
            return leader not in [r["node"] for r in replicas if r["role"] == "active"]

        await until(stepped_down, "the old leader steps down")


async def test_a_hand_over_waits_for_a_standby_that_is_behind(cluster_of: Start) -> None:
    """The leader goes on publishing meanwhile: what the standby has to fold, nobody waits for."""
    nodes = ("coordinator", "processor-1", "processor-2", "receiver")
    async with cluster_of(*nodes, **STEADY) as cluster:
        app = await cluster.deploy(COUNT.format(name="Behind"), replicas=2)
        await feed(cluster, app, 0, 5)
        leader = await cluster.active(app)
        standby = "processor-1" if leader == "processor-2" else "processor-2"
        services: Any = dict(cluster.nodes[standby].process._services)
        fold = services["processor"]._runners[app]._fold
        fold.pause()
        asking = asyncio.create_task(
            cluster.call("POST", "coordinator", f"/v1/apps/{app}/handover")
        )
        await feed(cluster, app, 5, 5)
        await cluster.published_count(app, 10)
        assert not asking.done()
        fold.resume()
        status, answer = await asking
        assert status == 200, answer

        async def moved() -> bool:
            return await cluster.active(app) == standby

        await until(moved, "the standby leads")
        await feed(cluster, app, 10, 5)
        rows = await cluster.published_count(app, 15)
        assert [row.data for row in rows] == expected(15)
