"""The history of figures and of failovers, on a suite of PostgreSQL, NATS and Redis."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from lockstep.cli.addresses import Addresses
from lockstep.cli.client import Client
from tests.integration.services.cluster import CLOCK, STEADY, Cluster, until
from tests.integration.services.conftest import Start
from tests.integration.services.test_processor import feed, hand_over

COUNT: Final = """
@app:name('{name}')
define stream In (k string, v int);
@sink(type='file', file.uri='{path}', @map(type='json'))
define stream Out (k string, total long);
from In select k, sum(v) as total group by k insert into Out;
"""
OFTEN: Final = {
    "LOCKSTEP_COORDINATOR__FIGURES_EVERY_MS": "100",
    "LOCKSTEP_COORDINATOR__FIGURES_COARSE_EVERY_MS": "1000",
    "LOCKSTEP_COORDINATOR__FIGURES_KEEP_MS": "60000",
    "LOCKSTEP_COORDINATOR__FIGURES_COARSE_KEEP_MS": "600000",
}
NODES: Final = (
    "coordinator-1", "coordinator-2", "processor-1", "processor-2", "publisher", "receiver",
)  # fmt: skip


async def figures(cluster: Cluster, app: str, query: str = "") -> Any:
    """The series of an app."""
    status, found = await cluster.call("GET", "coordinator", f"/v1/apps/{app}/figures{query}")
    assert status == 200, found
    return found


async def failovers(cluster: Cluster, app: str) -> list[Any]:
    """The newest first."""
    status, found = await cluster.call("GET", "coordinator", f"/v1/apps/{app}/failovers")
    assert status == 200, found
    taken: list[Any] = found["failovers"]
    return taken


async def moves_on(cluster: Cluster, app: str, from_ms: int, behind_ms: int = 0) -> Any:
    """A series from a time on, in which something came behind another."""
    found: Any = None

    async def there() -> Any:
        nonlocal found
        found = await figures(cluster, app, f"?points=1000&from={from_ms}")
        rates = zip(found["at_ms"], found["max"]["rows_per_s"], strict=True)
        return found if any(at > behind_ms and rate for at, rate in rates) else None

    return await until(there, f"figures of {app} behind {behind_ms}", seen=lambda: found)


async def leading_coordinator(cluster: Cluster) -> str:
    """Its node."""

    async def there() -> Any:
        _, found = await cluster.call("GET", "coordinator", "/v1/nodes")
        leading = [one["node"] for one in found["nodes"] if one["leading"]]
        return leading[0] if len(leading) == 1 and leading[0] in cluster.nodes else None

    return str(await until(there, "one coordinator leads"))


async def taken(cluster: Cluster, app: str, count: int) -> list[Any]:
    """As soon as there are so many failovers."""
    found: list[Any] = []

    async def there() -> Any:
        nonlocal found
        found = await failovers(cluster, app)
        return len(found) >= count

    await until(there, f"{count} failovers of {app}", seen=lambda: found)
    assert len(found) == count, found
    return found


async def test_figures_and_failovers_outlive_leaders_and_coordinators(
    cluster_of: Start, tmp_path: Path
) -> None:
    """A killed leader and a hand-over stand in the list, each with its reason; the series go on
    over a change of coordinators, and every coordinator answers the same."""
    async with cluster_of(*NODES, **STEADY, **OFTEN) as cluster:
        began_ms = CLOCK.now_ms()
        app = await cluster.deploy(COUNT.format(name="Seen", path=tmp_path / "out"), replicas=2)
        await feed(cluster, app, 0, 20)
        before = await moves_on(cluster, app, began_ms)
        (sink,) = before["sinks"]
        assert any(sink["max"]["rows_per_s"]), sink
        assert any(before["max"]["latency_p99_ms"]), before["max"]

        first = await cluster.active(app)
        await cluster.crash(first)
        await feed(cluster, app, 20, 5)
        second = await cluster.active(app)
        (killed,) = await taken(cluster, app, 1)
        assert (killed["from_node"], killed["to_node"]) == (first, second)
        assert killed["planned"] is False
        assert killed["gap_ms"] is not None

        await cluster.start(first)
        await cluster.settled(app, 2)
        await cluster.crash(await leading_coordinator(cluster))
        await leading_coordinator(cluster)
        await hand_over(cluster, app)
        handed, same = await taken(cluster, app, 2)
        assert same == killed
        assert (handed["from_node"], handed["to_node"]) == (second, first)
        assert (handed["planned"], handed["why"]) == (True, f"handed over to {first}")
        assert handed["epoch"] > killed["epoch"]

        await feed(cluster, app, 25, 5)
        after = await moves_on(cluster, app, began_ms, handed["at_ms"])
        leaders = [one for one in after["leaders"] if one]
        assert (leaders[0], leaders[-1]) == ([first], [first])
        assert [second] in leaders
        status, everywhere = await cluster.call("GET", "coordinator", f"/v1/failovers?app={app}")
        assert (status, everywhere["failovers"]) == (200, [handed, killed])


async def test_what_is_older_is_read_from_coarse_figures(cluster_of: Start, tmp_path: Path) -> None:
    """They hold the greatest of what the samples held, and stay when those are gone."""
    quick = {**OFTEN, "LOCKSTEP_COORDINATOR__FIGURES_KEEP_MS": "2000"}
    nodes = ("coordinator", "processor", "publisher", "receiver")
    async with cluster_of(*nodes, **STEADY, **quick) as cluster:
        app = await cluster.deploy(COUNT.format(name="Old", path=tmp_path / "out"))
        await feed(cluster, app, 0, 20)
        first = await moves_on(cluster, app, CLOCK.now_ms() - 60_000)
        peak = max(one for one in first["max"]["rows_per_s"] if one is not None)
        began_ms = first["at_ms"][0]
        last: Any = None

        async def only_coarse() -> Any:
            nonlocal last
            last = await figures(cluster, app, f"?from={began_ms}")
            fine = await cluster.watcher.store.figures.ends("fine")  # type: ignore[arg-type]
            coarse = await cluster.watcher.store.figures.ends("coarse")  # type: ignore[arg-type]
            return last if fine and coarse and coarse[0] + 2_000 < fine[0] else None

        found = await until(only_coarse, "samples are gone", seen=lambda: last)
        assert found["grain"] == "coarse"
        assert max(one for one in found["max"]["rows_per_s"] if one is not None) >= peak


async def test_clients_ask_for_figures(cluster_of: Start, tmp_path: Path) -> None:
    """By the methods of the client, and what is asked wrongly is told."""
    async with cluster_of("coordinator", "processor", "receiver", **STEADY, **OFTEN) as cluster:
        app = await cluster.deploy(COUNT.format(name="Asked", path=tmp_path / "out"))
        await feed(cluster, app, 0, 3)
        await moves_on(cluster, app, CLOCK.now_ms() - 60_000)
        door = cluster.url("coordinator")
        async with Client(Addresses(door, cluster.url("receiver"), door)) as client:
            found = await client.figures(app, points=3)
            assert (len(found["at_ms"]), found["units"]["lag"]) == (3, "records")
            assert await client.failovers(app) == []
            assert await client.failovers() == []


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("/v1/apps/None/figures", 404, "no app named 'None' is deployed"),
        ("/v1/apps/None/figures?points=0", 400, "points: expected 1 to 1000, got 0"),
        ("/v1/apps/None/figures?points=1001", 400, "points: expected 1 to 1000, got 1001"),
        ("/v1/apps/None/figures?from=9&to=9", 400, "from (9) is not before to (9)"),
        ("/v1/failovers?from=yesterday", 400, "from: expected a whole number"),
    ],
)
async def test_what_is_asked_wrongly_is_told(
    cluster_of: Start, path: str, status: int, says: str
) -> None:
    """With what was expected."""
    async with cluster_of("coordinator") as cluster:
        found, answer = await cluster.call("GET", "coordinator", path)
        assert (found, answer["detail"]) == (status, says)
