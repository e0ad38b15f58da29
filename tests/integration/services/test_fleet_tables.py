"""Tables that are cut by key, against real servers: asked and written as on one node, through a
crash and other numbers of partitions, and taken over from a layout of an earlier release."""

from __future__ import annotations

import asyncio
from collections import Counter
from http import HTTPStatus
from typing import Any

import pytest

from lockstep_services.coordinator import layouts
from tests.integration.services.cluster import Cluster, until
from tests.integration.services.conftest import Start
from tests.integration.services.test_fleets import ready

NODES = ("coordinator", "processor-1", "processor-2", "receiver", "presenter")
KEYS = 10
TEXT = """
@app:name('{name}')
define stream In (k string, v long);
define stream Ask (k string);
@PrimaryKey('k') define table Total (k string, n long);

@info(name='put')
from In left outer join Total on In.k == Total.k
select In.k as k, coalesce(Total.n, 0L) + In.v as n
update or insert into Total on Total.k == k;

@info(name='known') from Ask join Total on Ask.k == Total.k
select Ask.k as k, Total.n as n insert into Known;

partition with (k of In)
begin
  @info(name='count') from In select k, count() as c insert into Counts;
end;
"""


async def deployed(cluster: Cluster, name: str, parallel: int, units: int) -> None:
    """The app in so many units, all of them led."""
    wish = {"text": TEXT.format(name=name), "parallel": parallel, "settings": {"replicas": "1"}}
    status, answer = await cluster.asked("PUT", "/v1/apps", json=wish)
    assert status in (HTTPStatus.OK, HTTPStatus.CREATED), answer
    await ready(cluster, name, units, 1)


async def feed(cluster: Cluster, app: str, start: int, count: int) -> None:
    """Events one after the other, each worth its number."""
    for i in range(start, start + count):
        await cluster.send(app, "In", {"k": f"k{i % KEYS}", "v": i})


def totals(count: int) -> Counter[str]:
    """What the table holds behind the first events."""
    found: Counter[str] = Counter()
    for i in range(count):
        found[f"k{i % KEYS}"] += i
    return found


async def query(cluster: Cluster, app: str, text: str) -> tuple[int, Any]:
    """An on-demand query, as users ask it."""
    path = f"/v1/apps/{app}/query"
    return await cluster.call("POST", "presenter", path, json={"query": text})


async def held(cluster: Cluster, app: str, wanted: Counter[str]) -> None:
    """The table holds that, whoever is asked: every row, one of them, and all together."""
    seen: Any = None

    async def there() -> bool:
        nonlocal seen
        seen = await query(cluster, app, "from Total select k, n")
        status, answer = seen
        return status == HTTPStatus.OK and dict(answer["records"]) == dict(wanted)

    await until(there, "the table's rows", seen=lambda: seen)
    _, answer = await query(cluster, app, "from Total on k == 'k3' select n")
    assert answer["records"] == [[wanted["k3"]]]
    _, answer = await query(
        cluster, app, "from Total select count() as c, sum(n) as s, max(n) as m"
    )
    assert answer["records"] == [[len(wanted), sum(wanted.values()), max(wanted.values())]]
    _, answer = await query(cluster, app, "from Total select k, n order by n desc limit 2")
    assert answer["records"] == [list(each) for each in wanted.most_common(2)]


async def test_a_cut_table_is_one_table_to_its_users(cluster_of: Start) -> None:
    """Three partitions on two processors, then two; a processor dies under load in between."""
    async with cluster_of(*NODES) as cluster:
        await deployed(cluster, "Cut", parallel=3, units=6)
        await feed(cluster, "Cut", 0, 60)
        wanted = totals(60)
        await held(cluster, "Cut", wanted)

        status, answer = await query(
            cluster, "Cut", "update Total set Total.n = Total.n + 1L on true"
        )
        assert (status, answer["changed"]) == (HTTPStatus.OK, KEYS)
        wanted = Counter({key: total + 1 for key, total in wanted.items()})
        status, answer = await query(cluster, "Cut", "select 'new' as k, 5L as n insert into Total")
        assert (status, answer["changed"]) == (HTTPStatus.OK, 1)
        wanted["new"] = 5
        await held(cluster, "Cut", wanted)
        status, answer = await query(
            cluster, "Cut", "update Total set Total.k = 'x' on Total.n == 5L"
        )
        assert status == HTTPStatus.BAD_REQUEST
        assert "cannot get another 'k'" in str(answer)

        feeding = asyncio.create_task(feed(cluster, "Cut", 60, 120))
        await cluster.crash("processor-1")
        await cluster.start("processor-1")
        await feeding
        wanted += totals(180)
        wanted -= totals(60)
        await held(cluster, "Cut", wanted)

        feeding = asyncio.create_task(feed(cluster, "Cut", 180, 60))
        await deployed(cluster, "Cut", parallel=2, units=4)
        await feeding
        wanted += totals(240)
        wanted -= totals(180)
        await held(cluster, "Cut", wanted)


async def test_a_layout_of_an_earlier_release_goes_on_and_is_cut_with_the_next(
    cluster_of: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There the table is in one place; the next layout takes its rows from there."""
    async with cluster_of(*NODES) as cluster:
        with monkeypatch.context() as earlier:
            earlier.setattr(layouts, "RULES", 1)
            await deployed(cluster, "Old", parallel=3, units=4)
        await feed(cluster, "Old", 0, 60)
        await held(cluster, "Old", totals(60))
        await deployed(cluster, "Old", parallel=2, units=4)
        await feed(cluster, "Old", 60, 40)
        await held(cluster, "Old", totals(100))
        found = await cluster.status("Old")
        groups = {one["unit"] for one in found["replicas"]}
        assert not any("main" in one for one in groups), groups
