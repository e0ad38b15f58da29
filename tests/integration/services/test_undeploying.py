"""Undeploying on real servers: what goes on afterwards, and that nothing done late harms it."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import nats
import pytest

from lockstep.bus import LogGoneError, output_subject
from lockstep.bus.subjects import stream_name
from lockstep.embedded import EmbeddedServers
from lockstep.events import InputEvent
from lockstep.events.records import EventsRecord
from lockstep.store import Written, cursor_name
from tests.integration.services.cluster import Cluster, log_of, revisions_of, until
from tests.integration.services.conftest import Start

TEXT = """@app:name('{name}') define stream In (a int);
@sink(type='log') define stream Out (n long);
from In select count() as n insert into Out;"""
NODES = ("coordinator", "processor-1", "receiver", "publisher")


async def undeploy(cluster: Cluster, app: str, *, purge: bool = False) -> int:
    """The status; waits until no receiver takes events for it."""
    query = "?purge=true" if purge else ""
    status, _ = await cluster.call("DELETE", "coordinator", f"/v1/apps/{app}{query}")

    async def unknown() -> Any:
        _, answer = await cluster.call(
            "POST", "receiver", f"/v1/apps/{app}/streams/None/events", json={}
        )
        return "no app named" in answer["detail"]

    await until(unknown, "404")
    return status


async def counted(cluster: Cluster, app: str, rows: int) -> list[int]:
    """The published counts after one more event."""
    await cluster.send(app, "In", {"a": 1})
    return [row.data[0] for row in await cluster.published_count(app, rows)]


async def test_a_version_right_behind_a_redeployment_has_the_state(cluster_of: Start) -> None:
    """Whoever carries the app did not run between the two, and no revision was asked for."""
    async with cluster_of(*NODES) as cluster:
        text = TEXT.format(name="Behind")
        app = await cluster.deploy(text)
        assert await counted(cluster, app, 1) == [1]
        await undeploy(cluster, app)
        await cluster.stop("processor-1")
        for version in (text, text.replace("int)", "int) ")):
            body = {"text": version}
            status, answer = await cluster.call("POST", "coordinator", "/v1/apps", json=body)
            assert status in (200, 201), answer
        await cluster.start("processor-1")
        assert await counted(cluster, app, 2) == [1, 2]
        _, answer = await cluster.call("GET", "coordinator", f"/v1/apps/{app}")
        assert answer["generation"] == 3


async def test_another_text_begins_empty_behind_what_there_was(cluster_of: Start) -> None:
    """In the same logs, so that its sinks go on; so does the first text, deployed after it."""
    async with cluster_of(*NODES) as cluster:
        text = TEXT.format(name="Another")
        app = await cluster.deploy(text)
        assert await counted(cluster, app, 1) == [1]
        log = await log_of(cluster.watcher, app)
        await undeploy(cluster, app)
        await cluster.deploy(text.replace("count()", "count() * 10L"))
        assert await counted(cluster, app, 2) == [1, 10]
        await undeploy(cluster, app)
        await cluster.deploy(text)
        assert await counted(cluster, app, 3) == [1, 10, 1]
        assert list(await cluster.watcher.bus.logs(app)) == [log]


async def test_what_is_done_late_to_a_purged_app_does_not_meet_the_next_one(
    cluster_of: Start,
) -> None:
    """Services that were cut off trim, append, and store revisions and cursors under the old logs'
    names; the new app loses nothing to them, and they are removed in their turn."""
    async with cluster_of(*NODES) as cluster:
        app = await cluster.deploy(TEXT.format(name="Late"))
        assert await counted(cluster, app, 1) == [1]
        old, bus, store = (
            await log_of(cluster.watcher, app),
            cluster.watcher.bus,
            cluster.watcher.store,
        )
        before = (await revisions_of(cluster.watcher, app))[0]
        assert await undeploy(cluster, app, purge=True) == 200
        await cluster.deploy(TEXT.format(name="Late"))
        assert await counted(cluster, app, 1) == [1]
        new = await log_of(cluster.watcher, app)
        assert new.since_ms > old.since_ms

        late = await bus.input_log(old)
        for number in range(5):
            await late.append(EventsRecord("In", 1, ((InputEvent(1, (number,)),),)))
        await late.trim(5)
        revision = replace(before, id=f"{before.id}late", position=10**9, epoch=10**9)
        assert await store.revisions.save(revision, b"late") == Written()
        await store.revisions.purge(*old.key, keep=1)
        await store.cursors.put(cursor_name(app, "Out.0.log", old.since_ms), 10**9)

        assert await counted(cluster, app, 2) == [1, 2]
        status, answer = await cluster.call("POST", "coordinator", f"/v1/apps/{app}/snapshot")
        assert status == 200, answer
        await cluster.crash("processor-1")
        await cluster.start("processor-1")
        assert await counted(cluster, app, 3) == [1, 2, 3]
        await cluster.stop("coordinator")
        await cluster.start("coordinator", LOCKSTEP_COORDINATOR__SWEEP_INTERVAL_MS="500")
        await _removed(cluster, app, [new.key[1]])
        assert list(await bus.logs(app)) == [new]


async def test_a_letter_of_a_purged_app_hides_none_of_the_next_one(cluster_of: Start) -> None:
    """Positions count from 1 again, while the dead letters of all apps are in one place, which
    remembers what it has."""
    text = """@app:name('Letters') define stream In (p string);
