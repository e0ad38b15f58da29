"""A store that was brought back from an older backup, while the logs have gone on."""

from __future__ import annotations

from typing import Any

import asyncpg

from tests.integration.services.cluster import Cluster, log_of, rows_of, table, until
from tests.integration.services.conftest import Start

NODES = ("coordinator", "processor-1", "processor-2", "receiver")
TEXT = """
@app:name('{app}')
define stream In (k string, v long);
@info(name='sums') partition with (k of In) begin
  from In select sum(v) as total insert into Sums;
end;
from In select '{said}' as said insert into Said;
"""


async def run(cluster: Cluster, statement: str) -> None:
    """On the cluster's own database."""
    dsn = cluster.settings.store.postgres_dsn.get_secret_value()
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


async def backed_up(cluster: Cluster) -> None:
    """What is deployed now is in the backup."""
    await run(cluster, "create table backup as select * from lockstep.deployments")


async def brought_back(cluster: Cluster) -> None:
    """It is what the store knows again."""
    columns = [name for (name,) in await table(
        cluster, "select column_name from information_schema.columns"
        " where table_schema = 'lockstep' and table_name = 'deployments'",
    )]  # fmt: skip
    changes = ", ".join(f"{name} = backup.{name}" for name in columns if name != "app")
    await run(
        cluster,
        f"update lockstep.deployments as one set {changes} from backup where one.app = backup.app",
    )


async def wanted(
    cluster: Cluster, app: str, said: str, parallel: int | None = None
) -> tuple[int, Any]:
    """Deploys the text that says so; what is answered."""
    wish = {"text": TEXT.format(app=app, said=said), "parallel": parallel}
    return await cluster.asked("PUT", "/v1/apps", json=wish)


async def says(cluster: Cluster, app: str, said: str, total: int) -> None:
    """Another event meets this text, and the sum that all of them have come to."""
    version = (await cluster.status(app))["version"]
    await cluster.settled(app, 2, version=version)
    await cluster.send(app, "In", {"k": "a", "v": 1})
    assert (await rows_of(cluster, app, "Said", total))[total - 1 :] == [(said,)]
    assert (await rows_of(cluster, app, "Sums", total))[total - 1 :] == [(total,)]


async def behind_by_three(cluster: Cluster, app: str) -> None:
    """Six texts have met an event each; the store knows of three."""
    for number in range(1, 7):
        status, answer = await wanted(cluster, app, f"text {number}")
        assert status in (200, 201), answer
        await says(cluster, app, f"text {number}", number)
        if number == 3:
            await backed_up(cluster)
    await brought_back(cluster)
    assert (await cluster.status(app))["generation"] == 3


async def test_another_text_goes_on_with_the_newest_state(cluster_of: Start) -> None:
    """What is said to be deployed is what runs, in a generation behind that of the log."""
    async with cluster_of(*NODES) as cluster:
        await behind_by_three(cluster, "Older")
        waits = (await cluster.status("Older"))["waiting"]
        assert waits == "the text to be deployed again: generation 6 runs, the store knows 3"
        status, answer = await wanted(cluster, "Older", "text 7")
        assert (status, answer["generation"], answer["changed"]) == (200, 7, True), answer
        await says(cluster, "Older", "text 7", 7)
        assert (await cluster.status("Older"))["waiting"] is None
        tail = await (await cluster.watcher.bus.output_log(
            await log_of(cluster.watcher, "Older")
        )).tail()  # fmt: skip
        assert tail.generation is not None
        assert tail.generation.life.number == 7
        status, answer = await wanted(cluster, "Older", "text 7")
        assert (status, answer["changed"]) == (200, False)


async def test_the_text_of_the_backup_is_no_text_that_runs(cluster_of: Start) -> None:
    """Deployed again it takes the place of the later one; until then nothing else is done that
    would bring it. The leader may be gone meanwhile."""
    async with cluster_of(*NODES) as cluster:
        await behind_by_three(cluster, "Old")
        status, answer = await cluster.asked("POST", "/v1/apps/Old/restore", json={})
        assert status == 409, answer
        status, answer = await wanted(cluster, "Old", "text 3")
        assert (status, answer["generation"], answer["changed"]) == (200, 7, True), answer
        await says(cluster, "Old", "text 3", 7)
        await cluster.crash(await cluster.active("Old"))

        async def another() -> bool:
            replicas = (await cluster.status("Old"))["replicas"]
            leading = [one for one in replicas if one["role"] == "active"]
            return any(one["node"] in cluster.nodes for one in leading)

        await until(another, "another processor leads")
        await cluster.send("Old", "In", {"k": "a", "v": 1})
        assert (await rows_of(cluster, "Old", "Sums", 8))[7:] == [(8,)]


async def test_a_layout_that_the_store_does_not_know_is_named(cluster_of: Start) -> None:
    """The units that it knows have ended, and nothing could go on from them."""
    async with cluster_of(*NODES) as cluster:
        assert (await wanted(cluster, "Laid", "text 1", 2))[0] == 201

        async def led() -> bool:
            return bool((await cluster.status("Laid"))["status"] == "active")

        await until(led, "all units are led")
        await backed_up(cluster)
        await cluster.snapshot("Laid")
        await brought_back(cluster)
        for said in ("text 1", "text 2"):
            status, answer = await wanted(cluster, "Laid", said)
            assert status == 409, answer
            assert "go on with a layout that the store does not know" in answer["detail"]
            assert "undeploy --purge" in answer["hint"]
