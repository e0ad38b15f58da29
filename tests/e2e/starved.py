"""Processors that get too little processor time: rows, lag and slices while other programs keep all
cores busy, in processes of their own.

`make e2e SCENARIO=starved` sends events at a steady rate. Six burners that end by themselves
compete for the cores. Meanwhile both processors are killed, one after the other, and started again,
and so is the presenter: whoever starts then has to become ready and must not end. When the cores
are free again all that was due by then has to be published soon, and all rows are compared with
what has to stand there.
Last line: `starved: ok events=<n> kills=2 lost=0 duplicated=0 freed_lag_ms=<n> slice_events=<n>`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import aiohttp

from lockstep.cli.client import Client
from lockstep.cli.processes import ProcessSuite, ServiceProcess, asking_session
from lockstep.cli.replay import send_retrying
from lockstep.client import Limits
from lockstep.clock import SystemClock
from lockstep.frame import World
from tests.e2e.handover import (
    APP,
    PLAN,
    TEXT,
    Feed,
    Watch,
    all_seen,
    both_ready,
    is_so,
    more_rows,
    row,
    until,
)
from tests.e2e.harness import Way, replicas_of, tried

CLOCK = SystemClock()
BURNERS = 6
BURNER = """
import sys, time
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    pass
"""
FIRST_KILL, RESTART, SECOND_KILL = 0.2, 0.4, 0.6
"""When, as shares of the time that the burners run."""
POLL_MS = 100
PATIENT = Limits(give_up_after_ms=110_000)
"""Nobody may lead for long, and receivers know what came twice for two minutes."""
READY_MS = 300_000
"""For a process that starts while the cores are busy."""
MEASURED_MS = 10_000
KILLS = 2
FREED_LAG_BAR_MS = 60_000
SLICE_BAR_EVENTS = 5
"""At least. What was due is sent every 10 ms: at 1,000 events a second slices of fewer than ten
events are cut out of one send."""
SLICES = re.compile(r"^lockstep_processor_slice_events_(sum|count)\{[^}]*\} (\S+)$", re.MULTILINE)


@dataclass(slots=True)
class Starving:
    """What happened. `ended`: processes that ended, or did not become ready, under load."""

    kills: int = 0
    freed_lag_ms: int = -1
    slice_events: float = 0.0
    ended: list[str] = field(default_factory=list)


async def main(minutes: float, rate: int, way: Way) -> int:
    """Runs it; gives the exit code."""

    async def trial(suite: ProcessSuite, world: World) -> bool:
        async with Client(suite.addresses) as client:
            await send_retrying(lambda: client.deploy(TEXT))
            await until(lambda: both_ready(client), "two ready replicas")
            log = await world.bus.output_log(max(await world.bus.logs(APP)))
            watch, feed = Watch(), Feed(rate, PATIENT)
            following = asyncio.create_task(watch.follow(log))
            feeding = asyncio.create_task(feed.run(client.addresses.receiver))
            await more_rows(watch, rate)
            story = Starving()
            print(
                f"starved: before, {await _slice_events(suite):.1f} events in a slice", flush=True
            )
            async with asking_session(suite.settings.client.tls) as session:
                starting = await _starve(suite, client, session, story, minutes * 60)
                await _freed(watch, feed, story)
                await asyncio.gather(*starting)
            await until(lambda: both_ready(client), "two ready replicas")
            story.slice_events = await _slice_events(suite)
            await all_seen(watch, feed, feeding, following)
            return _judge(watch, feed, story)

    return await tried("starved", trial, way, plan=PLAN)


@contextlib.contextmanager
def burning(seconds: float) -> Iterator[Sequence[subprocess.Popen[bytes]]]:
    """Programs that keep all cores busy for so long, and end by themselves; sooner when the block
    is left."""
    command = [sys.executable, "-c", BURNER, str(seconds)]
    burners = [subprocess.Popen(command) for _ in range(BURNERS)]
    try:
        yield burners
    finally:
        for one in burners:
            one.terminate()
            one.wait()


async def _starve(
    suite: ProcessSuite,
    client: Client,
    session: aiohttp.ClientSession,
    story: Starving,
    seconds: float,
) -> list[asyncio.Task[None]]:
    """Returns when the burners have ended; who waits for processes that were started meanwhile."""
    first = await _leader(client)
    second = next(p.node for p in suite.of("processor") if p.node != first)
    began_ms = CLOCK.monotonic_ms()

    async def at(share: float) -> None:
        passed_ms = CLOCK.monotonic_ms() - began_ms
        await CLOCK.sleep_ms(max(0, int(share * seconds * 1000) - passed_ms))

    starting = []
    with burning(seconds) as burners:
        for share, node in ((FIRST_KILL, first), (RESTART, "presenter"), (SECOND_KILL, second)):
            await at(share)
            process = suite.processes[node]
            if process.service == "processor":
                await process.kill()
                story.kills += 1
            else:
                await process.stop()
            process.start()
            print(f"starved: {node} started again after {share:.0%} of the time", flush=True)
            starting.append(asyncio.create_task(_becomes_ready(process, session, story)))
        await at(1.0)
        for one in burners:
            await asyncio.to_thread(one.wait)
    return starting


async def _becomes_ready(
    process: ServiceProcess, session: aiohttp.ClientSession, story: Starving
) -> None:
    """Notes it when it does not, or ends."""
    began_ms = CLOCK.monotonic_ms()
    while (took_ms := CLOCK.monotonic_ms() - began_ms) < READY_MS and not process.has_ended:
        with contextlib.suppress(aiohttp.ClientError, TimeoutError):
            async with session.get(f"{process.url}/readyz") as response:
                if response.status == 200:
                    print(f"starved: {process.node} ready after {took_ms} ms", flush=True)
                    return
        await CLOCK.sleep_ms(POLL_MS)
    print(f"starved: {process.node} {'ended' if process.has_ended else 'is not ready'}")
    story.ended.append(process.node)


async def _leader(client: Client) -> str:
    lead = ""

    async def one_leads() -> bool:
        nonlocal lead
        active = [r["node"] for r in await replicas_of(client, APP) if r["role"] == "active"]
        lead = str(active[0]) if len(active) == 1 else ""
        return bool(lead)

    await until(one_leads, "a leader")
    return lead


async def _freed(watch: Watch, feed: Feed, story: Starving) -> None:
    """Until all that was due when the cores became free is published."""
    began_ms, due = CLOCK.monotonic_ms(), feed.due
    print(f"starved: freed, {due - len(watch.rows)} of {due} events are behind", flush=True)
    await until(lambda: is_so(len(watch.rows) >= due), "what was due when the cores became free")
    story.freed_lag_ms = CLOCK.monotonic_ms() - began_ms


async def _slice_events(suite: ProcessSuite) -> float:
    """The mean size of the slices that are folded from now on, for a while, by leader and
    standby."""
    before = await _slices(suite)
    await CLOCK.sleep_ms(MEASURED_MS)
    after = await _slices(suite)
    count = after["count"] - before["count"]
    return (after["sum"] - before["sum"]) / count if count else 0.0


async def _slices(suite: ProcessSuite) -> dict[str, float]:
    """As the processors tell at /metrics."""
    found = {"sum": 0.0, "count": 0.0}
    async with asking_session(suite.settings.client.tls) as session:
        for process in suite.of("processor"):
            async with session.get(f"{process.url}/metrics") as response:
                for which, value in SLICES.findall(await response.text()):
                    found[which] += float(value)
    return found


def _judge(watch: Watch, feed: Feed, story: Starving) -> bool:
    wanted = [row(i) for i in range(feed.sent)]
    lost = len(set(wanted) - set(watch.rows))
    doubled = len(watch.ids) - len(set(watch.ids)) + len(watch.rows) - len(set(watch.rows))
    ok = (
        watch.rows == wanted
        and story.kills == KILLS
        and not story.ended
        and 0 <= story.freed_lag_ms <= FREED_LAG_BAR_MS
        and story.slice_events >= SLICE_BAR_EVENTS
    )
    print(
        f"starved: {'ok' if ok else 'FAILED'} events={feed.sent} kills={story.kills} lost={lost}"
        f" duplicated={doubled} freed_lag_ms={story.freed_lag_ms}"
        f" slice_events={story.slice_events:.0f}"
    )
    return ok


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5, help="how long the burners run")
    parser.add_argument("--rate", type=int, default=1_000, help="events a second")
    Way.ask(parser)
    options = parser.parse_args()
    sys.exit(asyncio.run(main(options.minutes, options.rate, Way.of(options))))
