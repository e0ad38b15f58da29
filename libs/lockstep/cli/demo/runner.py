"""The demo: start the suite, deploy two apps, replay real input, and check every answer a second
time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib import resources
from multiprocessing import get_context
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from lockstep.cli.client import Client
from lockstep.cli.demo.answers import Row, expected_answers, mismatches
from lockstep.cli.demo.feed import Fed, TimedEvent, feed
from lockstep.cli.demo.flights import Flights, load_flights, merged
from lockstep.cli.demo.pizza import pizza_answer, pizza_events
from lockstep.cli.demo.published import Published, read_published
from lockstep.cli.output import console
from lockstep.cli.replay import send_retrying
from lockstep.cli.suite import Suite
from lockstep.clock import SystemClock, SystemRandomness
from lockstep.events import LockstepError
from lockstep.frame import open_world
from lockstep.store.postgres import read_rows

FLIGHTS, PIZZA = "Flights", "PizzaShop"
STREAM_ANSWERS = ("HourlyDelay", "CarrierAlert", "DelayWeather")
TABLE_COLUMNS = ("origin", "day", "flights", "departed", "worst_delay", "mean_delay")
SETTLE_TIMEOUT_MS = 240_000
SETTLE_POLL_MS = 250
SHOWN_MISMATCHES = 5


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the demo found; `ok` when every answer is there, once, and right."""

    events: int
    outputs: int
    mismatches: int
    lost: int
    duplicated: int

    @property
    def ok(self) -> bool:
        """True when nothing is wrong."""
        return not (self.mismatches or self.lost or self.duplicated)

    def line(self, seconds: float) -> str:
        """The demo's last line."""
        return (
            f"demo: {'ok' if self.ok else 'FAILED'} events={self.events} outputs={self.outputs} "
            f"mismatches={self.mismatches} lost={self.lost} duplicated={self.duplicated} "
            f"seconds={seconds:.0f}"
        )


def app_text(name: str) -> str:
    """The text of a demo app: flights or pizza."""
    return resources.files("lockstep.cli.demo").joinpath(f"{name}.siddhi").read_text("utf-8")


async def run_demo(suite: Suite, *, limit: int | None = None, rate: int | None = None) -> Verdict:
    """Runs both apps on a running suite and checks them; `limit` takes only the first departures,
    `rate` sends no more events per second."""
    flights = await asyncio.to_thread(load_flights, limit=limit)
    # The answers are worked out meanwhile, in a process of its own: this one is the suite's.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as witness:
        return await _compared(suite, flights, witness, rate)


async def _compared(
    suite: Suite, flights: Flights, witness: ProcessPoolExecutor, rate: int | None
) -> Verdict:
    orders = pizza_events()
    async with Client(suite.addresses) as client:
        for name in ("flights", "pizza"):
            text = app_text(name)
            answer = await send_retrying(lambda text=text: client.deploy(text))  # type: ignore[misc]
            console.print(f"deployed {answer['app']}")
        await _all_ready(client)
        loop = asyncio.get_running_loop()
        expected = loop.run_in_executor(witness, expected_answers, flights)
        pizza_fed = await _replay(client, PIZZA, orders, len(orders))
        total = flights.departures.num_rows + flights.weather.num_rows
        flights_fed = await _replay(client, FLIGHTS, merged(flights), total, rate)
        console.print("waiting until everything is published and delivered")
        await _settled(client, FLIGHTS, flights_fed.last_position)
        await _settled(client, PIZZA, pizza_fed.last_position)
    console.print("comparing with the answers of plain SQL over the whole file")
    accepted = flights_fed.accepted + pizza_fed.accepted
    return await _checked(suite, await expected, orders, accepted)


