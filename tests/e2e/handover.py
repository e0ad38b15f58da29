"""Planned moves under load, in processes of their own: hand-overs and rolling upgrades; how long
nobody publishes, and that no row is lost or doubled.

`make e2e SCENARIO=handover` sends events at a steady rate, hands the lead over ten times and
replaces the app's text twice, watches the output log, and compares all of it with what has to
stand there.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import statistics
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from lockstep.bus import OutputLog
from lockstep.cli.client import Client
from lockstep.cli.processes import ProcessSuite
from lockstep.cli.replay import send_retrying
from lockstep.client import EventClient, Limits
from lockstep.clock import SystemClock
from lockstep.events import OutputRecord
from lockstep.frame import World
from tests.e2e.harness import Way, replicas_of, tried

CLOCK = SystemClock()
APP = "Planned"
WINDOW = 100
TEXT = f"""@app:name('{APP}')
define stream In (v long);
from In#window.length({WINDOW}) select v, sum(v) as total, count() as n insert into Out;
"""
PLAN = (
    ("coordinator", "coordinator"),
    ("processor-1", "processor"),
    ("processor-2", "processor"),
    ("presenter", "presenter"),
    ("receiver", "receiver"),
)
BEAT_MS = 10
POLL_MS = 20
QUIET_MS = 1_500
TIMEOUT_MS = 120_000
BAR_MS = 300


@dataclass(slots=True)
class Watch:
    """What the output log brought and when this process saw it."""

    rows: list[tuple[Any, ...]] = field(default_factory=list)
    ids: list[Any] = field(default_factory=list)
    times: list[tuple[int, int]] = field(default_factory=list)
    """(monotonic ms, epoch) of each record with rows."""

    async def follow(self, log: OutputLog) -> None:
        """Until cancelled."""
        after = 0
        while True:
            entries = await log.read(
                after, max_records=1_000, max_bytes=10_000_000, wait_ms=POLL_MS
            )
            seen_ms = CLOCK.monotonic_ms()
            for entry in entries:
                after = entry.sequence
                if isinstance(entry.record, OutputRecord):
                    self.rows += (row.data for row in entry.record.rows)
                    self.ids += (row.id for row in entry.record.rows)
                    self.times.append((seen_ms, entry.record.epoch))

    def gaps_ms(self) -> list[int]:
        """Between the last rows of an epoch and the first of the next, one after the other."""
        pairs = itertools.pairwise(self.times)
        return [later - earlier for (earlier, old), (later, new) in pairs if new != old]

    def usual_ms(self) -> int:
        """99 of 100 pauses between records of one epoch are not longer."""
        pairs = itertools.pairwise(self.times)
        pauses = sorted(later - earlier for (earlier, old), (later, new) in pairs if new == old)
        return pauses[len(pauses) * 99 // 100] if pauses else 0

    def longest_ms(self, since: int) -> int:
        """The longest silence among the records from a number on."""
        seen = [at_ms for at_ms, _ in self.times[max(0, since - 1) :]]
        return max((b - a for a, b in itertools.pairwise(seen)), default=0)


@dataclass(slots=True)
class Feed:
    """Events 0, 1, 2, … at a steady rate."""

    rate: int
    limits: Limits = field(default_factory=Limits)
    sent: int = 0
    due: int = 0
    """What should have been sent by now."""
    done: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, receiver: str) -> None:
        """Until `done` is set; all of them are durable then."""
        async with EventClient([receiver], APP, limits=self.limits) as client:
            began_ms = CLOCK.monotonic_ms()
            while not self.done.is_set():
                self.due = (CLOCK.monotonic_ms() - began_ms) * self.rate // 1000
                while self.sent < self.due:
                    await client.put("In", (self.sent,))
                    self.sent += 1
                await CLOCK.sleep_ms(BEAT_MS)


async def main(rate: int, handovers: int, upgrades: int, way: Way) -> int:
    """Runs it; gives the exit code."""

    async def trial(suite: ProcessSuite, world: World) -> bool:
        async with Client(suite.addresses) as client:
            await send_retrying(lambda: client.deploy(TEXT))
            await until(lambda: both_ready(client), "two ready replicas")
            log = await world.bus.output_log(max(await world.bus.logs(APP)))
            return await _under_load(client, log, Feed(rate), handovers, upgrades)

    return await tried("handover", trial, way, plan=PLAN)


async def _under_load(
    client: Client, log: OutputLog, feed: Feed, handovers: int, upgrades: int
) -> bool:
    watch = Watch()
    following = asyncio.create_task(watch.follow(log))
    feeding = asyncio.create_task(feed.run(client.addresses.receiver))
    await more_rows(watch, feed.rate)
    for _ in range(handovers):
        await until(lambda: both_ready(client), "two ready replicas")
        url = f"{client.addresses.coordinator}/v1/apps/{APP}/handover"
        await client.request("POST", url, json_body={})
        await more_rows(watch, feed.rate)
    gaps, usual_ms = watch.gaps_ms(), watch.usual_ms()
    silences = []
    for number in range(upgrades):
        await until(lambda: both_ready(client), "two ready replicas")
        before = len(watch.times)
        text = TEXT.replace("from In", f"define stream More{number} (x int);\nfrom In")
        version = (await client.deploy(text))["version"]
        await until(partial(both_ready, client, version), "the new version")
        await more_rows(watch, feed.rate)
        silences.append(watch.longest_ms(before))
    await all_seen(watch, feed, feeding, following)
    print(f"handover: between other records p99={usual_ms} ms")
    return _judge(watch, feed, gaps, silences, handovers)


async def all_seen(
    watch: Watch, feed: Feed, feeding: asyncio.Task[None], following: asyncio.Task[None]
) -> None:
    """Ends the feeding, and the watching once it has seen every row, and time to see one twice."""
    feed.done.set()
    await feeding
    await until(lambda: is_so(len(watch.rows) >= feed.sent), "all rows")
    await CLOCK.sleep_ms(QUIET_MS)  # whatever is published twice shows by then
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)


def _judge(
    watch: Watch, feed: Feed, gaps: Sequence[int], silences: Sequence[int], handovers: int
) -> bool:
    wanted = [row(i) for i in range(feed.sent)]
    lost = len(set(wanted) - set(watch.rows))
    doubled = len(watch.ids) - len(set(watch.ids)) + len(watch.rows) - len(set(watch.rows))
    right = watch.rows == wanted and len(gaps) == handovers
    ok = right and max(gaps, default=0) <= BAR_MS
    print(
        f"handover: {'ok' if ok else 'FAILED'} handovers={len(gaps)} rate={feed.rate}"
        f" gap_ms p50={statistics.median(gaps or [0]):.0f} max={max(gaps, default=0)}"
        f" upgrades={len(silences)} silence_ms max={max(silences, default=0)}"
        f" sent={feed.sent} published={len(watch.rows)} lost={lost} duplicated={doubled}"
    )
    return ok


def row(i: int) -> tuple[int, int, int]:
    """What the app publishes for the i-th event."""
    values = range(max(0, i - WINDOW + 1), i + 1)
    return i, sum(values), len(values)


async def more_rows(watch: Watch, count: int) -> None:
    """About a second of load behind what is there now."""
    enough = len(watch.rows) + count
    await until(lambda: is_so(len(watch.rows) >= enough), "more rows")


async def is_so(answer: bool) -> bool:
    """For `until`, where nothing has to be asked."""
    return answer


async def both_ready(client: Client, version: str | None = None) -> bool:
    """A leader and a standby that could take over, of that version where one is named."""
    replicas = await replicas_of(client, APP)
    ready = [r for r in replicas if r["ready"] and version in (None, r["version"])]
    return len(ready) == 2 and any(r["role"] == "active" for r in ready)


async def until(reached: Callable[[], Awaitable[bool]], what: str) -> None:
    """TimeoutError, with the name of what was waited for."""
    deadline_ms = CLOCK.monotonic_ms() + TIMEOUT_MS
    while not await reached():
        if CLOCK.monotonic_ms() > deadline_ms:
            raise TimeoutError(f"not within {TIMEOUT_MS} ms: {what}")
        await CLOCK.sleep_ms(POLL_MS)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=1_000, help="events a second")
    parser.add_argument("--handovers", type=int, default=10)
    parser.add_argument("--upgrades", type=int, default=2)
    Way.ask(parser)
    options = parser.parse_args()
    planned = (options.rate, options.handovers, options.upgrades, Way.of(options))
    sys.exit(asyncio.run(main(*planned)))
