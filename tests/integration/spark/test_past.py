"""An app on Spark begins with what was archived: its state is that of one that ran all the time."""

from __future__ import annotations

from pathlib import Path

import pytest

from lockstep.archive.place import Place
from lockstep.embedded import EmbeddedServers
from tests.integration.services.cluster import running_cluster
from tests.integration.services.pasts import (
    ALONE,
    all_records,
    archived,
    deploy_from,
    done,
    feed,
    ran_all_the_time,
    state_of,
    trimmed,
)
from tests.integration.services.test_going_back import back_to, between, end_of

pytestmark = pytest.mark.timeout(300)  # Spark begins in seconds, on a crowded machine in a minute
TEXT = (
    "@app:name('{name}') define stream In (k string, v long);"
    " define table Last (k string, v long);"
    " from In#window.length({length}) select k, sum(v) as total group by k insert into Out;"
    " from In select k, v update or insert into Last on Last.k == k;"
    " from every a=In[v % 7 == 3] -> b=In[v == a.v + 3] select a.v as one, b.v as two"
    " insert into Pairs;"
)


async def test_the_past_is_folded_on_spark(
    spark_env: None, servers: EmbeddedServers, tmp_path: Path
) -> None:
    """A changed text on the app's own log, and another app with that archive."""
    settings = {
        **archived(tmp_path),
        "LOCKSTEP_PROCESSOR__EXECUTOR": "spark",
        "LOCKSTEP_SPARK__STATE_DIRECTORY": str(tmp_path / "spark"),
    }
    async with running_cluster(servers, tmp_path, ALONE, **settings) as cluster:
        app = await cluster.deploy(TEXT.format(name="Sparks", length=20))
        await feed(cluster, app, 0, 120)
        await trimmed(cluster, app)
        text = TEXT.format(name="Sparks", length=30)
        await deploy_from(cluster, text)
        found = await done(cluster, app)
        assert (found["phase"], found["events"]) == ("done", 120)
        await feed(cluster, app, 120, 30)
        await cluster.settled(app, 1)
        position, snapshot = await state_of(cluster, app)
        entries = await all_records(cluster, app, Place(str(tmp_path / "archive")))
        assert snapshot == ran_all_the_time(text, entries, position, columnar=True)
        await deploy_from(cluster, TEXT.format(name="Second", length=30), app=app)
        assert (await done(cluster, "Second"))["events"] == 150
        await feed(cluster, "Second", 150, 3)
        rows = await cluster.published_count("Second", 3)
        held = {f"k{k}": sum(v for v in range(121, 150) if v % 5 == k) for k in range(5)}
        first = next(row for row in rows if row.stream == "Out")
        assert first.data == ("k0", held["k0"] + 150)


async def test_an_app_on_spark_goes_back_to_a_time(
    spark_env: None, servers: EmbeddedServers, tmp_path: Path
) -> None:
    """From the revision before it: windows, tables and patterns are those of one that stopped
    then, and it goes on with them."""
    settings = {
        **archived(tmp_path),
        "LOCKSTEP_PROCESSOR__EXECUTOR": "spark",
        "LOCKSTEP_SPARK__STATE_DIRECTORY": str(tmp_path / "spark"),
    }
    async with running_cluster(servers, tmp_path, ALONE, **settings) as cluster:
        text = TEXT.format(name="Back", length=20)
        app = await cluster.deploy(text)
        await feed(cluster, app, 0, 60)
        await cluster.published_count(app, 60)
        kept = await cluster.snapshot(app)
        await feed(cluster, app, 60, 30)
        then, end = await between(), await end_of(cluster, app)
        await feed(cluster, app, 90, 60)
        await cluster.snapshot(app)
        answer = await back_to(cluster, app, then)
        assert (answer["revision"], answer["position"]) == (kept, end)
        _, snapshot = await state_of(cluster, app)
        entries = await all_records(cluster, app, Place(str(tmp_path / "archive")))
        assert snapshot == ran_all_the_time(text, entries, end, columnar=True)
        before = len(await cluster.published_count(app, 1))
        await feed(cluster, app, 90, 3)
        rows = (await cluster.published_count(app, before + 3))[before:]
        held = sum(v for v in range(71, 91) if v % 5 == 0)
        assert next(row for row in rows if row.stream == "Out").data == ("k0", held)