async def _replay(
    client: Client, app: str, events: Iterable[TimedEvent], total: int, rate: int | None = None
) -> Fed:
    columns = (TextColumn(f"{app:<10}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(app, total=total)
        return await feed(
            client, app, events,
            key=f"demo-{app}", advance=lambda n: bar.advance(task, n), rate=rate,
        )  # fmt: skip


@contextlib.asynccontextmanager
async def apps_on(suite: Suite, *, keep: bool) -> AsyncIterator[None]:
    """The demo's apps are its own within the block, on a suite that others use too; then nothing
    is left of them, unless they are to be kept. Raises LockstepError when there are such apps."""
    url = f"{suite.addresses.coordinator}/v1/apps"
    async with Client(suite.addresses) as client:
        answer = await send_retrying(lambda: client.request("GET", url))
        there = {one["app"] for one in answer["apps"]}
        if taken := sorted(there & {FLIGHTS, PIZZA}):
            raise LockstepError(
                f"deployed already: {', '.join(taken)}",
                hint=f"`lockstep undeploy {taken[0]} --purge`, if it is left of an earlier demo",
            )
        yield
        if not keep:
            for app in (FLIGHTS, PIZZA):
                where = f"{url}/{app}?purge=true"
                await send_retrying(lambda where=where: client.request("DELETE", where))  # type: ignore[misc]


async def _all_ready(client: Client) -> None:
    """Until a replica leads each app."""
    for app in (FLIGHTS, PIZZA):
        await _until(client, app, lambda replica: replica["role"] == "active")


async def _settled(client: Client, app: str, position: int) -> None:
    """Until all outputs up to the position are in the output log."""
    await _until(client, app, lambda replica: replica["settled"] >= position)


async def _until(client: Client, app: str, reached: Callable[[Mapping[str, Any]], bool]) -> None:
    limit_ms = SETTLE_TIMEOUT_MS
    found = await send_retrying(
        lambda: client.replicas(app, reached, count=1, limit_ms=limit_ms, poll_ms=SETTLE_POLL_MS)
    )
    if not found:
        status = await client.status(app)
        raise LockstepError(f"{app} is not done after {limit_ms} ms: {status}")


async def _checked(
    suite: Suite, expected: dict[str, list[Row]], orders: list[TimedEvent], events: int
) -> Verdict:
    published = await send_retrying(lambda: _published(suite), limit_ms=SETTLE_TIMEOUT_MS)
    actual = {name: published[FLIGHTS].rows[name] for name in STREAM_ANSWERS}
    actual["OriginToday"] = await _table(suite, "origin_today", TABLE_COLUMNS)
    expected["delivered_orders"] = list(pizza_answer(orders))
    actual["delivered_orders"] = await _table(
        suite, "delivered_orders", ("customer_name", "overdue")
    )
    return _verdict(events, published.values(), expected, actual)


async def _published(suite: Suite) -> dict[str, Published]:
    """All rows of both apps."""
    world = await open_world(suite.settings, SystemClock(), SystemRandomness())
    try:
        return {
            app: await read_published(await world.bus.output_log(max(await world.bus.logs(app))))
            for app in (FLIGHTS, PIZZA)
        }
    finally:
        await world.close()


async def _table(suite: Suite, table: str, columns: tuple[str, ...]) -> list[Row]:
    """The rows of a sink table, read from the database itself once they stand still."""
    dsn = suite.settings.store.postgres_dsn.get_secret_value()
    clock = SystemClock()
    before: list[Row] | None = None
    while True:
        rows: list[Row] = await send_retrying(
            lambda: read_rows(dsn, table, columns), limit_ms=SETTLE_TIMEOUT_MS
        )
        if rows and rows == before:
            return rows
        before = rows
        await clock.sleep_ms(4 * SETTLE_POLL_MS)


def _verdict(
    events: int,
    published: Iterable[Published],
    expected: dict[str, list[Row]],
    actual: dict[str, list[Row]],
) -> Verdict:
    logs = list(published)
    wrong, lost = 0, 0
    for name, rows in expected.items():
        found = mismatches(rows, actual[name])
        missing = max(0, len(rows) - len(actual[name]))
        console.print(
            f"{name:<18}{len(rows):>8} expected {len(actual[name]):>8} found {len(found):>4} wrong"
        )
        for line in found[:SHOWN_MISMATCHES]:
            console.print(f"  {line}", markup=False)
        wrong += len(found)
        lost += missing
    duplicated = sum(log.duplicated + log.out_of_order for log in logs)
    return Verdict(events, sum(log.total for log in logs), wrong, lost, duplicated)
