"""Time goes on in apps in which nothing happens, whatever their state came from."""

from __future__ import annotations

from typing import Any

from lockstep.events import EventsRecord
from tests.integration.services.cluster import Cluster, revisions_of, until
from tests.integration.services.conftest import Start

NODES = ("coordinator", "processor-1", "receiver")
QUICK = {"LOCKSTEP_PROCESSOR__SNAPSHOT_INTERVAL_MS": "300"}
TEXT = (
    "@app:name('{name}') define stream S (v int); "
    "from S#window.timeBatch(6 sec) select sum(v) as total insert into T;"
)


async def stored(cluster: Cluster, app: str) -> None:
    """A revision holds all that has come; nothing comes behind it."""

    async def at_the_end() -> bool:
        taken = await cluster.taken_in(app)
        found = await revisions_of(cluster.watcher, app)
        has_events = any(isinstance(entry.record, EventsRecord) for entry in taken)
        return has_events and taken[-1].position in [one.position for one in found if one.verified]

    await until(at_the_end, "a revision at the log's end")


async def totals(cluster: Cluster, app: str) -> list[tuple[Any, ...]]:
    """Once there are some."""

    async def some() -> Any:
        return [row.data for row in await cluster.published(app)] or None

    return list(await until(some, "a row of a batch that has ended"))


async def test_a_batch_ends_though_the_processor_began_from_a_revision(cluster_of: Start) -> None:
    """It has folded nothing since, so nothing told it when the batch ends."""
    async with cluster_of(*NODES, **QUICK) as cluster:
        app = await cluster.deploy(TEXT.format(name="Restarted"))
        await cluster.send(app, "S", [[1], [2]])
        await stored(cluster, app)
        await cluster.crash("processor-1")
        assert await cluster.published(app) == []
        await cluster.start("processor-1")
        assert await totals(cluster, app) == [(3,)]


async def test_a_batch_ends_though_the_app_was_upgraded_meanwhile(cluster_of: Start) -> None:
    """The batch is of the text before."""
    async with cluster_of(*NODES, **QUICK) as cluster:
        app = await cluster.deploy(TEXT.format(name="Upgraded"))
        await cluster.send(app, "S", [[1], [2]])
        await stored(cluster, app)
        assert await cluster.published(app) == []
        more = " from S[v > 1000] select v insert into Big;"
        await cluster.deploy(TEXT.format(name="Upgraded") + more)
        assert await totals(cluster, app) == [(3,)]


async def test_a_trigger_starts_in_an_app_that_had_another_text(cluster_of: Start) -> None:
    """Its log has positions already, and the new text has folded none of them."""
    async with cluster_of(*NODES, **QUICK) as cluster:
        app = await cluster.deploy(TEXT.format(name="Again"))
        await cluster.send(app, "S", [[1]])
        await stored(cluster, app)
        assert (await cluster.call("DELETE", "coordinator", f"/v1/apps/{app}"))[0] == 200
        await cluster.deploy(
            "@app:name('Again') define trigger Started at 'start'; "
            "define trigger Often at every 300 millisec; "
            "from Started select 1 as one insert into Begun; "
            "from Often select 2 as two insert into Ticks;"
        )

        async def some() -> bool:
            found = [row.stream for row in await cluster.published(app)]
            return found.count("Begun") == 1 and found.count("Ticks") >= 3

        await until(some, "rows of both triggers")
