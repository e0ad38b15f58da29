"""What leaves a fleet against real servers: sinks and pages, over other numbers of partitions."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from aiohttp import web

from lockstep.control import group_and_layout
from tests.integration.services.cluster import Cluster, table, until
from tests.integration.services.conftest import Start
from tests.integration.services.webhook import webhook

KEYS = 7
NODES = ("coordinator", "processor-1", "receiver", "publisher-1", "publisher-2", "presenter")
TEXT = """
@app:name('Out')
define stream In (k string, v long);
@store(type='rdbms', table.name='out newest')
@PrimaryKey('k')
define table Newest (k string, v long);
@sink(type='rdbms', table.name='out log')
@sink(type='file', file.uri='{file}')
@sink(type='http', publisher.url='{url}', @map(type='json'))
define stream Log (k string, v long);
partition with (k of In)
begin
  from In[v >= 0] select k, v insert into Mid;
end;
from Mid select k, v insert into Log;
from Mid select k, v update or insert into Newest on Newest.k == k;
"""


async def deployed(cluster: Cluster, text: str, parallel: int | None) -> None:
    """In whatever units the planner cuts it into, each of them led."""
    wanted = {"text": text} if parallel is None else {"text": text, "parallel": parallel}
    status, answer = await cluster.asked("PUT", "/v1/apps", json=wanted)
    assert status in (200, 201), answer
    seen: Any = None

    async def there() -> bool:
        nonlocal seen
        seen = await cluster.status("Out")
        own = [one for one in seen["replicas"] if one["layout"] == answer["layout"]]
        ready = {one["unit"] for one in own if one["ready"]}
        return bool(seen["layout"] == answer["layout"] and len(ready) == answer["units"])

    await until(there, "all units", seen=lambda: seen)


async def feed(cluster: Cluster, start: int, count: int) -> None:
    """Events one after the other."""
    for i in range(start, start + count):
        await cluster.send("Out", "In", {"k": f"k{i % KEYS}", "v": i})


def expected(count: int) -> list[tuple[str, int]]:
    """The rows of one node, one per event."""
    return [(f"k{i % KEYS}", i) for i in range(count)]


async def shown(cluster: Cluster, stream: str) -> Any:
    """What the presenter has of a stream."""
    _, answer = await cluster.call("GET", "presenter", f"/v1/apps/Out/streams/{stream}/latest")
    return answer


async def test_sinks_and_pages_of_an_app_that_becomes_a_fleet_and_is_cut_anew(
    cluster_of: Start, tmp_path: Path
) -> None:
    """One unit, then three partitions, then two, under load, while publishers crash: the database
    and the file have each row once and in order, the webhook each at least once under one id, the
    page the newest ones; and the logs of former layouts go."""
    path = tmp_path / "log.jsonl"
    hooked: dict[str, Any] = {}

    async def hook(request: web.Request) -> web.Response:
        hooked[request.headers["Idempotency-Key"]] = await request.json()
        return web.Response()

    settings = {
        "LOCKSTEP_PUBLISHER__TRIM_INTERVAL_MS": "300",
        "LOCKSTEP_PUBLISHER__KEEP_RECORDS": "20",
        "LOCKSTEP_PROCESSOR__SNAPSHOT_INTERVAL_MS": "1000",
    }
    async with webhook(hook) as url, cluster_of(*NODES, **settings) as cluster:
        text = TEXT.format(file=path, url=url)
        count = 0
        for parallel, crash in ((None, None), (3, "publisher-1"), (2, "publisher-2")):
            await deployed(cluster, text, parallel)
            feeding = asyncio.create_task(feed(cluster, count, 60))
            if crash is not None:
                await cluster.crash(crash)
                await cluster.start(crash)
            await feeding
            count += 60
        wanted = expected(count)
        rows: list[tuple[Any, ...]] = []

        async def all_there() -> bool:
            nonlocal rows
            rows = await table(cluster, 'SELECT k, v FROM "out log"')
            lines = path.read_text().splitlines() if path.exists() else []
            return min(len(rows), len(lines), len(hooked)) >= count

        await until(all_there, "all rows", seen=lambda: (len(rows), len(hooked)))
        assert rows == wanted
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        assert [tuple(one["event"].values()) for one in lines] == wanted
        ids = [tuple(map(int, one["id"].split("."))) for one in lines]
        assert ids == sorted(set(ids))
        assert sorted(tuple(one["event"].values()) for one in hooked.values()) == sorted(wanted)
        found = await table(cluster, 'SELECT k, v FROM "out newest"')
        assert dict(found) == dict(wanted)
        answer = await shown(cluster, "Log")
        newest = [tuple(one["event"].values()) for one in answer["events"]]
        assert newest[:10] == wanted[:-11:-1]
        await feed(cluster, count, 60)
        present = (await cluster.status("Out"))["layout"]

        async def only_present() -> bool:
            names = await cluster.watcher.bus.logs("Out")
            return {group_and_layout(one.group)[1] for one in names} == {0, present}

        await until(only_present, "no logs of former layouts")
