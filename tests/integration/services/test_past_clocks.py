"""Apps in playback that begin with what was archived: their time is that of the events."""

from __future__ import annotations

from pathlib import Path

from lockstep.archive.place import Place
from lockstep.events import OutputRow
from lockstep.operators.state import moved, unseal
from tests.integration.services.cluster import Cluster
from tests.integration.services.conftest import Start
from tests.integration.services.pasts import (
    ALONE,
    all_records,
    archived,
    deploy_from,
    done,
    ran_all_the_time,
    state_of,
    trimmed,
)

BEGAN_MS = 1_500_000_000_000
TEXT = (
    "@app:name('{name}') @app:playback define stream In (k string, v long);"
    " from In#window.time(10 sec) select k, sum(v) as total group by k insert into Sums;"
    " from In#window.timeBatch(5 sec) select count() as n, max(v) as top insert into Counts;"
    " from every a=In[v % 7 == 3] -> b=In[v == a.v + 2] within 4 sec"
    " select a.v as one, b.v as two insert into Pairs;"
)


def stamped(v: int) -> dict[str, object]:
    """An event each second of the app's clock, years ago."""
    return {"k": f"k{v % 3}", "v": v, "_timestamp": BEGAN_MS + v * 1_000}


async def feed(cluster: Cluster, app: str, first: int, count: int) -> None:
    """Two to a send."""
    for v in range(first, first + count, 2):
        await cluster.send(app, "In", [stamped(v), stamped(v + 1)])


async def test_the_past_of_an_app_in_playback_is_folded_by_the_time_of_its_events(
    cluster_of: Start, tmp_path: Path
) -> None:
    """Its own log and another app's: windows hold what they held, though years have passed."""
    async with cluster_of(*ALONE, **archived(tmp_path)) as cluster:
        whose = await cluster.deploy(TEXT.format(name="Years"))
        await feed(cluster, whose, 0, 60)
        await trimmed(cluster, whose)
        await deploy_from(cluster, TEXT.format(name="Other"), app=whose)
        assert (await done(cluster, "Other"))["phase"] == "done"
        await deploy_from(cluster, TEXT.format(name=whose))
        assert (await done(cluster, whose))["phase"] == "done"
        for app in (whose, "Other"):
            await feed(cluster, app, 60, 20)
            await cluster.settled(app, 1)
        position, snapshot = await state_of(cluster, whose)
        entries = await all_records(cluster, whose, Place(str(tmp_path / "archive")))
        assert snapshot == ran_all_the_time(TEXT.format(name=whose), entries, position)
        _, other = await state_of(cluster, "Other")
        assert engine_of(other) == engine_of(snapshot)
        rows = [told(row) for row in await cluster.published("Other")]
        assert len(rows) > 20
        assert rows == [told(row) for row in await cluster.published(whose)][-len(rows) :]


async def test_from_is_a_time_of_the_events_in_playback(cluster_of: Start, tmp_path: Path) -> None:
    """It begins with the first record that has an event of that time, or a later one."""
    async with cluster_of(*ALONE, **archived(tmp_path)) as cluster:
        app = await cluster.deploy(TEXT.format(name="Since"))
        await feed(cluster, app, 0, 60)
        await trimmed(cluster, app)
        answer = await deploy_from(cluster, TEXT.format(name=app), from_ms=BEGAN_MS + 31_000)
        assert (await done(cluster, app))["phase"] == "done"
        position, snapshot = await state_of(cluster, app)
        entries = await all_records(cluster, app, Place(str(tmp_path / "archive")))
        after = answer["past"]["after"]
        sends = [one for one in entries if one.position <= after and hasattr(one.header, "stream")]
        assert len(sends) == 15  # of two events each: the next one has seconds 30 and 31
        later = [one for one in entries if one.position > after]
        assert snapshot == ran_all_the_time(TEXT.format(name=app), later, position)


def told(row: OutputRow) -> tuple[object, ...]:
    """Without its place in one log."""
    return row.stream, row.timestamp_ms, row.data


def engine_of(snapshot: bytes) -> str:
    """Without what belongs to one log: where it stands, and the clock of its door."""
    _, body = unseal(moved(snapshot, 0))
    engine = body["engine"]
    return repr({key: value for key, value in engine.items() if key != "wall"})
