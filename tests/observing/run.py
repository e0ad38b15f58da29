"""Dashboards, rules and traces on real servers: `make observe`.

Starts the suite in processes with Spark, sends events, makes what seldom happens, and asks a real
Prometheus for every expression of the dashboards and alerts until each has data. An expression that
gives 0 as long as there is no series counts as answered by its fall-back until its series is there.
Last line: `observe: ok expressions=<n> empty=0 fallback=<n>`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import shutil
import sys
import tempfile
import time
from pathlib import Path

import asyncpg
import msgspec

from lockstep.cli.client import Client
from lockstep.cli.processes import ProcessSuite, running_processes
from lockstep.events import LockstepError
from lockstep.telemetry.boards import ALERTS, DASHBOARDS
from lockstep.telemetry.boards.promql import WINDOW
from tests.integration.services.webhook import webhook
from tests.observing import prometheus
from tests.observing.trouble import APP, NOTES, Hook, Trouble
from tests.observing.trouble import SETTINGS as FOR_TROUBLE

ROOT = Path(__file__).parents[2]
LIMIT_S = 600.0
LAST_TROUBLE_S = 20.0
"""For what was made last to be scraped twice."""
CHANGE_S = 0.2
ROOMS = 5
TEXT = """
@app:name('{app}')
@app:statistics('DETAIL')
define stream Reading (room string, celsius double);
@store(type='rdbms', mode='copy', table.name='rooms')
@PrimaryKey('room')
define table Rooms (room string, floor int);
@store(type='rdbms', mode='lookup', table.name='owners')
@PrimaryKey('room')
define table Owners (room string, owner string);
@sink(type='http', publisher.url='{url}', @map(type='json'))
define stream Mean (room string, mean double);
@info(name='means')
from Reading#window.time(10 sec) select room, avg(celsius) as mean group by room insert into Mean;
@info(name='places')
from Reading join Rooms on Reading.room == Rooms.room
select Reading.room as room, Rooms.floor as floor insert into Placed;
@info(name='owned')
from Reading left outer join Owners on Reading.room == Owners.room
select Reading.room as room, Owners.owner as owner insert into Owned;
partition with (room of Reading) begin
  @info(name='changes')
  from Reading#window.length(2) select room, max(celsius) as most insert into Most;
