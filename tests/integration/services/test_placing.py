"""Which processors carry what, against real servers: joins, drains, labels, node ids, too few
processors, and processors that are cut off."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from lockstep_services.processor.presence import NodeTakenError
from tests.integration.services.cluster import Cluster, until
from tests.integration.services.conftest import Start
from tests.integration.services.test_processor import COUNT, expected, feed

SOON = {"LOCKSTEP_COORDINATOR__REBALANCE_AFTER_MS": "300"}
TWO = ("coordinator", "receiver", "processor-1", "processor-2")


async def deployed(cluster: Cluster, names: Sequence[str]) -> list[str]:
    """Apps of two replicas each, with five events folded."""
    apps = [await cluster.deploy(COUNT.format(name=name), replicas=2) for name in names]
    for app in apps:
        await feed(cluster, app, 0, 5)
    return apps


async def at_rest(cluster: Cluster, apps: Sequence[str]) -> dict[str, Any] | None:
    """The status of each app when all of them have two ready replicas where they shall be."""
    found = {app: await cluster.status(app) for app in apps}
    for status in found.values():
        ready = {one["node"] for one in status["replicas"] if one["ready"]}
        roles = Counter(one["role"] for one in status["replicas"])
        if len(status["nodes"]) != 2 or ready != set(status["nodes"]) or roles["active"] != 1:
            return None
    return found


async def goes_on(cluster: Cluster, apps: Sequence[str]) -> None:
    """Nothing was lost or doubled, and the next events are folded."""
    for app in apps:
        await feed(cluster, app, 5, 5)
        assert [row.data for row in await cluster.published_count(app, 10)] == expected(10)


async def test_a_processor_that_joins_gets_its_share(cluster_of: Start) -> None:
    """Replicas and leads, step by step, until all three carry as much."""
    async with cluster_of(*TWO, **SOON) as cluster:
        apps = await deployed(cluster, ("JoinA", "JoinB", "JoinC"))
        await cluster.start("processor-3")

        async def level() -> Any:
            found = await at_rest(cluster, apps)
            if found is None:
                return None
            carried = Counter(node for status in found.values() for node in status["nodes"])
            return set(carried.values()) == {2}

        await until(level, "two replicas on each of three processors")
        await goes_on(cluster, apps)
        status, answer = await cluster.call(
            "POST", "coordinator", "/v1/rebalance", json={"dry_run": True}
        )
        replicas = [move for move in answer["moves"] if move["what"] == "replica"]
        assert (status, replicas, answer["dry_run"]) == (200, [], True)


async def test_a_drained_processor_becomes_empty(cluster_of: Start) -> None:
    """Its leads go first, then its replicas; it takes nothing new until that is taken back."""
    async with cluster_of(*TWO, "processor-3") as cluster:
        apps = await deployed(cluster, ("DrainA", "DrainB"))
        status, answer = await cluster.call("PUT", "coordinator", "/v1/nodes/nobody/drain")
        assert (status, "processor-1" in answer["hint"]) == (404, True)
        path = "/v1/nodes/processor-1/drain"
        status, answer = await cluster.asked("PUT", path)
        assert (status, answer["drained"]) == (200, True)

        async def empty() -> Any:
            return (await cluster.asked("GET", path))[1]["empty"]

        await until(empty, "an empty processor")
        found = await until(lambda: at_rest(cluster, apps), "two replicas of each elsewhere")
        assert {node for one in found.values() for node in one["nodes"]} == {
            "processor-2",
            "processor-3",
        }
        new = await cluster.deploy(COUNT.format(name="DrainC"), replicas=2)
        assert "processor-1" not in (await cluster.status(new))["nodes"]
        await goes_on(cluster, apps)
        status, answer = await cluster.asked("DELETE", path)
        assert (status, answer["drained"]) == (200, False)


async def test_a_drain_without_room_elsewhere(cluster_of: Start) -> None:
    """It says for which units there is none, once their leads are elsewhere; they run on."""
    async with cluster_of(*TWO) as cluster:
        apps = await deployed(cluster, ("Narrow",))
        leader = await cluster.active("Narrow")
        path = f"/v1/nodes/{leader}/drain"
        await cluster.asked("PUT", path)

        async def stuck() -> Any:
            answer = (await cluster.asked("GET", path))[1]
            return answer if answer["no_room"] else None

        answer = await until(stuck, "what has no room")
        assert (answer["left"], answer["no_room"], answer["leads"]) == (
            ["'Narrow'"],
            ["'Narrow'"],
            [],
        )
        assert answer["empty"] is False
        await goes_on(cluster, apps)
        await cluster.crash(next(n for n in TWO[2:] if n != leader))
        answer = await until(
            lambda: only_one_is_left(cluster, path), "a lead that nobody else can take"
        )
        assert answer["leads"] == ["'Narrow'"]


async def only_one_is_left(cluster: Cluster, path: str) -> Any:
    """The drain's answer once the drained processor leads, as the last one, and is stuck."""
    answer = (await cluster.asked("GET", path))[1]
    return answer if answer["leads"] and answer["no_room"] else None


