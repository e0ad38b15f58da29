"""Revisions are deleted on request, but never the one that recovery needs."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from tests.integration.services.cluster import Cluster
from tests.integration.services.conftest import Start

TOTAL = (
    "@app:name('{name}') define stream In (v long); from In select sum(v) as total insert into Out;"
)


async def _revisions(cluster: Cluster, app: str) -> list[str]:
    _, answer = await cluster.call("GET", "coordinator", f"/v1/apps/{app}/revisions")
    return [one["revision"] for one in answer["revisions"]]


async def _taken(cluster: Cluster, app: str, count: int) -> list[str]:
    """So many revisions with an event before each, newest first."""
    for number in range(count):
        await cluster.send(app, "In", {"v": 1})
        await cluster.published_count(app, number + 1)
        await cluster.snapshot(app)
    return await _revisions(cluster, app)


async def _delete(cluster: Cluster, path: str) -> tuple[int, Any]:
    return await cluster.call("DELETE", "coordinator", path)


async def test_revisions_go_one_by_one_and_the_needed_one_stays(cluster_of: Start) -> None:
    """409 with a hint for it; afterwards a replica that crashes finds its state."""
    async with cluster_of("coordinator", "processor-1", "receiver") as cluster:
        app = await cluster.deploy(TOTAL.format(name="Trimmed"))
        newest, middle, oldest = await _taken(cluster, app, 3)
        path = f"/v1/apps/{app}/revisions"
        assert (await _delete(cluster, f"{path}/{middle}"))[0] == 200
        assert await _revisions(cluster, app) == [newest, oldest]
        status, answer = await _delete(cluster, f"{path}/{middle}")
        assert (status, "no revision" in answer["detail"]) == (404, True)
        status, answer = await _delete(cluster, f"{path}/{newest}")
        assert (status, "lockstep snapshot" in answer["hint"]) == (409, True)
        assert await _delete(cluster, path) == (
            200, {"app": app, "deleted": [oldest], "kept": [newest]},
        )  # fmt: skip
        await cluster.crash("processor-1")
        await cluster.start("processor-2")
        await cluster.settled(app, 1)
        await cluster.send(app, "In", {"v": 1})
        rows = await cluster.published_count(app, 4)
        assert [row.data[0] for row in rows] == [1, 2, 3, 4]
        assert (await _delete(cluster, "/v1/apps/Nobody/revisions"))[0] == 404


async def _command(cluster: Cluster, *arguments: str) -> tuple[int, str]:
    """Exit code and output of `lockstep revisions`."""
    doors = ("RECEIVER", "PRESENTER", "COORDINATOR")
    url = cluster.url("coordinator")
    environment = {**os.environ, **{f"LOCKSTEP_CLIENT__{door}_URL": url for door in doors}}
    process = await asyncio.create_subprocess_exec(
        Path(sys.executable).with_name("lockstep"), "revisions", *arguments,
        env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    output, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, output.decode()


async def test_by_command(cluster_of: Start) -> None:
    """One, all, and the one that cannot go."""
    async with cluster_of("coordinator", "processor-1", "receiver") as cluster:
        app = await cluster.deploy(TOTAL.format(name="Commanded"))
        newest, *older = await _taken(cluster, app, 3)
        assert await _command(cluster, app, "--delete", older[0]) == (0, "deleted: 1\n")
        code, output = await _command(cluster, app, "--delete", newest)
        assert code != 0
        assert "lockstep snapshot" in output
        assert await _command(cluster, app, "--delete-all") == (0, f"deleted: {len(older) - 1}\n")
        assert await _revisions(cluster, app) == [newest]


async def test_what_shall_be_restored_stays(cluster_of: Start) -> None:
    """Also while nobody is there to carry it out."""
    async with cluster_of("coordinator", "processor-1", "receiver") as cluster:
        app = await cluster.deploy(TOTAL.format(name="Wanted"))
        newest, oldest, *_ = await _taken(cluster, app, 2)
        status, answer = await cluster.call(
            "POST", "coordinator", f"/v1/apps/{app}/restore", json={"revision": oldest}
        )
        assert (status, answer["done"]) == (200, True)
        assert (await _delete(cluster, f"/v1/apps/{app}/revisions/{oldest}"))[0] == 409
        _, answer = await _delete(cluster, f"/v1/apps/{app}/revisions")
        assert {newest, oldest} <= set(answer["kept"])


async def test_where_a_state_began_stays_known(cluster_of: Start) -> None:
    """As long as a state from before it is kept: a time would be taken for one before it."""
    keep = {"LOCKSTEP_PROCESSOR__REVISIONS_TO_KEEP": "20"}
    async with cluster_of("coordinator", "processor-1", "receiver", **keep) as cluster:
        app = await cluster.deploy(TOTAL.format(name="Begun"))
        before = await _taken(cluster, app, 2)
        _, answer = await cluster.call(
            "POST", "coordinator", f"/v1/apps/{app}/restore", json={"revision": before[-1]}
        )
        assert answer["done"]
        for number in range(2):
            await cluster.send(app, "In", {"v": 1})
            await cluster.published_count(app, 3 + number)
            await cluster.snapshot(app)
        first = [one for one in await _revisions(cluster, app) if one not in before][-1]
        status, answer = await _delete(cluster, f"/v1/apps/{app}/revisions/{first}")
        assert (status, "began" in answer["detail"]) == (409, True)
        _, answer = await _delete(cluster, f"/v1/apps/{app}/revisions")
        assert first in answer["kept"]


async def test_in_the_older_products_words(cluster_of: Start) -> None:
    """Of one app and of all; beginning again without state is refused, as it would lose rows."""
    async with cluster_of("coordinator", "processor-1", "receiver") as cluster:
        app = await cluster.deploy(TOTAL.format(name="Older"))
        there = await _taken(cluster, app, 2)
        status, answer = await _delete(cluster, f"/siddhi-apps/{app}/revisions")
        assert (status, "purge" in answer["hint"]) == (409, True)
        off = "?enabledRedeployment=false"
        status, answer = await _delete(cluster, f"/siddhi-apps/{app}/revisions{off}")
        assert (status, answer["message"].split()[0]) == (200, str(len(there) - 1))
        status, answer = await _delete(cluster, f"/siddhi-apps/revisions{off}")
        assert (status, answer["message"].split()[0]) == (200, "0")
        assert await _revisions(cluster, app) == there[:1]