end;
"""
TABLES = f"""
CREATE TABLE rooms (room text PRIMARY KEY, floor int);
CREATE TABLE owners (room text PRIMARY KEY, owner text);
INSERT INTO rooms SELECT 'r' || n, n FROM generate_series(0, {ROOMS - 1}) n;
INSERT INTO owners SELECT 'r' || n, 'o' || n FROM generate_series(0, {ROOMS - 1}) n;
"""
SETTINGS = {
    "LOCKSTEP_PROCESSOR__SNAPSHOT_INTERVAL_MS": "3000",
    "LOCKSTEP_SPARK__WORKERS": "1",
    "LOCKSTEP_ARCHIVE__INTERVAL_MS": "1000",
    **FOR_TROUBLE,
}


def expressions() -> list[str]:
    """Of all panels, and what all alerts watch, as Grafana would send them."""
    shown = [line for board in DASHBOARDS for panel in board.panels for line, _ in panel.lines]
    watched = [alert.signal for alert in ALERTS]
    return [each.replace(WINDOW, "15s").replace("$app", ".*") for each in [*shown, *watched]]


async def observed(suite: ProcessSuite, trouble: Trouble, binary: Path, folder: Path) -> bool:
    """Whether every expression has data before the time is up; prints what came of it."""
    targets = [process.url for process in suite.processes.values()]
    wanted = expressions()
    rare = [each for each in wanted if prometheus.without_fallback(each) != each]
    async with prometheus.running(binary, folder, targets) as url:
        making = asyncio.create_task(trouble.run())
        try:
            empty, fallback = await _asked_until_there(url, making, wanted, rare)
        finally:
            making.cancel()
            await asyncio.gather(making, return_exceptions=True)
        rules = (await prometheus.asked(url, "rules"))["groups"][0]["rules"]
    sick = [rule["name"] for rule in rules if rule["health"] != "ok"]
    firing = [rule["name"] for rule in rules if rule["state"] == "firing"]
    for each in empty:
        print(f"no data: {each}")
    for each in fallback:
        print(f"fall-back only: {each}")
    ok = not empty and not sick and len(rules) == len(ALERTS)
    print(
        f"observe: rules={len(rules)} not_evaluated={len(sick)} firing={len(firing)}"
        f" with_fallback={len(rare)} not_made={','.join(trouble.failed) or 'nothing'}"
    )
    print(
        f"observe: {'ok' if ok else 'failed'} expressions={len(wanted)} empty={len(empty)}"
        f" fallback={len(fallback)}"
    )
    return ok


async def _asked_until_there(
    url: str, making: asyncio.Task[None], wanted: list[str], rare: list[str]
) -> tuple[list[str], list[str]]:
    """Those that never had data, and those of `rare` that only their fall-back answered: once all
    have both, or some time after the last trouble was made, or when the time is up."""
    give_up_s = time.monotonic() + LIMIT_S
    enough_s = give_up_s
    empty, fallback = wanted, rare
    while empty or fallback:
        await asyncio.sleep(prometheus.POLL_S)
        empty = await prometheus.without_data(url, empty)
        series = {prometheus.without_fallback(each): each for each in fallback}
        missing = await prometheus.without_data(url, list(series))
        fallback = [series[each] for each in missing]
        now_s = time.monotonic()
        if making.done():
            enough_s = min(enough_s, now_s + LAST_TROUBLE_S)
        if now_s >= give_up_s or (not empty and now_s >= enough_s):
            break
    return empty, fallback


async def _send(client: Client, events_per_s: int) -> None:
    """Ten times a second, until cancelled. What is not taken meanwhile is left out."""
    number = 0
    while True:
        events = [
            {"room": f"r{i % ROOMS}", "celsius": float((number + i) % 40)}
            for i in range(events_per_s // 10)
        ]
        with contextlib.suppress(LockstepError):
            await client.send(APP, "Reading", msgspec.json.encode(events))
        number += len(events)
        await asyncio.sleep(0.1)


async def _change(connection: asyncpg.Connection) -> None:
    """Somebody else's program changes the tables, until cancelled."""
    while True:
        await connection.execute("UPDATE rooms SET floor = (floor + 1) % 100")
        await connection.execute("UPDATE owners SET owner = owner")
        await asyncio.sleep(CHANGE_S)


async def main(binary: Path, events_per_s: int) -> int:
    """The exit code. The logs stay when it is not 0."""
    folder, ok = Path(tempfile.mkdtemp(prefix="lockstep-observe-")), False
    try:
        async with running_processes(folder / "suite", overrides=SETTINGS) as suite:
            ok = await _under_load(suite, binary, folder / "observe", events_per_s)
    finally:
        if ok:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            print(f"observe: logs in {folder}")
    return 0 if ok else 1


async def _under_load(suite: ProcessSuite, binary: Path, folder: Path, events_per_s: int) -> bool:
    hook = Hook()
    connection = await asyncpg.connect(suite.settings.store.postgres_dsn.get_secret_value())
    await connection.execute(TABLES)
    async with webhook(hook.answer) as url, Client(suite.addresses) as client:
        await client.deploy(TEXT.replace("{app}", APP).replace("{url}", url))
        await client.deploy(NOTES)
        working = [
            asyncio.create_task(_send(client, events_per_s)),
            asyncio.create_task(_change(connection)),
        ]
        try:
            ok = await observed(suite, Trouble(suite, client, hook), binary, folder)
        finally:
            for task in working:
                task.cancel()
            ended = await asyncio.gather(*working, return_exceptions=True)
            await connection.close()
    for error in ended:
        if isinstance(error, Exception):
            raise error
    return ok


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where scripts/prometheus put it")
    parser.add_argument("--rate", type=int, default=1_000, help="events per second")
    given = parser.parse_args()
    there = prometheus.found(given.folder)
    if there is None:
        sys.exit("there is no Prometheus: scripts/prometheus fetches one from Debian")
    sys.exit(asyncio.run(main(there, given.rate)))
