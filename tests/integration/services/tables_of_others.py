"""What every database is asked whose tables other programs write: the same, whoever keeps them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from lockstep.events import OutputRow
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.plan.plans import plan_of
from tests.integration.services.cluster import CLOCK, RANDOM, Cluster, until

ORDERS, DIES, RETURNS = 60, 20, 40
ALL = "from Customers select id, name, credit, gold"
Step = Callable[[], Awaitable[Any]]


def dying(cluster: Cluster, victim: str, name: str = "", server: Any = None) -> tuple[Step, Step]:
    """How a victim dies and comes back: a service, or the server called `name`."""
    if victim == name:
        return server.kill, server.start
    return partial(cluster.crash, victim), partial(cluster.start, victim)


async def ordered(
    cluster: Cluster,
    app: str,
    keep_changing: Callable[[asyncio.Event], Awaitable[int]],
    steps: tuple[Step, Step],
) -> None:
    """Orders come while another program changes the table, and somebody dies and comes back."""
    stop = asyncio.Event()
    changing = asyncio.ensure_future(keep_changing(stop))
    try:
        for number in range(ORDERS):
            if number == DIES:
                await steps[0]()
            if number == RETURNS:
                await steps[1]()
            await until(partial(sent, cluster, app, number), f"order {number}")
    finally:
        stop.set()
    assert await changing > 0


async def folds_alike(cluster: Cluster, app: str, text: str) -> None:
    """Folding the log again gives what was published."""
    again = ReferenceExecutor(plan_of(text)).run_slice(await cluster.taken_in(app))
    await until(lambda: shown(cluster, app, len(again.rows)), "all rows")
    assert list(await cluster.published(app)) == list(again.rows)


async def agrees_with(cluster: Cluster, app: str, held: Step) -> None:
    """Waits until the app's table is what is held elsewhere."""
    found: Any = None

    async def same() -> bool:
        nonlocal found
        found = await rows_of(cluster, app), await held()
        return bool(found[0] == found[1])

    await until(same, "the copy is what is held elsewhere", seen=lambda: found)


async def asked_over_an_absence(
    cluster: Cluster, text: str, *, rename: Step, leave: Sequence[Step], come_back: Step
) -> str:
    """Each event gets what the table had when it came: customers 1 (ann, then `rename` makes ann 2
    of her), 2 in another region, 3 without a name, 4 in a region of another case. While the table
    is away senders wait; an event then counts once. Its rows are in the log: folding that again
    gives the same. Gives the app's name."""
    app = await cluster.deploy(text, replicas=2)
    await cluster.send(app, "Orders", [[10, 1], [11, 2], [12, 9], [13, 3], [14, 4]])
    await rename()
    await cluster.send(app, "Orders", [15, 1])
    await cluster.send(app, "Gold", [[1], [2], [9]])
    for step in leave:
        await step()
        status, answer = await post(cluster, app, "Orders", [16, 1], key="late")
        assert status == 503, answer
    await cluster.crash(await cluster.active(app))
    await cluster.settled(app, 1)
    await come_back()
    status, answer = await post(cluster, app, "Orders", [16, 1], key="late")
    assert (status, answer.get("duplicate", False)) == (200, False)
    rows: Sequence[OutputRow] = await cluster.published_count(app, 9)
    assert [row.data for row in rows if row.stream == "Found"] == [
        (10, "ann"), (11, None), (12, None), (13, None), (14, None), (15, "ann 2"), (16, "ann 2"),
    ]  # fmt: skip
    assert [row.data for row in rows if row.stream == "Known"] == [(1,), (2,)]
    again = ReferenceExecutor(plan_of(text)).run_slice(await cluster.taken_in(app))
    assert list(again.rows) == rows
    return app


async def rows_of(cluster: Cluster, app: str) -> list[tuple[Any, ...]]:
    """The table as the app has it."""
    status, answer = await cluster.call(
        "POST", "presenter", f"/v1/apps/{app}/query", json={"query": ALL}
    )
    assert status == 200, answer
    return sorted(tuple(row) for row in answer["records"])


async def post(cluster: Cluster, app: str, stream: str, data: Any, key: str = "") -> Any:
    """(status, answer)."""
    headers = {"Idempotency-Key": key} if key else {}
    path = f"/v1/apps/{app}/streams/{stream}/events"
    return await cluster.call("POST", "receiver", path, json=data, headers=headers)


async def sent(cluster: Cluster, app: str, number: int) -> bool:
    """One order; False when whoever answered could not take it."""
    try:
        status, _ = await post(cluster, app, "Orders", [number, number * 5], key=f"order-{number}")
    except OSError:
        return False
    await CLOCK.sleep_ms(int(RANDOM.fraction() * 30))
    return bool(status == 200)


async def shown(cluster: Cluster, app: str, count: int) -> bool:
    """Whether so many rows are published."""
    return len(await cluster.published(app)) >= count
