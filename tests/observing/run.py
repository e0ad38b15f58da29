"""Dashboards, rules and traces on real servers: `make observe`.

Starts the suite in processes with Spark, sends events, and asks a real Prometheus for every
expression of the dashboards and alerts until each has data.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

import msgspec
from aiohttp import web

from lockstep.cli.client import Client
from lockstep.cli.processes import ProcessSuite, running_processes
from lockstep.telemetry.boards import ALERTS, DASHBOARDS
from lockstep.telemetry.boards.promql import WINDOW
from tests.integration.services.webhook import webhook
from tests.observing import prometheus

ROOT = Path(__file__).parents[2]
LIMIT_S = 180.0
TEXT = """
@app:name('Observed')
@app:statistics('DETAIL')
define stream Reading (room string, celsius double);
@sink(type='http', publisher.url='{url}', @map(type='json'))
define stream Mean (room string, mean double);
@info(name='means')
from Reading#window.time(10 sec) select room, avg(celsius) as mean group by room insert into Mean;
partition with (room of Reading) begin
  @info(name='changes')
  from Reading#window.length(2) select room, max(celsius) as most insert into Most;
end;
"""
SETTINGS = {
    "LOCKSTEP_PROCESSOR__SNAPSHOT_INTERVAL_MS": "3000",
    "LOCKSTEP_SPARK__WORKERS": "1",
}


def expressions() -> list[str]:
    """Of all panels, and what all alerts watch, as Grafana would send them."""
    shown = [line for board in DASHBOARDS for panel in board.panels for line, _ in panel.lines]
    watched = [alert.signal for alert in ALERTS]
    return [each.replace(WINDOW, "15s").replace("$app", ".*") for each in [*shown, *watched]]


async def observed(suite: ProcessSuite, binary: Path, folder: Path) -> bool:
    """Whether every expression has data before the time is up; prints what came of it."""
    targets = [process.url for process in suite.processes.values()]
    wanted = expressions()
    async with prometheus.running(binary, folder, targets) as url:
        give_up_s = time.monotonic() + LIMIT_S
        empty = wanted
        while empty and time.monotonic() < give_up_s:
            await asyncio.sleep(prometheus.POLL_S)
            empty = await prometheus.without_data(url, empty)
        rules = (await prometheus.asked(url, "rules"))["groups"][0]["rules"]
        sick = [rule["name"] for rule in rules if rule["health"] != "ok"]
        firing = [rule["name"] for rule in rules if rule["state"] == "firing"]
    for each in empty:
        print(f"no data: {each}")
    ok = not empty and not sick and len(rules) == len(ALERTS)
    print(
        f"observe: {'ok' if ok else 'failed'} expressions={len(wanted)} without_data={len(empty)}"
        f" rules={len(rules)} not_evaluated={len(sick)} firing={len(firing)}"
    )
    return ok


async def _send(client: Client, events_per_s: int) -> None:
    """Ten times a second, until cancelled."""
    number = 0
    while True:
        events = [
            {"room": f"r{i % 5}", "celsius": float((number + i) % 40)}
            for i in range(events_per_s // 10)
        ]
        await client.send("Observed", "Reading", msgspec.json.encode(events))
        number += len(events)
        await asyncio.sleep(0.1)


async def _taken(_: web.Request) -> web.Response:
    return web.Response()


async def main(binary: Path, events_per_s: int) -> int:
    """The exit code."""
    with tempfile.TemporaryDirectory(prefix="lockstep-observe-") as name:
        folder = Path(name)
        async with (
            webhook(_taken) as url,
            running_processes(folder / "suite", overrides=SETTINGS) as suite,
            Client(suite.addresses) as client,
        ):
            await client.deploy(TEXT.replace("{url}", url))
            sending = asyncio.create_task(_send(client, events_per_s))
            try:
                ok = await observed(suite, binary, folder / "observe")
            finally:
                sending.cancel()
                await asyncio.gather(sending, return_exceptions=True)
    return 0 if ok else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where scripts/prometheus put it")
    parser.add_argument("--rate", type=int, default=1_000, help="events per second")
    given = parser.parse_args()
    there = prometheus.found(given.folder)
    if there is None:
        sys.exit("there is no Prometheus: scripts/prometheus fetches one from Debian")
    sys.exit(asyncio.run(main(there, given.rate)))
