"""An app that begins with what was archived, and is cut into partitions then: with that state."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from tests.integration.services.cluster import Cluster, until
from tests.integration.services.conftest import Start
from tests.integration.services.pasts import archived, trimmed
from tests.integration.services.test_fleets import UNNAMED, expected, feed, ready, rows_of

NODES = ("coordinator", "processor-1", "receiver", "publisher", "presenter")
SOURCE = (
    "@app:name('Source') define stream In (k string, v long); from In select v insert into Out;"
)
LIMIT_S = 120


async def command(cluster: Cluster, *arguments: str) -> tuple[int | None, str, str]:
    """`lockstep …` as a process of its own: how it ends, and what it says."""
    own = {
        f"LOCKSTEP_CLIENT__{service.upper()}_URL": cluster.url(service)
        for service in ("receiver", "presenter", "coordinator")
    }
    process = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).with_name("lockstep")), *arguments,
        env={**os.environ, **own}, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    async with asyncio.timeout(LIMIT_S):
        out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


async def test_one_command_begins_in_one_unit_and_cuts_it(
    cluster_of: Start, tmp_path: Path
) -> None:
    """Each partition goes on with the sums of its keys, and the rest with what it had counted."""
    async with cluster_of(*NODES, **archived(tmp_path)) as cluster:
        await cluster.deploy(SOURCE)
        await feed(cluster, "Source", 0, 60)
        await trimmed(cluster, "Source")
        file = tmp_path / "cut.siddhi"
        file.write_text(UNNAMED.format(name="Cut").strip())
        past = ("--from", "2020-01-01", "--from-app", "Source")
        code, out, err = await command(
            cluster, "deploy", str(file), *past, "--parallel", "3", "--json"
        )
        assert code == 0, err
        told = json.loads(out)
        assert (told["progress"]["phase"], told["units"]) == ("done", 4)
        replicas = (await cluster.status("Cut"))["replicas"]
        each = len({one["node"] for one in replicas})
        found = await ready(cluster, "Cut", 4, max(1, each))
        assert all(one["began_empty"] == [] for one in found["replicas"])
        await feed(cluster, "Cut", 60, 60)
        whole: list[tuple[Any, ...]] = []

        async def there() -> bool:
            logs = await rows_of(cluster, "Cut")
            whole[:] = [row.data for rows in logs.values() for row in rows if row.stream == "Whole"]
            return len(whole) >= 60

        await until(there, "the rows of the fleet", seen=lambda: len(whole))
        assert whole == expected(120)["Whole"][60:]


async def test_what_is_cut_already_does_not_begin_with_a_past(
    cluster_of: Start, tmp_path: Path
) -> None:
    """It says what to do instead, and goes on."""
    async with cluster_of(*NODES, **archived(tmp_path)) as cluster:
        await cluster.deploy(SOURCE)
        await feed(cluster, "Source", 0, 6)
        await trimmed(cluster, "Source")
        wish = {"text": UNNAMED.format(name="Fleet"), "parallel": 3}
        status, answer = await cluster.asked("PUT", "/v1/apps", json=wish)
        assert status == 201, answer
        body = {**wish, "past": {"from_ms": 0, "app": "Source"}}
        status, answer = await cluster.asked("PUT", "/v1/apps", json=body)
        assert status == 409
        assert "under another name with --from-app" in answer["hint"]
