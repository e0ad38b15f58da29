"""Roles: a warm standby that folds only when promoted, and one that is not ready and waits."""

from __future__ import annotations

from typing import Any

from tests.integration.services.cluster import STEADY, Cluster, log_of, revisions_of, until
from tests.integration.services.conftest import Start
from tests.integration.services.test_processor import COUNT, expected, feed, hand_over

NODES = ("coordinator", "processor-1", "processor-2", "receiver")
WARM = "@app:ha(replicas='2', standby='warm')" + COUNT


async def replica(cluster: Cluster, app: str, *, active: bool) -> Any:
    """The status of the leader or of the standby; None while it is not heard of."""
    found = (await cluster.status(app))["replicas"]
    return next((one for one in found if (one["role"] == "active") is active), None)


async def test_a_warm_standby_holds_a_revision_and_folds_when_promoted(cluster_of: Start) -> None:
    """It stands where the newest revision stands; promoted it replays, and no row is lost or
    doubled, twice in a row.
    """
    quick = {"LOCKSTEP_PROCESSOR__SNAPSHOT_INTERVAL_MS": "300"}
    async with cluster_of(*NODES, **quick) as cluster:
        app = await cluster.deploy(WARM.format(name="Warm"), replicas=2)
        sent = 0
        for _ in range(2):
            await feed(cluster, app, sent, 20)
            sent += 20

            async def warm(at: int = sent) -> Any:
                one = await replica(cluster, app, active=False)
                return one is not None and one["position"] >= at and one["standby"] == "warm"

            await until(warm, "the standby holds a revision")

            async def stands_there() -> bool:
                # It moves on with the next one, and those before are forgotten.
                found = await revisions_of(cluster.watcher, app)
                one = await replica(cluster, app, active=False)
                places = [each.position for each in found if each.verified]
                return one is not None and one["position"] in places

            await until(stands_there, "the standby stands where a revision stands")
            leader = await cluster.active(app)
            await feed(cluster, app, sent, 5)
            sent += 5
            await cluster.crash(leader)
            await feed(cluster, app, sent, 5)
            sent += 5
            await cluster.start(leader)
            rows = await cluster.published_count(app, sent)
            assert [row.data for row in rows] == expected(sent)
            await cluster.settled(app, 2)


async def test_a_warm_standby_does_not_fold(cluster_of: Start) -> None:
    """Without a revision it stays at the beginning, whatever comes; it can be handed the lead."""
    async with cluster_of(*NODES, **STEADY) as cluster:
        app = await cluster.deploy(WARM.format(name="Lazy"), replicas=2)
        await feed(cluster, app, 0, 10)
        await cluster.published_count(app, 10)
        log = await cluster.watcher.bus.input_log(await log_of(cluster.watcher, app))
        _, end = await log.bounds()

        async def seen() -> Any:
            one = await replica(cluster, app, active=False)
            return one if one is not None and one["log_end"] >= end else None

        standby = await until(seen, "the standby sees the log grow")
        assert (standby["position"], standby["ready"]) == (0, True)
        await hand_over(cluster, app)
        await feed(cluster, app, 10, 5)
        rows = await cluster.published_count(app, 15)
        assert [row.data for row in rows] == expected(15)


async def test_a_standby_that_lags_is_not_ready_and_not_promoted(cluster_of: Start) -> None:
    """Its lag shows; a hand-over refuses it; of two standbys the ready one leads next."""
    nodes = ("coordinator", "processor-1", "processor-2", "processor-3", "receiver")
    limits = {
        "LOCKSTEP_PROCESSOR__WARM_READY_LAG_POSITIONS": "3",
        "LOCKSTEP_COORDINATOR__REPLICAS": "3",
    }
    async with cluster_of(*nodes[:-2], "receiver", **limits) as cluster:
        app = await cluster.deploy(COUNT.format(name="Lags"), replicas=2)
        # The third replica stands by warm, on a node with settings of its own.
        lagging = {"LOCKSTEP_PROCESSOR__STANDBY": "warm"}
        await cluster.start("processor-3", **lagging)
        await cluster.settled(app, 3)
        await feed(cluster, app, 0, 20)

        async def syncing() -> Any:
            found = (await cluster.status(app))["replicas"]
            return [one for one in found if one["role"] == "syncing" and one["lag"] >= 20]

        (one,) = await until(syncing, "a standby that lags")
        assert (one["node"], one["ready"]) == ("processor-3", False)
        path = f"/v1/apps/{app}/handover"
        status, answer = await cluster.call("POST", "coordinator", path, json={"node": one["node"]})
        assert status == 503, answer
        assert "'processor-3' is not ready yet" in answer["detail"]
        leader = await cluster.active(app)
        await cluster.crash(leader)
        await feed(cluster, app, 20, 5)
        rows = await cluster.published_count(app, 25)
        assert [row.data for row in rows] == expected(25)
        assert await cluster.active(app) not in (leader, "processor-3")


async def snapshots(cluster: Cluster, node: str, app: str) -> int:
    """How many revisions of an app a node has taken."""
    async with cluster.session.get(f"{cluster.nodes[node].url}/metrics") as response:
        text = await response.text()
    name = "lockstep_processor_snapshot_ms_count"
    lines = [line for line in text.splitlines() if line.startswith(name) and app in line]
    return sum(int(float(line.split()[-1])) for line in lines)


async def test_a_revision_on_demand_is_taken_by_the_standby(cluster_of: Start) -> None:
    """At the leader's position or behind it; by the leader when the standby has gone."""
    async with cluster_of(*NODES, **STEADY) as cluster:
        app = await cluster.deploy(COUNT.format(name="Demand"), replicas=2)
        await feed(cluster, app, 0, 10)
        await cluster.published_count(app, 10)
        await cluster.settled(app, 2)
        leader = await replica(cluster, app, active=True)
        standby = await replica(cluster, app, active=False)
        taken_id = await cluster.snapshot(app)
        found = await revisions_of(cluster.watcher, app)
        found = [one for one in found if one.position > 0]  # the other one is the app's beginning
        assert [one.id for one in found] == [taken_id]
        assert found[0].position >= leader["position"]
        taken = [await snapshots(cluster, one["node"], app) for one in (leader, standby)]
        assert taken == [0, 1]
        await cluster.crash(standby["node"])
        await feed(cluster, app, 10, 1)
        await cluster.published_count(app, 11)
        await cluster.snapshot(app)
        assert await snapshots(cluster, leader["node"], app) == 1
