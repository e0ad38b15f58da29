"""Going back to a revision's state, with replicas that crash meanwhile: the same for all of them,
at one position, nothing published twice.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lockstep.events import UnavailableError
from tests.integration.services.cluster import Cluster, until
from tests.integration.services.conftest import Start

NODES = ("coordinator", "processor-1", "processor-2", "receiver")
TOTAL = (
    "@app:name('{name}') define stream In (v long);"
    " from In select sum(v) as total, count() as n insert into Out;"
)


async def ones(cluster: Cluster, app: str, count: int) -> None:
    """So many events of value 1."""
    for _ in range(count):
        await cluster.send(app, "In", {"v": 1})


async def totals(cluster: Cluster, app: str, count: int) -> list[int]:
    """The first column of all rows, when there are `count`."""
    return [row.data[0] for row in await cluster.published_count(app, count)]


async def restore(cluster: Cluster, app: str, revision: str | None) -> Any:
    """The coordinator's answer, when the leader has carried it out (202: it had not in time)."""
    status, answer = await cluster.call(
        "POST", "coordinator", f"/v1/apps/{app}/restore", json={"revision": revision}
    )
    assert (status, answer.get("done")) in [(200, True), (202, False)], answer

    async def gone_over() -> Any:
        found = (await cluster.status(app))["replicas"]
        return any(r["role"] == "active" and r["generation"] >= answer["generation"] for r in found)

    await until(gone_over, f"the leader runs generation {answer['generation']}")
    return answer


async def test_an_app_goes_on_with_a_revisions_state(cluster_of: Start) -> None:
    """What was published stays, the next row counts from the revision; on every replica."""
    async with cluster_of(*NODES) as cluster:
        app = await cluster.deploy(TOTAL.format(name="Back"), replicas=2)
        await ones(cluster, app, 3)
        await totals(cluster, app, 3)
        first = await cluster.snapshot(app)
        await ones(cluster, app, 4)
        assert await totals(cluster, app, 7) == [1, 2, 3, 4, 5, 6, 7]
        assert (await restore(cluster, app, first))["revision"] == first
        await ones(cluster, app, 2)
        assert (await totals(cluster, app, 9))[7:] == [4, 5]
        await cluster.settled(app, 2)
        await cluster.crash(await cluster.active(app))
        await ones(cluster, app, 1)
        assert (await totals(cluster, app, 10))[9:] == [6]
        # A new process begins behind the restore as well.
        for name in [name for name in cluster.nodes if name.startswith("processor")]:
            await cluster.crash(name)
        await cluster.start("processor-3")
        await ones(cluster, app, 1)
        assert (await totals(cluster, app, 11))[10:] == [7]


async def test_a_restore_under_load_while_the_leader_crashes(cluster_of: Start) -> None:
    """Whoever leads carries it out once: each row continues one of the two counts, in order."""
    async with cluster_of(*NODES) as cluster:
        app = await cluster.deploy(TOTAL.format(name="Load"), replicas=2)
        await ones(cluster, app, 5)
        await totals(cluster, app, 5)
        revision = await cluster.snapshot(app)
        sent, enough = 5, asyncio.Event()

        async def feed() -> None:
            nonlocal sent
            while not enough.is_set():
                await ones(cluster, app, 5)
                sent += 5

        # Whichever side fails ends the other one.
        async with asyncio.TaskGroup() as together:
            together.create_task(feed())
            await totals(cluster, app, 30)
            restoring = together.create_task(restore(cluster, app, revision))
            await cluster.crash(await cluster.active(app))
            await restoring
            enough.set()
        await ones(cluster, app, 5)
        found = await totals(cluster, app, sent + 5)
        assert len(found) == sent + 5
        back = [i for i in range(1, len(found)) if found[i] != found[i - 1] + 1]
        assert len(back) == 1
        assert found[back[0]] == 6


async def test_what_cannot_be_restored_is_said(cluster_of: Start) -> None:
    """No app, an unknown revision, one of another version: nothing happens to the app."""
    async with cluster_of("coordinator", "processor-1", "receiver") as cluster:
        path = "/v1/apps/No/restore"
        assert (await cluster.call("POST", "coordinator", path))[0] == 404
        app = await cluster.deploy(TOTAL.format(name="No"))
        await ones(cluster, app, 1)
        await totals(cluster, app, 1)
        old = await cluster.snapshot(app)
        status, answer = await cluster.call(
            "POST", "coordinator", f"/siddhi-apps/{app}/restore?revision=nothing"
        )
        assert status == 404
        assert "no revision 'nothing'" in answer["detail"]
        await cluster.deploy(TOTAL.format(name="No").replace("count()", "max(v)"))
        status, answer = await cluster.call("POST", "coordinator", path, json={"revision": old})
        assert status == 409, answer
        status, answer = await cluster.call("POST", "coordinator", f"/siddhi-apps/{app}/restore")
        assert status == 200, answer

        async def there() -> Any:
            found = (await cluster.status(app))["replicas"]
            return [one["generation"] for one in found] == [3]

        await until(there, "the generation in the status")


async def test_an_old_state_does_not_lead_while_nobody_can_say_whether_the_new_one_has_begun(
    cluster_of: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The leader has gone over and dies; the standby knows that it is to go over, and its store is
    away: it gives the lead up until it can see. No row of the old version behind the new one's.
    """
    text = "@app:name('Blind') define stream In (v int); from In select {v} as v insert into Out;"
    async with cluster_of(*NODES) as cluster:
        app = await cluster.deploy(text.format(v="v"), replicas=2)
        for i in range(3):
            await cluster.send(app, "In", {"v": i})
        await cluster.published_count(app, 3)
        leader = await cluster.active(app)
        (standby,) = {"processor-1", "processor-2"} - {leader}

        async def away(*_: Any) -> Any:
            raise UnavailableError("the store is cut off on purpose")

        with monkeypatch.context() as patch:
            revisions = type(cluster.nodes[standby].world.store.revisions)
            real, sees = revisions.list, cluster.nodes[leader].world.store.revisions

            async def one_sided(self: Any, *where: Any) -> Any:
                return await (real if self is sees else away)(self, *where)

            patch.setattr(revisions, "list", one_sided)
            await cluster.call(
                "PUT", "coordinator", "/v1/apps", json={"text": text.format(v="v + 1000")}
            )

            async def gone_over() -> Any:
                found = {r["node"]: r for r in (await cluster.status(app))["replicas"]}
                return found.get(leader, {}).get("generation") == 2

            await until(gone_over, "the leader runs the new version")
            await cluster.crash(leader)
            for i in range(3, 6):
                await cluster.send(app, "In", {"v": i})

            async def gave_up() -> Any:
                found = (await cluster.status(app))["replicas"]
                return [(r["node"], r["role"]) for r in found] == [(standby, "failing")]

            await until(gave_up, "the standby begins again")
        rows = await cluster.published_count(app, 6)
        assert [row.data[0] for row in rows] == [0, 1, 2, 1003, 1004, 1005]
