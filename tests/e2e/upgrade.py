"""Every process of a running suite is replaced by this build, under load, one after the other.

`make e2e SCENARIO=upgrade` takes the tree of an earlier commit out of git (`--since`), and starts
two of each service from it. An app with a window, a pattern and a table gets events at a steady
rate, and saves its state each second. Then each process is stopped in good order and started again
from the working tree: coordinators, processors, receivers, publishers, presenters. The next one
follows when this one is ready, and both replicas of the app are. So the new build reads the logs,
the saved states and the database of the earlier one, and for a time both work together. Each row
has to be in the output log once, and to be what an app gives that was never upgraded; a webhook has
to get each.

Last line: `upgrade: ok from=<commit> replaced=10 events=<n> lost=0 duplicated=0 wrong=0
undelivered=0 silence_ms=<longest>`.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import os
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from aiohttp import web

from lockstep.cli.client import Client
from lockstep.cli.processes import ProcessSuite, ServiceProcess, asking_session
from lockstep.cli.replay import send_retrying
from lockstep.client import EventClient, Limits
from lockstep.frame import World
from tests.e2e.handover import APP, BEAT_MS, CLOCK, QUIET_MS, Watch, both_ready, is_so, until
from tests.e2e.harness import Way, tried
from tests.integration.services.webhook import webhook

ROOT: Final = Path(__file__).parents[2]
SERVICES: Final = ("coordinator", "processor", "receiver", "publisher", "presenter")
PLAN: Final = tuple((f"{service}-{number}", service) for service in SERVICES for number in (1, 2))
WINDOW: Final = 100
KEYS: Final = 7
TEXT: Final = """@app:name('{app}')
define stream In (v long);
@PrimaryKey('k')
define table Last (k long, v long);
@sink(type='http', publisher.url='{url}', @map(type='json'))
define stream Out (v long, total long, n long, previous long, last long);
from In select v % {keys} as k, v update or insert into Last set Last.v = v on Last.k == k;
from In#window.length({window}) select v, sum(v) as total, count() as n insert into Sums;
from every a=Sums -> b=Sums[b.v == a.v + 1]
select b.v as v, b.total as total, b.n as n, a.total as previous insert into Pairs;
from Pairs join Last on (Pairs.v + 1) % {keys} == Last.k
select Pairs.v as v, Pairs.total as total, Pairs.n as n, Pairs.previous as previous, Last.v as last
insert into Out;
"""
SETTINGS: Final = {"LOCKSTEP_PROCESSOR__SNAPSHOT_INTERVAL_MS": "1000"}
PATIENT: Final = Limits(give_up_after_ms=110_000)
WHERE: Final = "import lockstep, lockstep_services; print(lockstep.__file__)"


@dataclass(slots=True)
class Load:
    """Events 0, 1, 2, … at a steady rate to all receivers, and what the webhook got of their
    rows."""

    rate: int
    sent: int = 0
    done: asyncio.Event = field(default_factory=asyncio.Event)
    got: Counter[int] = field(default_factory=Counter)

    async def run(self, receivers: list[str]) -> None:
        """Until `done` is set; all of them are durable then."""
        async with EventClient(receivers, APP, limits=PATIENT) as client:
            began_ms = CLOCK.monotonic_ms()
            while not self.done.is_set():
                due = (CLOCK.monotonic_ms() - began_ms) * self.rate // 1000
                while self.sent < due:
                    await client.put("In", (self.sent,))
                    self.sent += 1
                await CLOCK.sleep_ms(BEAT_MS)

    async def hook(self, request: web.Request) -> web.Response:
        """Takes a row."""
        self.got[(await request.json())["event"]["v"]] += 1
        return web.Response()

    def wanted(self) -> list[tuple[int, ...]]:
        """What the app gives for all of them."""
        return [row(v) for v in range(KEYS - 1, self.sent)]


def row(v: int) -> tuple[int, ...]:
    """Of the event v: the window's sum and count, the sum before, and the last event with the next
    key."""
    total, n = _sum(v)
    return v, total, n, _sum(v - 1)[0], v + 1 - KEYS


def _sum(v: int) -> tuple[int, int]:
    values = range(max(0, v - WINDOW + 1), v + 1)
    return sum(values), len(values)


def rows_of(watch: Watch) -> list[tuple[Any, ...]]:
    """Those of `Out`."""
    return [each for each in watch.rows if len(each) == len(row(0))]


def earlier_tree(commit: str, folder: Path) -> tuple[str, str]:
    """(its short name, what PYTHONPATH leads to its code)."""
    name = _git("rev-parse", "--short", commit).decode().strip()
    with tarfile.open(fileobj=io.BytesIO(_git("archive", commit, "libs", "services"))) as archive:
        archive.extractall(folder, filter="data")
    path = f"{folder / 'libs'}:{folder / 'services'}"
    command = [sys.executable, "-c", WHERE]
    environment = {**os.environ, "PYTHONPATH": path}
    where = subprocess.run(command, env=environment, check=True, capture_output=True).stdout
    if not where.decode().startswith(str(folder)):
        raise RuntimeError(f"the earlier tree is not what would run: {where.decode()}")
    return name, path


def _git(*arguments: str) -> bytes:
    return subprocess.run(
        ["git", "-C", str(ROOT), *arguments], check=True, capture_output=True
    ).stdout


async def replaced(client: Client, suite: ProcessSuite, watch: Watch, rate: int) -> int:
    """How many processes run this build now: all of them."""
    async with asking_session(suite.settings.client.tls) as session:
        for process in suite.processes.values():
            await until(lambda: both_ready(client), "two ready replicas")
            await _more(watch, rate)
            began_ms = CLOCK.monotonic_ms()
            await process.stop()
            process.environment = _of_this_build(process)
            process.start()
            await process.ready(session)
            print(f"upgrade: {process.node} {CLOCK.monotonic_ms() - began_ms} ms", flush=True)
    await until(lambda: both_ready(client), "two ready replicas")
    await _more(watch, rate)
    return len(suite.processes)


def _of_this_build(process: ServiceProcess) -> dict[str, str]:
    return {name: value for name, value in process.environment.items() if name != "PYTHONPATH"}


async def _more(watch: Watch, count: int) -> None:
    enough = len(rows_of(watch)) + count
    await until(lambda: is_so(len(rows_of(watch)) >= enough), "more rows")


async def main(since: str, rate: int, way: Way) -> int:
    """Runs it; gives the exit code."""
    load = Load(rate)
    with tempfile.TemporaryDirectory(prefix="lockstep-earlier-") as folder:
        commit, path = earlier_tree(since, Path(folder))
        async with webhook(load.hook) as url:
            text = TEXT.format(app=APP, url=url, keys=KEYS, window=WINDOW)

            async def trial(suite: ProcessSuite, world: World) -> bool:
                async with Client(suite.addresses) as client:
                    await send_retrying(lambda: client.deploy(text))
                    await until(lambda: both_ready(client), "two ready replicas")
                    log = await world.bus.output_log(max(await world.bus.logs(APP)))
                    watch = Watch()
                    following = asyncio.create_task(watch.follow(log))
                    receivers = [process.url for process in suite.of("receiver")]
                    feeding = asyncio.create_task(load.run(receivers))
                    count = await replaced(client, suite, watch, rate)
                    load.done.set()
                    await feeding
                    await _all_seen(watch, load)
                    following.cancel()
                    await asyncio.gather(following, return_exceptions=True)
                    return _judge(commit, count, watch, load)

            overrides = {**SETTINGS, "PYTHONPATH": path}
            return await tried("upgrade", trial, way, plan=PLAN, overrides=overrides)


async def _all_seen(watch: Watch, load: Load) -> None:
    wanted = len(load.wanted())
    await until(lambda: is_so(len(rows_of(watch)) >= wanted), "all rows")
    await until(lambda: is_so(len(load.got) >= wanted), "all rows at the webhook")
    await CLOCK.sleep_ms(QUIET_MS)  # whatever is published twice shows by then


def _judge(commit: str, count: int, watch: Watch, load: Load) -> bool:
    rows, wanted = rows_of(watch), load.wanted()
    lost = len({each[0] for each in wanted} - {each[0] for each in rows})
    doubled = len(watch.ids) - len(set(watch.ids)) + len(rows) - len({each[0] for each in rows})
    wrong = len(set(rows) - set(wanted)) + (rows != sorted(rows))
    undelivered = sum(each[0] not in load.got for each in wanted)
    again = sum(load.got.values()) - len(load.got)
    ok = not (lost or doubled or wrong or undelivered) and count == len(PLAN)
    print(f"upgrade: the webhook got {again} rows again, under the identity of the first time")
    print(
        f"upgrade: {'ok' if ok else 'FAILED'} from={commit} replaced={count} events={load.sent}"
        f" lost={lost} duplicated={doubled} wrong={wrong} undelivered={undelivered}"
        f" silence_ms={watch.longest_ms(0)}"
    )
    return ok


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--since", default="HEAD~50", help="the commit of the earlier build")
    parser.add_argument("--rate", type=int, default=500, help="events a second")
    Way.ask(parser)
    options = parser.parse_args()
    sys.exit(asyncio.run(main(options.since, options.rate, Way.of(options))))
