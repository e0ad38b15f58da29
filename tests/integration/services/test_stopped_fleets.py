"""Fleets with a unit that has stopped, as too many events went over a limit: what helps there."""

from __future__ import annotations

from typing import Any

from tests.integration.services.cluster import Cluster, until
from tests.integration.services.conftest import Start
from tests.integration.services.test_fleets import NODES, ready, rows_of

TEXT = """
@app:name('Halt')
define stream In (k string, v int);
partition with (k of In)
begin
  from In select k, str:repeat('x', v) as text, count() as n insert into Long;
end;
from Long#window.length(1000000) select k, n, count() as place insert into Whole;
"""
MENDED = TEXT.replace("select k, str:repeat('x', v) as text,", "select k, 'none' as text,")
STRICT = {"LOCKSTEP_LIMITS__VALUE_SIZE": "65536", "LOCKSTEP_LIMITS__STOP_AFTER": "1"}
LAX = {"LOCKSTEP_LIMITS__STOP_AFTER": "1000"}


async def deploy(cluster: Cluster, text: str, **wish: Any) -> tuple[int, Any]:
    """One replica of each unit."""
    body = {"text": text, "settings": {"replicas": "1"}, **wish}
    return await cluster.asked("PUT", "/v1/apps", json=body)


async def stopped(cluster: Cluster) -> str:
    """A fleet of which one unit has stopped at its fourth event: that unit."""
    assert (await deploy(cluster, TEXT, parallel=2))[0] == 201
    await ready(cluster, "Halt", 3, 1)
    for v in (1, 2, 3, 70_000):
        await cluster.send("Halt", "In", {"k": "a", "v": v})
    seen: Any = None

    async def there() -> str | None:
        nonlocal seen
        seen = (await cluster.status("Halt"))["replicas"]
        found = [one["unit"] for one in seen if "stopped: " in (one["trouble"] or "")]
        return found[0] if found else None

    return str(await until(there, "a unit that has stopped", seen=lambda: seen))


async def whole(cluster: Cluster) -> list[tuple[Any, ...]]:
    """What has come of all events, in order: of the app that is deployed, not of one before."""
    logs = await rows_of(cluster, "Halt")
    since_ms = max((name.since_ms for name in logs), default=0)
    own = [rows for name, rows in logs.items() if name.since_ms == since_ms]
    found = [row for rows in own for row in rows if row.stream == "Whole"]
    return [row.data for row in sorted(found, key=lambda row: row.id)]


async def comes_to(cluster: Cluster, *wanted: tuple[Any, ...]) -> None:
    """These rows, and no others."""
    seen: list[tuple[Any, ...]] = []

    async def there() -> bool:
        nonlocal seen
        seen = await whole(cluster)
        return len(seen) >= len(wanted)

    await until(there, "all rows", seen=lambda: seen)
    assert seen == list(wanted)


async def test_a_stopped_unit_goes_on_with_a_higher_limit(cluster_of: Start) -> None:
    """A changed text is refused before it could hold up all units. With the limit raised on all
    processors the unit goes on, and then the text is gone over to with its state."""
    async with cluster_of(*NODES, **STRICT) as cluster:
        unit = await stopped(cluster)
        for asked in (
            deploy(cluster, MENDED),
            deploy(cluster, TEXT, parallel=3),
            cluster.asked("POST", "/v1/apps/Halt/snapshot"),
        ):
            status, answer = await asked
            assert (status, unit in str(answer)) == (409, True), answer
        assert (await cluster.status("Halt"))["layout"] == 1
        for node in ("processor-1", "processor-2"):
            await cluster.stop(node)
        for node in ("processor-1", "processor-2"):
            await cluster.start(node, **LAX)
        await ready(cluster, "Halt", 3, 1)
        await cluster.send("Halt", "In", {"k": "a", "v": 4})
        done = [("a", 1, 1), ("a", 2, 2), ("a", 3, 3), ("a", 4, 4)]
        await comes_to(cluster, *done)
        status, answer = await deploy(cluster, MENDED)
        assert status == 200, answer
        await ready(cluster, "Halt", 3, 1)
        await cluster.send("Halt", "In", {"k": "a", "v": 1_000})
        await comes_to(cluster, *done, ("a", 1, 5))


async def test_or_is_deployed_anew(cluster_of: Start) -> None:
    """A changed text begins empty, once the app was undeployed."""
    async with cluster_of(*NODES, **STRICT) as cluster:
        await stopped(cluster)
        assert (await cluster.asked("DELETE", "/v1/apps/Halt"))[0] == 200
        status, answer = await deploy(cluster, MENDED, parallel=2)
        assert (status, answer["layout"]) == (201, 1), answer
        await ready(cluster, "Halt", 3, 1)
        await cluster.send("Halt", "In", {"k": "a", "v": 1_000})
        await comes_to(cluster, ("a", 1, 1))
