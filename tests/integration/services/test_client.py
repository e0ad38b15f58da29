"""The client helper against two real receivers: each event once in the log, in every mode."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

import pytest

from lockstep.client import EventClient, EventRefusedError, Limits
from lockstep.events import EventsRecord
from tests.integration.services.cluster import Cluster
from tests.integration.services.conftest import Start

ROOT = Path(__file__).parents[3]
CLIENT = "libs/lockstep/client/DESIGN.md"
TEXT = "@app:name('{name}') define stream In (v int); from In select v insert into Out;"
PATIENCE_S = 120
LIMITS = Limits(batch_events=20, request_timeout_ms=1_500, backoff_ms=20, avoid_failed_ms=200)


async def in_log(cluster: Cluster, app: str) -> list[int]:
    """The values of all events of the input log."""
    entries = await cluster.taken_in(app)
    records = [entry.record for entry in entries if isinstance(entry.record, EventsRecord)]
    return [event.data[0] for one in records for chunk in one.chunks for event in chunk]


@pytest.mark.parametrize("mode", ["any", "failover", "all"])
async def test_receivers_crash_and_each_event_is_in_the_log_once(
    cluster_of: Start, mode: str
) -> None:
    """One receiver dies and comes back under load, then the other: once each, in order."""
    async with cluster_of("coordinator", "processor-1", "receiver-1", "receiver-2") as cluster:
        app = await cluster.deploy(TEXT.format(name=f"Mode{mode}"))
        urls = [cluster.nodes[name].url for name in ("receiver-1", "receiver-2")]
        async with EventClient(urls, app, mode=mode, limits=LIMITS) as client:
            for i in range(300):
                await client.put("In", {"v": i})
                if i == 100:
                    await cluster.crash("receiver-1")
            with pytest.raises(EventRefusedError, match="v"):
                await client.send("In", {"v": "x"})
        assert await in_log(cluster, app) == list(range(300))
        rows = await cluster.published_count(app, 300)
        assert [row.data[0] for row in rows] == list(range(300))


async def test_the_pages_example_runs(cluster_of: Start, tmp_path: Path) -> None:
    """As it stands on the client's page, but for the address, with the README's app."""
    page, client = (ROOT / "README.md").read_text(), (ROOT / CLIENT).read_text()
    shown = re.search(r"^```py\n(.*?)^```$", client, re.MULTILINE | re.DOTALL)
    hot = re.search(r"^```sql\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert shown is not None
    assert hot is not None
    async with cluster_of("coordinator", "processor-1", "receiver") as cluster:
        await cluster.deploy(hot[1])
        code = shown[1].replace("http://127.0.0.1:8280", cluster.url("receiver"))
        running = await asyncio.create_subprocess_exec(
            sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE, cwd=tmp_path
        )
        async with asyncio.timeout(PATIENCE_S):
            said, _ = await running.communicate()
        assert running.returncode == 0
        assert b"Receipt(first_position=" in said
        rows = await cluster.published_count("Hot", 19)
        assert rows[-1].data == ("attic", 39.5)
