"""A stranger on the cluster's own bus and store, with the bus's password and without the cluster's
secret: it is no node, gets no app, and what it orders is not done."""

from __future__ import annotations

import msgspec

from lockstep.clock import SystemClock, SystemRandomness
from lockstep.control import Command, CommandAnswer, Erasure, command_subject, erasure_subject
from lockstep.frame import open_world
from lockstep.settings import load_settings
from tests.integration.services.cluster import Cluster, until
from tests.integration.services.conftest import Start

SECRET = "the secret of this cluster"
APP = "@app:name('Proven') @app:ha(replicas='2') define stream In (n int);\n"
APP += "@info(name='q') from In select n insert into Out;"
ORDER_MS = 2_000


async def leader(cluster: Cluster, app: str) -> str | None:
    """Its node."""
    _, answer = await cluster.call("GET", "coordinator", f"/v1/apps/{app}/status")
    found = [one["node"] for one in answer.get("replicas", ()) if one["role"] == "active"]
    return found[0] if found else None


async def refused(cluster: Cluster, why: str) -> float:
    """How often the coordinator has not heard somebody."""
    _, text = await cluster.call("GET", "coordinator", "/metrics")
    name = f'lockstep_control_unproven_total{{why="{why}"}}'
    return sum(float(one.split()[-1]) for one in text.splitlines() if one.startswith(name))


async def test_a_stranger_on_the_bus_is_no_node_and_orders_nothing(cluster_of: Start) -> None:
    """Though it has all other passwords; with the secret it belongs."""
    nodes = ("coordinator", "processor-1", "processor-2")
    async with cluster_of(*nodes, LOCKSTEP_CLUSTER__SECRET=SECRET) as cluster:
        app = await cluster.deploy(APP, replicas=2)
        led_by = await leader(cluster, app)
        await cluster.start("processor-9", LOCKSTEP_CLUSTER__SECRET="")

        async def counted() -> bool:
            return await refused(cluster, "no proof") > 0

        await until(counted, "the stranger's heartbeats to be counted")
        _, answer = await cluster.call("GET", "coordinator", "/v1/nodes")
        assert {one["node"] for one in answer["nodes"]} == set(nodes)
        environment = {**cluster.environment, "LOCKSTEP_CLUSTER__SECRET": ""}
        stranger = await open_world(load_settings(environment), SystemClock(), SystemRandomness())
        try:
            for subject, order in (
                (command_subject(app), Command("hand_over")),
                (command_subject(app), Command("snapshot")),
                (erasure_subject(app), Erasure("In", "true")),
            ):
                payload = msgspec.json.encode(order)
                await stranger.bus.topics.publish(subject, payload)
            # The forged orders came before ours to the same door: had they been heard, the lead
            # were with the other one by now.
            ours = await open_world(
                load_settings({**environment, "LOCKSTEP_CLUSTER__SECRET": SECRET}),
                SystemClock(), SystemRandomness(),
            )  # fmt: skip
            try:
                done = await ours.bus.topics.request(
                    command_subject(app), msgspec.json.encode(Command("snapshot")),
                    timeout_ms=ORDER_MS * 10,
                )  # fmt: skip
                assert msgspec.json.decode(done, type=CommandAnswer).done
            finally:
                await ours.close()
        finally:
            await stranger.close()
        assert await leader(cluster, app) == led_by
        status, told = await cluster.asked("POST", f"/v1/apps/{app}/handover")
        assert status == 200, told

        async def moved() -> bool:
            return await leader(cluster, app) not in (led_by, None)

        await until(moved, "the order of the suite itself to be done")
        await cluster.stop("processor-9")
        await cluster.start("processor-9")

        async def belongs() -> bool:
            _, found = await cluster.call("GET", "coordinator", "/v1/nodes")
            return "processor-9" in {one["node"] for one in found["nodes"]}

        await until(belongs, "the node with the secret to belong")
