"""Leaders that die or fall silent under load, in processes of their own: how long nobody publishes,
and that no row is lost or doubled.

`make e2e SCENARIO=failover` sends events at a steady rate, kills the leading processor with SIGKILL
again and again, stops it with SIGSTOP a few times, hands the lead over, and compares all rows with
what has to stand there.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from lockstep.bus import OutputLog
from lockstep.cli.client import Client
from lockstep.cli.processes import ProcessSuite
from lockstep.cli.replay import send_retrying
from lockstep.clock import SystemClock
from lockstep.frame import World
from tests.chaos.story import quantile
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
QUIET_MS = 1_500
BARS_MS = {"killed": 600, "silent": 2_000, "handover": 250}
"""For 99 of 100."""


@dataclass(slots=True)
class Trial:
    """A running suite under load, and for how long nobody published after each event."""

    suite: ProcessSuite
    client: Client
    watch: Watch
    feed: Feed
    took_ms: dict[str, list[int]] = field(default_factory=lambda: {kind: [] for kind in BARS_MS})
    lead: str = ""
    gone: str = ""
    """The node that led before."""

    async def leader(self) -> str:
        """The node that leads, once the other one is ready and stands by, as it is told by now: a
        dead process is the leader there until its heartbeats are missed."""
        await until(self._one_leads, "a leader and a ready standby")
        await more_rows(self.watch, self.feed.rate)
        return self.lead

    async def _one_leads(self) -> bool:
        replicas = [r for r in await replicas_of(self.client, APP) if r["ready"]]
        active = [str(r["node"]) for r in replicas if r["role"] == "active"]
        if len(replicas) != 2 or len(active) != 1 or active[0] == self.gone:
            return False
        self.lead = active[0]
        return True

    async def next_row(self, kind: str, began_ms: int, epoch: int) -> None:
        """Notes how long it took until a later epoch published."""
        await until(lambda: is_so(self.watch.times[-1][1] > epoch), "the next leader's row")
        first_ms = next(at_ms for at_ms, of in self.watch.times if of > epoch)
        self.took_ms[kind].append(first_ms - began_ms)
        print(f"failover: {kind} {first_ms - began_ms} ms", flush=True)

    async def kill(self) -> None:
        """SIGKILL, and a new process in its place."""
        self.gone = await self.leader()
        victim = self.suite.processes[self.gone]
        began_ms, epoch = CLOCK.monotonic_ms(), self.watch.times[-1][1]
        await victim.kill()
        await self.next_row("killed", began_ms, epoch)
        victim.start()

    async def silence(self) -> None:
        """SIGSTOP until another one leads: no connection closes. Then a new process takes its
        place: one that is held up again and again has leases that live longer."""
        self.gone = await self.leader()
        victim = self.suite.processes[self.gone]
        began_ms, epoch = CLOCK.monotonic_ms(), self.watch.times[-1][1]
        victim.send(signal.SIGSTOP)
        try:
            await self.next_row("silent", began_ms, epoch)
        finally:
            victim.send(signal.SIGCONT)
        await victim.kill()
        victim.start()

    async def hand_over(self) -> None:
        """By the operator's command."""
        self.gone = await self.leader()
        epoch = self.watch.times[-1][1]
        url = f"{self.client.addresses.coordinator}/v1/apps/{APP}/handover"
        await self.client.request("POST", url, json_body={})
        await until(lambda: is_so(self.watch.times[-1][1] > epoch), "the next leader's row")
        before = max(at_ms for at_ms, of in self.watch.times if of <= epoch)
        await self.next_row("handover", before, epoch)


async def main(counts: Sequence[int], rate: int, way: Way) -> int:
    """Runs it; gives the exit code."""

    async def trial(suite: ProcessSuite, world: World) -> bool:
        async with Client(suite.addresses) as client:
            await send_retrying(lambda: client.deploy(TEXT))
            await until(lambda: both_ready(client), "two ready replicas")
            log = await world.bus.output_log(max(await world.bus.logs(APP)))
            return await _under_load(Trial(suite, client, Watch(), Feed(rate)), log, counts)

    return await tried("failover", trial, way, plan=PLAN)


async def _under_load(trial: Trial, log: OutputLog, counts: Sequence[int]) -> bool:
    watch, feed = trial.watch, trial.feed
    following = asyncio.create_task(watch.follow(log))
    feeding = asyncio.create_task(feed.run(trial.client.addresses.receiver))
    for count, befall in zip(counts, (trial.kill, trial.silence, trial.hand_over), strict=True):
        for _ in range(count):
            await befall()
    await all_seen(watch, feed, feeding, following)
    return _judge(trial)


def _judge(trial: Trial) -> bool:
    watch, sent = trial.watch, trial.feed.sent
    wanted = [row(i) for i in range(sent)]
    lost = len(set(wanted) - set(watch.rows))
    doubled = len(watch.ids) - len(set(watch.ids)) + len(watch.rows) - len(set(watch.rows))
    ok, figures = watch.rows == wanted, []
    for kind, took in trial.took_ms.items():
        p50, p99 = quantile(took, 0.5), quantile(took, 0.99)
        ok = ok and p99 <= BARS_MS[kind]
        figures.append(f"{kind}={len(took)} p50={p50} p99={p99} max={max(took, default=0)} ms")
    print(
        f"failover: {'ok' if ok else 'FAILED'} {' '.join(figures)} rate={trial.feed.rate}"
        f" sent={sent} published={len(watch.rows)} lost={lost} duplicated={doubled}"
    )
    return ok


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--silences", type=int, default=5)
    parser.add_argument("--handovers", type=int, default=10)
    parser.add_argument("--rate", type=int, default=1_000, help="events a second")
    Way.ask(parser)
    options = parser.parse_args()
    wanted = (options.kills, options.silences, options.handovers)
    sys.exit(asyncio.run(main(wanted, options.rate, Way.of(options))))
