"""Back to a time: the state that the app had then, whatever the logs still hold and whoever leads;
nothing is published twice, and what cannot be leaves the app as it is."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from lockstep.archive.keeping import SideArchive
from lockstep.archive.naming import OUTPUT, Logs
from lockstep.archive.place import Place
from tests.integration.services.cluster import CLOCK, Cluster, log_of, until
from tests.integration.services.conftest import Start
from tests.integration.services.pasts import (
    all_records,
    archived,
    done,
    ran_all_the_time,
    state_of,
    trimmed,
)
from tests.integration.services.test_past import values_of

NODES = ("coordinator", "processor-1", "processor-2", "receiver")
ALONE = ("coordinator", "processor-1", "receiver")
TOTAL = (
    "@app:name('{name}') define stream In (v long);"
    " from In select sum(v) as total, count() as n insert into Out;"
)
HELD = (
    "@app:name('{name}') define stream In (k string, v long);"
    " define table Last (k string, v long);"
    " @info(name='sum') from In#window.time(1 hour)"
    " select k, sum(v) as total, count() as n group by k insert into Out;"
    " from In select k, v update or insert into Last on Last.k == k;"
)


async def ones(cluster: Cluster, app: str, count: int) -> int:
    """So many events of value 1; a time behind all of them, and in front of what comes later."""
    for _ in range(count):
        await cluster.send(app, "In", {"v": 1})
    return await between()


async def at(cluster: Cluster, app: str, time_ms: int) -> None:
    """An event of value 1 that says its time."""
    path = f"/v1/apps/{app}/streams/In/events?timestamp_ms={time_ms}"
    status, answer = await cluster.call("POST", "receiver", path, json={"v": 1})
    assert status == 200, answer


async def between() -> int:
    """A time behind what was sent, and in front of what is sent later."""
    await CLOCK.sleep_ms(5)
    now_ms = CLOCK.now_ms()
    await CLOCK.sleep_ms(5)
    return now_ms


async def end_of(cluster: Cluster, app: str) -> int:
    """The last position of its log; a tick may stand among the events."""
    log = await cluster.watcher.bus.input_log(await log_of(cluster.watcher, app))
    return (await log.bounds())[1]


async def totals(cluster: Cluster, app: str, count: int) -> list[int]:
    """The first column of all rows, when there are `count`."""
    return [row.data[0] for row in await cluster.published_count(app, count)]


async def back_to(cluster: Cluster, app: str, to_ms: int, **more: Any) -> Any:
    """The answer, when the app goes on with that state."""
    path, body = f"/v1/apps/{app}/restore", {"to_ms": to_ms, **more}
    status, answer = await cluster.asked("POST", path, json=body)
    assert status in (200, 202), answer
    if answer["folds"]:
        found = await done(cluster, app)
        assert found["phase"] == "done", found

    async def gone_over() -> Any:
        found = (await cluster.status(app))["replicas"]
        return any(r["role"] == "active" and r["generation"] >= answer["generation"] for r in found)

    await until(gone_over, f"the leader runs generation {answer['generation']}")
    return answer


async def refused(cluster: Cluster, app: str, **body: Any) -> tuple[int, Any]:
    """What is answered to a wish that cannot be."""
    path = f"/v1/apps/{app}/restore"
    return await cluster.call("POST", "coordinator", path, json=body)


async def test_an_app_goes_on_with_the_state_of_a_time(cluster_of: Start) -> None:
    """Between two revisions; on every replica, also on one that begins later; and back again."""
    async with cluster_of(*NODES) as cluster:
        app = await cluster.deploy(TOTAL.format(name="Then"), replicas=2)
        await ones(cluster, app, 2)
        await totals(cluster, app, 2)
        first, after = await cluster.snapshot(app), await end_of(cluster, app)
        at_five = await ones(cluster, app, 3)
        five = await end_of(cluster, app)
        await ones(cluster, app, 4)
        await totals(cluster, app, 9)
        await cluster.snapshot(app)
        before_it, last = await between(), await end_of(cluster, app)
        answer = await back_to(cluster, app, at_five)
        found = (answer["revision"], answer["after"], answer["position"])
        assert found == (first, after, five)
        await ones(cluster, app, 1)
        assert await totals(cluster, app, 10) == [1, 2, 3, 4, 5, 6, 7, 8, 9, 6]
        await cluster.settled(app, 2)
        await cluster.crash(await cluster.active(app))
        await ones(cluster, app, 1)
        assert (await totals(cluster, app, 11))[10:] == [7]
        # It was the wrong time: back to in front of the restore, then on.
        answer = await back_to(cluster, app, before_it)
        assert answer["position"] == last
        for name in [name for name in cluster.nodes if name.startswith("processor")]:
            await cluster.crash(name)
        await cluster.start("processor-3")
        await ones(cluster, app, 1)
        assert (await totals(cluster, app, 12))[11:] == [10]


async def test_under_load_while_the_leader_crashes(cluster_of: Start) -> None:
    """Whoever leads carries it out once: each row continues one of the two counts, in order."""
    async with cluster_of(*NODES) as cluster:
        app = await cluster.deploy(TOTAL.format(name="Load"), replicas=2)
        await ones(cluster, app, 5)
        await totals(cluster, app, 5)
        await cluster.snapshot(app)
        then = await ones(cluster, app, 7)
        sent, enough = 12, asyncio.Event()

        async def feed() -> None:
            nonlocal sent
            while not enough.is_set():
                for _ in range(5):
                    await cluster.send(app, "In", {"v": 1})
                sent += 5

        async with asyncio.TaskGroup() as together:
            together.create_task(feed())
            await totals(cluster, app, 40)
            going = together.create_task(back_to(cluster, app, then))
            await cluster.crash(await cluster.active(app))
            await going
            enough.set()
        await ones(cluster, app, 5)
        found = await totals(cluster, app, sent + 5)
        assert len(found) == sent + 5
        back = [i for i in range(1, len(found)) if found[i] != found[i - 1] + 1]
        assert [found[i] for i in back] == [13]


async def test_where_no_state_is_kept_the_archive_is_folded(
    cluster_of: Start, tmp_path: Path
) -> None:
    """The log has forgotten it all: the state is that of an app that stopped at that time."""
    async with cluster_of(*ALONE, "publisher", **archived(tmp_path)) as cluster:
        text = HELD.format(name="Deep")
        app = await cluster.deploy(text)
        for v in range(60):
            await cluster.send(app, "In", {"k": f"k{v % 5}", "v": v})
        then, end = await between(), await end_of(cluster, app)
        for count in (61, 62, 63):  # a row for each of these sends
            await cluster.send(app, "In", [{"k": "k0", "v": i} for i in range(10)])
            await cluster.published_count(app, count)
            await cluster.snapshot(app)
        assert await trimmed(cluster, app) > 60
        answer = await back_to(cluster, app, then)
        assert (answer["revision"], answer["after"], answer["position"]) == ("", 0, end)
        assert answer["begins_ms"] > 0
        _, snapshot = await state_of(cluster, app)
        entries = await all_records(cluster, app, Place(str(tmp_path / "archive")))
        assert snapshot == ran_all_the_time(text, entries, end)
        await cluster.send(app, "In", {"k": "k3", "v": 1_000})
        rows = await cluster.published_count(app, 64)
        assert rows[-1].data == ("k3", sum(range(3, 60, 5)) + 1_000, 13)


async def test_a_wrong_text_is_undone_by_a_replay(cluster_of: Start, tmp_path: Path) -> None:
    """The right text, from in front of the wrong one on, over all that came since: what it gives
    for that time is in tables, once, and the next row goes on from it."""
    async with cluster_of(*NODES, "publisher", **archived(tmp_path)) as cluster:
        right = TOTAL.format(name="Mend")
        app = await cluster.deploy(right, replicas=2)
        await ones(cluster, app, 4)
        await totals(cluster, app, 4)
        kept = await cluster.snapshot(app)
        good, end = await ones(cluster, app, 2), await end_of(cluster, app)
        await totals(cluster, app, 6)
        await cluster.deploy(right.replace("sum(v)", "sum(v * 100L)"), replicas=2)
        await ones(cluster, app, 3)
        await totals(cluster, app, 9)
        status, answer = await refused(cluster, app, to_ms=good)
        assert (status, "deploy the text" in answer["hint"]) == (409, True), answer
        await cluster.deploy(right, replicas=2)
        await ones(cluster, app, 2)
        await totals(cluster, app, 11)
        answer = await back_to(cluster, app, good, replay=True)
        assert (answer["revision"], answer["position"]) == (kept, end)
        await ones(cluster, app, 1)
        rows = await cluster.published_count(app, 12)
        assert rows[-1].data == (12, 12)
        found = await done(cluster, app)
        assert found["rows"] == 5
        logs = Logs(app, (await log_of(cluster.watcher, app)).since_ms)
        side = SideArchive(Place(found["results"]), logs, OUTPUT)
        again = [batch for _, one in side.tables() for batch in one.scan()]
        given = [values_of(row) for batch in again for row in batch.to_pylist()]
        assert sorted(total for total, _ in given) == [7, 8, 9, 10, 11]


async def test_in_playback_the_time_is_that_of_the_events(cluster_of: Start) -> None:
    """A late event does not hide a later one that came in before it."""
    text = "@app:playback " + TOTAL.format(name="Play")
    async with cluster_of(*ALONE) as cluster:
        app = await cluster.deploy(text)
        await at(cluster, app, 1_000)
        await at(cluster, app, 2_000)
        end = await end_of(cluster, app)
        for time_ms in (5_000, 3_000, 6_000):
            await at(cluster, app, time_ms)
        await totals(cluster, app, 5)
        answer = await back_to(cluster, app, 4_000)
        assert (answer["after"], answer["position"]) == (0, end)
        await at(cluster, app, 7_000)
        assert (await totals(cluster, app, 6))[5:] == [3]


async def test_what_cannot_be_is_said_and_changes_nothing(cluster_of: Start) -> None:
    """A time that nothing is kept of, one behind which nothing came, two wishes at once, an app in
    several units, no app."""
    async with cluster_of(*ALONE) as cluster:
        assert (await refused(cluster, "No", to_ms=1))[0] == 404
        app = await cluster.deploy(TOTAL.format(name="No"))
        first = await ones(cluster, app, 1)
        for count in range(2, 5):
            await ones(cluster, app, 1)
            await totals(cluster, app, count)
            last = await cluster.snapshot(app)
        before = await cluster.status(app)
        wrong: list[tuple[dict[str, Any], int, str]] = [
            ({"to_ms": first}, 404, "the oldest is of 20"),
            ({"to_ms": await between()}, 409, "nothing has come in behind that time"),
            ({"to_ms": first, "revision": last}, 400, "only one of"),
            ({"revision": last, "replay": True}, 400, "only with to_ms"),
        ]
        for body, status, why in wrong:
            found, answer = await refused(cluster, app, **body)
            assert (found, why in answer["detail"]) == (status, True), answer
        assert (await cluster.status(app))["generation"] == before["generation"]
        cut = (
            "@app:name('Cut') @app:parallel('2') define stream In (k string, v long); partition"
            " with (k of In) begin from In select k, sum(v) as total insert into Out; end;"
        )
        status, answer = await cluster.asked("PUT", "/v1/apps", json={"text": cut})
        assert status == 201, answer
        status, answer = await refused(cluster, "Cut", to_ms=first)
        assert (status, "several units" in answer["detail"]) == (409, True), answer


@pytest.mark.parametrize("called_off", [False, True])
async def test_a_state_that_is_gone_or_not_wanted_leaves_the_app_as_it_was(
    cluster_of: Start, called_off: bool
) -> None:
    """Nobody led when it was asked for; whoever leads then goes on with what there was."""
    async with cluster_of(*ALONE) as cluster:
        app = await cluster.deploy(TOTAL.format(name="Stays"))
        await ones(cluster, app, 2)
        await totals(cluster, app, 2)
        kept = await cluster.snapshot(app)
        then = await ones(cluster, app, 2)
        await ones(cluster, app, 2)
        await totals(cluster, app, 6)
        await cluster.snapshot(app)
        await cluster.stop("processor-1")
        status, answer = await cluster.asked(
            "POST", f"/v1/apps/{app}/restore", json={"to_ms": then}
        )
        assert (status, answer["revision"]) == (202, kept)
        status, answer = await cluster.call(
            "DELETE", "coordinator", f"/v1/apps/{app}/revisions/{kept}"
        )
        assert (status, "needs revision" in answer["detail"]) == (409, True), answer
        if called_off:
            status, answer = await cluster.asked("DELETE", f"/v1/apps/{app}/past")
            assert (status, answer["goes_on"]) == (200, True)
        else:
            await cluster.watcher.store.revisions.delete([kept])
        await cluster.start("processor-1")
        found = await done(cluster, app)
        assert found["phase"] == "failed"
        assert ("called off" if called_off else "cannot be read") in found["why"]
        await ones(cluster, app, 1)
        assert await totals(cluster, app, 7) == [1, 2, 3, 4, 5, 6, 7]
