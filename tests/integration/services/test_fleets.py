"""Apps on several processors against real servers: units, channels, crashes, and other numbers of
partitions under load."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Any

from lockstep.bus import LogName
from lockstep.control import group_and_layout
from lockstep.events import OutputRecord, OutputRow
from tests.integration.services.cluster import Cluster, until
from tests.integration.services.conftest import Start

KEYS = 12
TEXT = """
@app:name('{name}')
define stream In (k string, v long);

partition with (k of In)
begin
  @info(name='sum') from In select k, sum(v) as total, count() as n insert into Sums;
end;

partition with (n of Sums)
begin
  @info(name='latest') from Sums#window.length(3) select n, k, count() as seen, sum(total) as all
  insert into Parity;
end;

@info(name='whole')
from Sums#window.length(1000000) select k, count() as place, sum(total) as all insert into Whole;
"""
NODES = ("coordinator", "processor-1", "processor-2", "receiver")


def expected(count: int) -> dict[str, list[tuple[Any, ...]]]:
    """What one node gives for the first events, by stream."""
    totals: dict[str, int] = defaultdict(int)
    numbers: dict[str, int] = defaultdict(int)
    latest: dict[int, list[int]] = defaultdict(list)
    sums: list[Any] = []
    parity: list[Any] = []
    whole: list[Any] = []
    all_ = 0
    for i in range(count):
        key = f"k{i % KEYS}"
        totals[key] += i
        numbers[key] += 1
        sums.append((key, totals[key], numbers[key]))
        window = latest[numbers[key]]
        window.append(totals[key])
        parity.append((numbers[key], key, len(window[-3:]), sum(window[-3:])))
        all_ += totals[key]
        whole.append((key, len(whole) + 1, all_))
    return {"Sums": sums, "Parity": parity, "Whole": whole}


async def deployed(cluster: Cluster, name: str, parallel: int, replicas: int) -> None:
    """The app in its units, each led and with its replicas ready."""
    settings = {"replicas": str(replicas)}
    wish = {"text": TEXT.format(name=name), "parallel": parallel, "settings": settings}
    status, answer = await cluster.asked("PUT", "/v1/apps", json=wish)
    assert status in (200, 201), answer
    await ready(cluster, name, 2 * parallel + 1, replicas)


async def ready(cluster: Cluster, name: str, units: int, replicas: int) -> Any:
    """All units have their replicas."""
    seen: Any = None

    async def there() -> Any:
        nonlocal seen
        seen = await cluster.status(name)
        # While a layout goes over, those of the one before are told of, too.
        found = [
            one for one in seen["replicas"] if one["ready"] and one["layout"] == seen["layout"]
        ]
        led = {one["unit"] for one in found if one["role"] == "active"}
        enough = len(seen["units"]) == units and len(led) == units
        return seen if enough and len(found) == units * replicas else None

    return await until(there, f"{units} units of {name}", seen=lambda: seen)


async def feed(cluster: Cluster, app: str, start: int, count: int) -> None:
    """Events one after the other."""
    for i in range(start, start + count):
        await cluster.send(app, "In", {"k": f"k{i % KEYS}", "v": i})


async def rows_of(cluster: Cluster, app: str) -> dict[LogName, list[OutputRow]]:
    """All rows of all units' logs."""
    found: dict[LogName, list[OutputRow]] = {}
    for name in await cluster.watcher.bus.logs(app):
        if not group_and_layout(name.group)[1]:
            continue
        log = await cluster.watcher.bus.output_log(name)
        end, after, rows = (await log.tail()).sequence, 0, []
        while after < end:
            entries = await log.read(after, max_records=500, max_bytes=10**8, wait_ms=5_000)
            after = entries[-1].sequence
            for entry in entries:
                if isinstance(entry.record, OutputRecord):
                    rows += list(entry.record.rows)
        found[name] = rows
    return found


async def judged(cluster: Cluster, app: str, count: int) -> None:
    """All that one node gives is there, once, in the order of one node for each key."""
    wanted = expected(count)
    total = sum(map(len, wanted.values()))
    logs: dict[LogName, list[OutputRow]] = {}

    async def there() -> bool:
        nonlocal logs
        logs = await rows_of(cluster, app)
        return sum(map(len, logs.values())) >= total

    await until(there, "all rows", seen=lambda: {str(k): len(v) for k, v in logs.items()})
    for rows in logs.values():
        assert [row.id for row in rows] == sorted({row.id for row in rows})
    merged = sorted(
        (row.id.position, row.id.ordinal, row.stream, row.data)
        for rows in logs.values()
        for row in rows
    )
    by_stream: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for _, _, stream, data in merged:
        by_stream[stream].append(data)
    assert by_stream == wanted