from In[regex:find(p, 'x')] select p insert into Out;"""
    async with cluster_of(*NODES) as cluster:
        for there in (1, 2):
            app = await cluster.deploy(text)
            await cluster.send(app, "In", {"p": None})

            async def buried(app: str = app, there: int = there) -> bool:
                _, answer = await cluster.call("GET", "coordinator", f"/v1/apps/{app}/errors")
                found = [one["position"] for one in answer["errors"]]
                assert found == [1] * len(found)
                return len(found) == there

            await until(buried, f"{there} dead letters")
            assert await undeploy(cluster, app, purge=True) == 200


async def test_an_app_is_purged_after_it_was_undeployed(cluster_of: Start) -> None:
    """Once: then there is nothing of that name."""
    async with cluster_of(*NODES) as cluster:
        app = await cluster.deploy(TEXT.format(name="After"))
        assert await counted(cluster, app, 1) == [1]
        assert await undeploy(cluster, app) == 200
        assert [one.group for one in await revisions_of(cluster.watcher, app)]
        assert await undeploy(cluster, app, purge=True) == 200
        assert list(await cluster.watcher.bus.logs(app)) == []
        assert await undeploy(cluster, app, purge=True) == 404
        await _removed(cluster, app, [])


async def test_a_coordinator_ends_the_purge_of_another_one(cluster_of: Start) -> None:
    """One that died after it had told the store."""
    async with cluster_of(*NODES) as cluster:
        app = await cluster.deploy(TEXT.format(name="Begun"))
        assert await counted(cluster, app, 1) == [1]
        await cluster.crash("coordinator")
        store = cluster.watcher.store.deployments
        epoch = int(time.time() * 1000) + 10**6
        assert await store.remove(app, epoch=epoch, purge=True) == Written()
        await cluster.start("coordinator")
        await _removed(cluster, app, [])
        assert list(await cluster.watcher.bus.logs(app)) == []


async def test_an_input_log_that_was_lost_takes_nothing_until_the_app_is_purged(
    cluster_of: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    """A bus that lost its disk: positions would count from 1 again, and every processor stands
    behind those. Senders hear it, the coordinator says so."""
    settings = {"LOCKSTEP_COORDINATOR__SWEEP_INTERVAL_MS": "500"}
    async with cluster_of(*NODES, **settings) as cluster:
        app = await cluster.deploy(TEXT.format(name="Wiped"))
        assert await counted(cluster, app, 1) == [1]
        await cluster.watcher.bus.remove_logs(await log_of(cluster.watcher, app))
        path, said = f"/v1/apps/{app}/streams/In/events", ""

        async def told() -> bool:
            nonlocal said
            status, answer = await cluster.call("POST", "receiver", path, json={"a": 1})
            assert status == 503, answer
            said += capsys.readouterr().err
            gone = "no such log" in answer["detail"] and "--purge" in answer["hint"]
            return gone and "an app has lost its input log" in said

        await until(told, "a sender and a log that say so")
        assert await undeploy(cluster, app, purge=True) == 200
        await cluster.deploy(TEXT.format(name="Wiped"))
        assert await counted(cluster, app, 1) == [1]


async def test_an_output_log_that_was_lost_is_not_made_anew_until_the_app_is_purged(
    cluster_of: Start, capsys: pytest.CaptureFixture[str], servers: EmbeddedServers
) -> None:
    """Not by whoever runs, nor by whoever starts: in a new one the rows of the state would stand
    again. The coordinator says so, and the sink and the replica show it."""
    settings = {"LOCKSTEP_COORDINATOR__SWEEP_INTERVAL_MS": "500"}
    async with cluster_of(*NODES, "presenter", **settings) as cluster:
        app = await cluster.deploy(TEXT.format(name="Emptied"))
        assert await counted(cluster, app, 1) == [1]
        name, said = await log_of(cluster.watcher, app), ""
        client = await nats.connect(servers.nats_url)
        await client.jetstream().delete_stream(stream_name(output_subject(name)))
        await client.close()
        for node in ("processor-1", "publisher", "presenter"):
            await cluster.stop(node)
            await cluster.start(node)

        async def told() -> bool:
            nonlocal said
            said += capsys.readouterr().err
            found = await cluster.status(app)
            troubles = [str(one["trouble"]) for one in (*found["replicas"], *found["sinks"])]
            shown = len(troubles) == 2 and all("no such log" in one for one in troubles)
            return shown and "an app has lost an output log" in said

        await until(told, "a status and a log that say so")
        with pytest.raises(LogGoneError):
            await cluster.watcher.bus.output_log(name, make=False)
        assert await undeploy(cluster, app, purge=True) == 200
        await cluster.deploy(TEXT.format(name="Emptied"))
        assert await counted(cluster, app, 1) == [1]


async def _removed(cluster: Cluster, app: str, groups: list[str]) -> None:
    """Revisions are left of these groups alone, and cursors of no others."""
    store = cluster.watcher.store

    async def gone() -> bool:
        found = [group for _, group, _ in await store.revisions.logs(app)]
        cursors = await store.cursors.names(app)
        return found == groups and all(groups and name.endswith(groups[0][4:]) for name in cursors)

    await until(gone, f"nothing but {groups} of {app}")
