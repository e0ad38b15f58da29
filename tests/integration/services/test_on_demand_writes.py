"""On-demand queries that change tables: once, at one position, on every replica."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from typer.testing import CliRunner

from lockstep.cli.command import app as command
from lockstep.events import WriteRecord
from tests.integration.services.cluster import Cluster
from tests.integration.services.conftest import Start

NODES = ("coordinator", "processor-1", "processor-2", "receiver", "presenter")
TEXT = """
@app:name('{name}')
define stream In (k string, v int);
@PrimaryKey('k')
define table T (k string, v int);
from In select k, v update or insert into T set T.v = T.v + v on T.k == k;
"""


async def ask(cluster: Cluster, app: str, query: str, key: str | None = None) -> tuple[int, Any]:
    """(status, answer) of the presenter."""
    headers = {} if key is None else {"Idempotency-Key": key}
    path = f"/v1/apps/{app}/query"
    return await cluster.call("POST", "presenter", path, json={"query": query}, headers=headers)


async def changed(cluster: Cluster, app: str, query: str, key: str | None = None) -> int:
    """How many rows a write changed; it must be accepted."""
    status, answer = await ask(cluster, app, query, key)
    assert status == 200, answer
    assert answer["records"] == []
    return int(answer["changed"])


async def rows(cluster: Cluster, app: str) -> list[list[Any]]:
    """The table."""
    status, answer = await ask(cluster, app, "from T select k, v order by k")
    assert status == 200, answer
    found: list[list[Any]] = answer["records"]
    return found


async def test_every_kind_of_write_says_how_many_rows_it_changed(cluster_of: Start) -> None:
    """Insert, update, update or insert, delete; what is wrong is told with its place."""
    async with cluster_of("coordinator", "processor-1", "receiver", "presenter") as cluster:
        app = await cluster.deploy(TEXT.format(name="Kinds"))
        assert await changed(cluster, app, "select 'a' as k, 1 as v insert into T") == 1
        assert await changed(cluster, app, "select 'a' as k, 9 as v insert into T") == 0
        await cluster.send(app, "In", ["b", 5])
        upsert = "select 'c' as k, 3 as v update or insert into T set T.v = v on T.k == k"
        assert await changed(cluster, app, upsert) == 1
        assert await changed(cluster, app, "update T set T.v = T.v * 10 on T.v < 4") == 2
        assert await rows(cluster, app) == [["a", 10], ["b", 5], ["c", 30]]
        assert await changed(cluster, app, "delete T on T.v > 5") == 2
        assert await rows(cluster, app) == [["b", 5]]
        status, answer = await ask(cluster, app, "select 'd' as k\n insert into U")
        assert (status, answer["errors"]) == (400, [{"line": 2, "column": 2}])
        status, answer = await ask(cluster, app, "select 'd' as k, 1 as v insert into T", "x" * 201)
        assert (status, "Idempotency-Key" in answer["detail"]) == (400, True)
        assert await rows(cluster, app) == [["b", 5]]


async def test_a_write_is_applied_once_whoever_leads(cluster_of: Start) -> None:
    """The leader dies, its successor has the same rows; the same key changes nothing twice, also
    when the record stands in the log twice and when everything is replayed.
    """
    add = "update T set T.v = T.v + 100 on T.k == 'a'"
    async with cluster_of(*NODES) as cluster:
        app = await cluster.deploy(TEXT.format(name="Once"), replicas=2)
        await cluster.send(app, "In", ["a", 1])
        assert await changed(cluster, app, add, "first") == 1
        await cluster.send(app, "In", ["a", 10])
        assert await changed(cluster, app, add, "first") == 1
        before = await rows(cluster, app)
        assert before == [["a", 111]]

        leader = await cluster.active(app)
        await cluster.crash(leader)
        assert await rows(cluster, app) == before
        assert await changed(cluster, app, add, "first") == 1
        assert await changed(cluster, app, add, "second") == 1
        assert await rows(cluster, app) == [["a", 211]]
        entries = await cluster.taken_in(app)
        ids = [e.record.request_id for e in entries if isinstance(e.record, WriteRecord)]
        assert ids.count("first") >= 3
        assert ids[-1] == "second"

        other = await cluster.active(app)
        await cluster.crash(other)
        await cluster.start(leader)
        assert await rows(cluster, app) == [["a", 211]]
        assert await changed(cluster, app, add, "second") == 1
        assert await rows(cluster, app) == [["a", 211]]


async def test_lockstep_query_writes(cluster_of: Start) -> None:
    """The command says how many rows changed; the same --id changes them once."""
    async with cluster_of("coordinator", "processor-1", "receiver", "presenter") as cluster:
        app = await cluster.deploy(TEXT.format(name="Command"))
        addresses = [f"--{s}={cluster.url(s)}" for s in ("receiver", "presenter", "coordinator")]

        async def lockstep(*words: str) -> str:
            run = await asyncio.to_thread(
                CliRunner().invoke, command, [*addresses, "query", *words]
            )
            assert run.exit_code == 0, run.output
            return run.output

        insert = "select 'a' as k, 1 as v insert into T"
        assert "changed 1 row\n" in await lockstep(app, insert)
        add = "update T set T.v = T.v + 1 on T.k == 'a'"
        for _ in range(2):
            told = json.loads(await lockstep(app, add, "--id", "one", "--json"))
            assert told["changed"] == 1
        assert json.loads(await lockstep(app, "from T select v", "--json"))["records"] == [[2]]
