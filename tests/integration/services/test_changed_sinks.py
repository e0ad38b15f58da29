"""Sinks that come, go or change places: each goes on where it was."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any

from aiohttp import web

from lockstep.store import NumberedSink, SinkNumbers, Written, cursor_name
from tests.integration.services.cluster import Cluster, log_of, table, until
from tests.integration.services.conftest import Start
from tests.integration.services.webhook import webhook

NODES = ("coordinator", "processor-1", "receiver", "publisher-1")


class Hooks:
    """Webhooks at one address, by what stands behind its `?`."""

    def __init__(self) -> None:
        self.got: defaultdict[str, list[int]] = defaultdict(list)
        self.away: set[str] = set()

    async def receive(self, request: web.Request) -> web.Response:
        """One row."""
        to, value = request.query_string, (await request.json())["event"]["n"]
        if to in self.away:
            return web.Response(status=503)
        self.got[to].append(value)
        return web.Response()

    async def have(self, **wanted: list[int]) -> None:
        """Waits until they have got that, and no more or less."""

        async def there() -> bool:
            return all(self.got[to] == rows for to, rows in wanted.items())

        await until(there, str(wanted), seen=lambda: dict(self.got))


def text_of(url: str, *places: str) -> str:
    """An app whose sinks wait for these."""
    sinks = "".join(
        f"@sink(type='http', publisher.url='{url}?{to}', on.error='WAIT', @map(type='json')) "
        for to in places
    )
    return (
        f"@app:name('Hooked') define stream In (n int); {sinks} define stream Out (n int);"
        " from In select n insert into Out;"
    )


async def send(cluster: Cluster, app: str, *values: int) -> None:
    """One event after the other, each a record of the output log."""
    for value in values:
        await cluster.send(app, "In", {"n": value})


async def sinks(cluster: Cluster, app: str) -> list[str]:
    """Their names, as the status has them in the order of the text."""
    return [
        one["element"] for one in (await cluster.status(app))["connectors"] if one["kind"] == "sink"
    ]


async def test_a_sink_goes_on_where_one_before_it_is_taken_out(cluster_of: Start) -> None:
    """What it was owed comes; also when the app was undeployed in between, and another publisher
    delivers it. The one that comes back goes on, too."""
    hooks = Hooks()
    async with webhook(hooks.receive) as url, cluster_of(*NODES) as cluster:
        hooks.away.add("a")
        app = await cluster.deploy(text_of(url, "b", "a"))
        await send(cluster, app, 0, 1, 2)
        await hooks.have(b=[0, 1, 2], a=[])
        _, told = await cluster.call(
            "POST", "coordinator", "/v1/preview", json={"text": text_of(url, "a")}
        )
        assert [out.partition(" ")[0] for out in told["sinks_out"]] == ["Out.0.http"]
        await cluster.deploy(text_of(url, "a"))
        assert await sinks(cluster, app) == ["sink:Out.1.http"]
        await cluster.call("DELETE", "coordinator", f"/v1/apps/{app}")
        await cluster.stop("publisher-1")
        await cluster.deploy(text_of(url, "a"))
        await cluster.start("publisher-2")
        hooks.away.clear()
        await send(cluster, app, 3)
        await hooks.have(b=[0, 1, 2], a=[0, 1, 2, 3])
        await cluster.deploy(text_of(url, "a", "b"))
        await send(cluster, app, 4)
        await hooks.have(b=[0, 1, 2, 3, 4], a=[0, 1, 2, 3, 4])
        assert await sinks(cluster, app) == ["sink:Out.1.http", "sink:Out.0.http"]


async def test_a_sink_in_front_of_another_sends_nothing_again(cluster_of: Start) -> None:
    """The new one gets what the log still has. A pause stays with the sink that it is for."""
    hooks = Hooks()
    async with webhook(hooks.receive) as url, cluster_of(*NODES) as cluster:
        app = await cluster.deploy(text_of(url, "a"))
        await send(cluster, app, 0, 1, 2)
        await hooks.have(a=[0, 1, 2])
        path = f"/v1/apps/{app}/connectors/sink:Out.0.http"
        status, answer = await cluster.call("POST", "coordinator", f"{path}/pause", json={})
        assert (status, answer["paused"]) == (200, ["sink:Out.0.http"]), answer
        await cluster.deploy(text_of(url, "b", "a"))
        await send(cluster, app, 3)
        await hooks.have(b=[0, 1, 2, 3], a=[0, 1, 2])
        await cluster.call("POST", "coordinator", f"{path}/resume", json={})
        await send(cluster, app, 4)
        await hooks.have(b=[0, 1, 2, 3, 4], a=[0, 1, 2, 3, 4])
        log = await log_of(cluster.watcher, app)
        cursors = cluster.watcher.store.cursors
        names = [cursor_name(app, f"Out.{number}.http", log.since_ms) for number in (0, 1)]
        assert set(names) <= set(await cursors.names(app))


async def test_other_numbers_of_the_same_text_count(cluster_of: Start) -> None:
    """As a coordinator of an earlier release may have lost them in between."""
    hooks = Hooks()
    async with webhook(hooks.receive) as url, cluster_of(*NODES) as cluster:
        app = await cluster.deploy(text_of(url, "a"))
        await send(cluster, app, 0)
        await hooks.have(a=[0])
        deployments = cluster.watcher.store.deployments
        one = await deployments.get(app)
        assert one is not None
        sink = NumberedSink("Out", "http", 7, "place", "whole")
        following = replace(one, life=one.life.next, sinks=SinkNumbers((sink,)))
        assert await deployments.put(following, epoch=10**15) == Written()

        async def delivers() -> Any:
            return [one["sink"] for one in (await cluster.status(app))["sinks"]] == ["Out.7.http"]

        await until(delivers, "the sink under its number")


async def test_a_database_that_keeps_the_cursor_has_each_row_once(cluster_of: Start) -> None:
    """The cursor in it bears the sink's name, too."""

    def text_with(*tables: str) -> str:
        made = "".join(f"@sink(type='rdbms', table.name='{name}') " for name in tables)
        return (
            f"@app:name('Tabled') define stream In (n int); {made} define stream Out (n int);"
            " from In select n insert into Out;"
        )

    async with cluster_of(*NODES) as cluster:

        async def rows_are(name: str, wanted: list[int]) -> None:
            async def there() -> Any:
                found = await table(cluster, f'SELECT n FROM "{name}" ORDER BY n')
                return [row[0] for row in found] == wanted

            await until(there, f"{name}: {wanted}")

        app = await cluster.deploy(text_with("one", "two"))
        await send(cluster, app, 0, 1)
        await rows_are("one", [0, 1])
        await rows_are("two", [0, 1])
        await cluster.deploy(text_with("two"))
        await send(cluster, app, 2)
        await rows_are("two", [0, 1, 2])
        await cluster.deploy(text_with("two", "new", "one"))
        await send(cluster, app, 3)
        for name in ("one", "two", "new"):
            await rows_are(name, [0, 1, 2, 3])