async def test_replicas_keep_to_hosts_of_their_own(cluster_of: Start) -> None:
    """Two on one host while there is no other; one goes as soon as there is."""
    async with cluster_of("coordinator", "receiver") as cluster:
        for number, host in ((1, "alpha"), (2, "alpha")):
            await cluster.start(f"processor-{number}", LOCKSTEP_PROCESSOR__HOST_LABEL=host)
        apps = await deployed(cluster, ("Apart",))
        await cluster.start("processor-3", LOCKSTEP_PROCESSOR__HOST_LABEL="beta")

        async def apart() -> Any:
            found = await at_rest(cluster, apps)
            return found is not None and "processor-3" in found["Apart"]["nodes"]

        await until(apart, "a replica on the other host")
        await goes_on(cluster, apps)


async def test_a_node_id_of_a_living_processor_is_refused(cluster_of: Start) -> None:
    """The second one says whose it is and ends; the first goes on. A restart begins at once,
    however the process before it has ended."""
    async with cluster_of(*TWO) as cluster:
        (app,) = await deployed(cluster, ("Named",))
        with pytest.raises(NodeTakenError, match="'processor-1' already") as refused:
            await cluster.start("processor-1")
        assert (refused.value.retryable, "LOCKSTEP_SERVER__NODE" in str(refused.value.hint)) == (
            False,
            True,
        )
        await cluster.settled(app, 2)
        await cluster.crash("processor-1")
        await cluster.start("processor-1")
        await cluster.stop("processor-1")
        await cluster.start("processor-1")
        await cluster.settled(app, 2)
        await goes_on(cluster, [app])


async def test_too_few_processors(cluster_of: Start) -> None:
    """Nothing is placed, and everybody who asks is told what is waited for."""
    minimum = {"LOCKSTEP_COORDINATOR__MIN_PROCESSORS": "2"}
    async with cluster_of("coordinator", "processor-1", **minimum) as cluster:

        async def heard() -> Any:
            _, answer = await cluster.call("GET", "coordinator", "/v1/nodes")
            return [one for one in answer["nodes"] if one["service"] == "processor"]

        await until(heard, "the processor's first heartbeat")
        text = COUNT.format(name="Waits")
        _, deployed_as = await cluster.asked("PUT", "/v1/apps", json={"text": text})
        _, listed = await cluster.asked("GET", "/v1/apps")
        status = await cluster.status("Waits")
        told = "1 more processor: 1 of coordinator.min_processors = 2 can take replicas"
        assert (deployed_as["waiting"], status["waiting"]) == (told, told)
        assert [one["waiting"] for one in listed["apps"]] == [told]
        assert status["nodes"] == []
        await cluster.start("processor-2")
        await cluster.settled("Waits", 2)
        assert (await cluster.status("Waits"))["waiting"] is None


async def test_a_processor_that_is_cut_off_stops_its_units(cluster_of: Start) -> None:
    """Without lease server and coordinator for its limit; with one of the two it goes on. When it
    is back it takes its units again, and nothing is lost or doubled."""
    limit = {"LOCKSTEP_PROCESSOR__ISOLATION_TIMEOUT_MS": "3000"}
    async with cluster_of("coordinator", "receiver", "processor-1", **limit) as cluster:
        app = await cluster.deploy(COUNT.format(name="Island"), replicas=1)
        await feed(cluster, app, 0, 5)
        await cluster.published_count(app, 5)
        node = cluster.nodes["processor-1"]
        tasks = node.process.running.contexts["processor"].tasks

        async def carries() -> bool:
            return f"replica-{app}" in tasks.names

        async def carries_nothing() -> bool:
            return not await carries()

        node.leases.broken = True
        await feed(cluster, app, 5, 5)
        await cluster.published_count(app, 10)  # the coordinator is still there
        await cluster.crash("coordinator")
        await until(carries_nothing, "the unit is stopped")
        node.leases.broken = False
        await until(carries, "the unit is back")
        await feed(cluster, app, 10, 5)
        rows = await cluster.published_count(app, 15)
        assert [row.data for row in rows] == expected(15)
