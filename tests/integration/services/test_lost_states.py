"""A processor on Spark whose worker dies with a state that is too large to be kept twice."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from lockstep.execute.spark.jobs import WORKER_SLOT
from tests.integration.services.conftest import Start
from tests.integration.services.test_processor import COUNT, expected, feed


def kill_workers() -> int:
    """Spark's Python workers below this process; how many there were."""
    killed = 0
    for pid in _below(os.getpid()):
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            continue
        if f"{WORKER_SLOT}=".encode() in environment:
            os.kill(pid, signal.SIGKILL)
            killed += 1
    return killed


def _below(root: int) -> list[int]:
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found, waiting = [], [root]
    while waiting:
        parent = waiting.pop()
        children = [pid for pid, other in parents.items() if other == parent]
        found += children
        waiting += children
    return found


async def test_the_replica_begins_again_from_its_revision(
    cluster_of: Start, spark_env: None
) -> None:
    """Nothing is lost and nothing is published twice, whether there is a revision or none yet."""
    settings = {
        "LOCKSTEP_PROCESSOR__EXECUTOR": "spark",
        "LOCKSTEP_PROCESSOR__REBUILD_MAX_BYTES": "1",
    }
    async with cluster_of("coordinator", "processor-1", "receiver", **settings) as cluster:
        app = await cluster.deploy(COUNT.format(name="Lost"))
        await feed(cluster, app, 0, 10)
        await cluster.published_count(app, 10)
        assert kill_workers()
        await feed(cluster, app, 10, 5)
        await cluster.published_count(app, 15)
        await cluster.snapshot(app)
        await feed(cluster, app, 15, 3)
        await cluster.published_count(app, 18)
        assert kill_workers()
        await feed(cluster, app, 18, 6)
        rows = await cluster.published_count(app, 24)
        assert [row.data for row in rows] == expected(24)