async def test_units_on_two_processors_give_what_one_node_gives(cluster_of: Start) -> None:
    """Two groups cut by different keys and one that is whole; each event once, in order."""
    async with cluster_of(*NODES) as cluster:
        await deployed(cluster, "Fleet", parallel=2, replicas=2)
        await feed(cluster, "Fleet", 0, 120)
        await judged(cluster, "Fleet", 120)


async def test_a_crash_in_a_fleet_loses_nothing_and_doubles_nothing(cluster_of: Start) -> None:
    """A processor dies under load; what it led goes on elsewhere, and it comes back."""
    async with cluster_of(*NODES) as cluster:
        await deployed(cluster, "Crash", parallel=2, replicas=2)
        feeding = asyncio.create_task(feed(cluster, "Crash", 0, 300))
        await feed_under_way(cluster, "Crash", 200)
        await cluster.crash("processor-1")
        await cluster.start("processor-1")
        await feeding
        await judged(cluster, "Crash", 300)


async def feed_under_way(cluster: Cluster, app: str, rows: int) -> None:
    """So many rows are published."""

    async def there() -> bool:
        return sum(map(len, (await rows_of(cluster, app)).values())) >= rows

    await until(there, f"{rows} rows")


async def test_another_number_of_partitions_under_load(cluster_of: Start) -> None:
    """Two, then three, then one: keys move with their state, and no row is lost or doubled."""
    async with cluster_of(*NODES) as cluster:
        await deployed(cluster, "Scale", parallel=2, replicas=1)
        feeding = asyncio.create_task(feed(cluster, "Scale", 0, 300))
        await feed_under_way(cluster, "Scale", 100)
        await deployed(cluster, "Scale", parallel=3, replicas=1)
        await feed_under_way(cluster, "Scale", 400)
        await deployed(cluster, "Scale", parallel=1, replicas=1)
        await feeding
        await judged(cluster, "Scale", 300)


async def of_layout(cluster: Cluster, app: str, layout: int) -> dict[str, list[tuple[Any, ...]]]:
    """What the units of a layout have put out, in order."""
    logs = await rows_of(cluster, app)
    own = [rows for name, rows in logs.items() if group_and_layout(name.group)[1] == layout]
    found: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for row in sorted((row for rows in own for row in rows), key=lambda row: row.id):
        found[row.stream].append(row.data)
    return found


async def test_a_fleet_goes_back_to_where_a_layout_ended(cluster_of: Start) -> None:
    """All units go on with the state of one position, in another number of partitions, also when
    they crash meanwhile; what was published stays."""
    async with cluster_of(*NODES) as cluster:
        await deployed(cluster, "Back", parallel=2, replicas=2)
        await feed(cluster, "Back", 0, 60)
        await judged(cluster, "Back", 60)
        taken = await cluster.snapshot("Back")
        await feed(cluster, "Back", 60, 40)
        await judged(cluster, "Back", 100)
        await deployed(cluster, "Back", parallel=3, replicas=2)
        asked = asyncio.create_task(
            cluster.asked("POST", "/v1/apps/Back/restore", json={"revision": taken})
        )
        await cluster.crash("processor-1")
        await cluster.start("processor-1")
        status, answer = await asked
        assert (status, answer["revision"]) in [(200, taken), (202, taken)], answer
        found = await ready(cluster, "Back", 7, 2)
        assert {one["layout"] for one in found["replicas"]} == {answer["generation"]}
        await feed(cluster, "Back", 60, 60)
        wanted = {stream: rows[60:] for stream, rows in expected(120).items()}
        seen: dict[str, list[tuple[Any, ...]]] = {}

        async def there() -> bool:
            nonlocal seen
            seen = await of_layout(cluster, "Back", answer["generation"])
            return sum(map(len, seen.values())) >= 180

        await until(there, "the rows behind the restore", seen=lambda: seen)
        assert seen == wanted


