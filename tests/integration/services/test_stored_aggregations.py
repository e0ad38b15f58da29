"""@store on an aggregation against PostgreSQL: its finished buckets, whoever leads."""

from __future__ import annotations

import asyncpg

from tests.integration.services.cluster import Cluster, until
from tests.integration.services.conftest import Start

TEXT = """
@app:name('Buckets')
@app:shardId('here')
define stream In (k string, v int, at long);
@store(type='rdbms') @PartitionById(enable='true')
define aggregation Sums from In select k, sum(v) as total, avg(v) as mean group by k
aggregate by at every sec, min;
"""
NODES = ("coordinator", "processor-1", "processor-2", "receiver", "publisher", "presenter")


async def rows(cluster: Cluster, name: str) -> list[tuple[object, ...]]:
    """A table of the cluster's own database."""
    connection = await asyncpg.connect(cluster.settings.store.postgres_dsn.get_secret_value())
    try:
        found = await connection.fetch(
            'SELECT "AGG_TIMESTAMP", "SHARD_ID", k, "AGG_LAST_EVENT_TIMESTAMP", "AGG_SUM_v", '
            f'"AGG_COUNT" FROM "{name}" ORDER BY 1, 3'
        )
        return [tuple(row) for row in found]
    except asyncpg.UndefinedTableError:
        return []
    finally:
        await connection.close()


async def test_finished_buckets_are_in_the_database_once(cluster_of: Start) -> None:
    """Also those of a late event, and of a bucket that one leader opened and the next closed."""
    async with cluster_of(*NODES) as cluster:
        app = await cluster.deploy(TEXT, replicas=2)
        for event in (["a", 1, 1000], ["a", 2, 1500], ["b", 4, 1600], ["a", 8, 2000]):
            await cluster.send(app, "In", event)

        async def first() -> bool:
            return len(await rows(cluster, "Sums_SECONDS")) == 2

        await until(first, "the first second is stored")
        await cluster.crash(await cluster.active(app))
        await cluster.send(app, "In", ["b", 16, 1700])
        await cluster.send(app, "In", ["a", 32, 61_000])

        async def second() -> bool:  # each table is written by a sink of its own
            seconds, minutes = [
                await rows(cluster, f"Sums_{one}") for one in ("SECONDS", "MINUTES")
            ]
            return len(seconds) == 3 and len(minutes) == 2

        await until(second, "the first minute is stored")
        assert await rows(cluster, "Sums_SECONDS") == [
            (1000, "here", "a", 1500, 3, 2),
            (1000, "here", "b", 1700, 20, 2),
            (2000, "here", "a", 2000, 8, 1),
        ]
        assert await rows(cluster, "Sums_MINUTES") == [
            (0, "here", "a", 2000, 11, 3),
            (0, "here", "b", 1700, 20, 2),
        ]
        status, answer = await cluster.call(
            "GET", "presenter", f"/v1/apps/{app}/tables/Sums_MINUTES"
        )
        assert status == 200, answer
        assert answer["key"] == ["AGG_TIMESTAMP", "SHARD_ID", "k"]