async def test_what_a_fleet_cannot_go_back_to(cluster_of: Start) -> None:
    """The state of one unit; and a layout's end cannot be deleted by hand."""
    async with cluster_of(*NODES) as cluster:
        await deployed(cluster, "Whole", parallel=2, replicas=1)
        path = "/v1/apps/Whole"
        status, answer = await cluster.asked("POST", f"{path}/restore", json={})
        assert status == 404, answer
        assert "of all its units together" in str(answer)
        taken = await cluster.snapshot("Whole")
        _, listed = await cluster.asked("GET", f"{path}/revisions")
        ids = [one["revision"] for one in listed["revisions"]]
        assert ids[0] == taken
        units = [one["unit"] for one in listed["revisions"]]
        assert units[0] is None
        assert all(one and one.startswith("'Whole' group ") for one in units[1:]), units
        wish = {"revision": ids[-1]}
        status, answer = await cluster.asked("POST", f"{path}/restore", json=wish)
        assert (status, "named layout.<n>" in answer["hint"]) == (404, True), answer
        status, answer = await cluster.asked("DELETE", f"{path}/revisions/{taken}")
        assert status == 409, answer


UNNAMED = """
@app:name('{name}')
define stream In (k string, v long);
partition with (k of In)
begin
  from In select k, sum(v) as total, count() as n insert into Sums;
end;
from Sums#window.length(1000000) select k, count() as place, sum(total) as all insert into Whole;
"""


async def test_an_app_of_one_unit_goes_over_with_its_state(cluster_of: Start) -> None:
    """Its partitions and queries have no names; sums and counts go on all the same."""
    async with cluster_of(*NODES) as cluster:
        text = UNNAMED.format(name="Grown")
        wish = {"text": text, "settings": {"replicas": "1"}}
        status, answer = await cluster.asked("PUT", "/v1/apps", json=wish)
        assert status == 201, answer
        await cluster.settled("Grown", 1)
        await feed(cluster, "Grown", 0, 60)
        await cluster.published_count("Grown", 60)
        status, answer = await cluster.asked("PUT", "/v1/apps", json={**wish, "parallel": 3})
        assert status == 200, answer
        found = await ready(cluster, "Grown", 4, 1)
        assert [one["began_empty"] for one in found["replicas"]] == [[]] * 4
        await feed(cluster, "Grown", 60, 60)
        wanted = expected(120)["Whole"][60:]

        async def there() -> bool:
            logs = await rows_of(cluster, "Grown")
            return sum(row.stream == "Whole" for rows in logs.values() for row in rows) >= 60

        await until(there, "the rows of the fleet")
        logs = await rows_of(cluster, "Grown")
        whole = [row.data for rows in logs.values() for row in rows if row.stream == "Whole"]
        assert whole == wanted


RUNNING = "from In#window.length(1000000) select sum(v) as all insert into Running;\n"
COUNTED = "from In select k, sum(v) as total group by k insert into Sums;\n"


async def test_a_fleet_that_cannot_be_cut_any_more_goes_on_through_changes(
    cluster_of: Start,
) -> None:
    """Its only unit has the text as it was written, in which nothing has a name; what is put in
    front of a query, or goes, takes nothing of its state."""
    head = "@app:name('Whole') define stream In (k string, v long);\n"
    async with cluster_of(*NODES) as cluster:

        async def sent(text: str, v: int, total: int, **wish: Any) -> None:
            """It is deployed, and one event is folded by the state that there was."""
            settings = {"replicas": "1"}
            body = {"text": head + text, "settings": settings, **wish}
            status, answer = await cluster.asked("PUT", "/v1/apps", json=body)
            assert status in (200, 201), answer
            await ready(cluster, "Whole", answer["units"], 1)
            await cluster.send("Whole", "In", {"k": "a", "v": v})

            async def there() -> bool:
                logs = (await rows_of(cluster, "Whole")).values()
                found = {row.data for rows in logs for row in rows if row.stream == "Running"}
                return (total,) in found

            await until(there, f"the sum is {total}")

        await sent(COUNTED + RUNNING, 1, 1, parallel=2)
        await sent(RUNNING, 2, 3)
        assert (await cluster.snapshot("Whole")).startswith("layout.")
        await sent(RUNNING + COUNTED, 4, 7)
        found = await cluster.status("Whole")
        assert [one["began_empty"] for one in found["replicas"]] == [[]] * len(found["replicas"])
