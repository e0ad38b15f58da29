"""Traces of events in a real collector, over processes of their own: `make e2e SCENARIO=trace`.

Rotel takes the spans of a suite with two processors, a share of whose sends is traced, and hands
them on to who keeps them.

* Whole: sends that bring a `traceparent`, one after the other. Each trace has a span of each stage:
  at the door, the append to the input log, the fold of each processor, the append to the output
  log, the delivery to a webhook, the live view. Each is the child of the one before it, begins no
  sooner, and bears the service's name. The webhook gets the trace's context.
* Sampled: sends at a steady rate, of which `--ratio` is traced. Each traced append is found again:
  a fold is its child, or is linked to it. As many are traced as the ratio says.
* Away: the collector is stopped under load and started again. Every row is delivered, once, and
  traces come again.

Last line: `trace: ok whole=<n> spans=<n> stages=6 sampled=<n> sends=<n> unlinked=0 away_sends=<n>
lost=0 duplicated=0`.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec
from aiohttp import web

from lockstep.cli.client import Client
from lockstep.cli.processes import ProcessSuite
from lockstep.cli.replay import send_retrying
from lockstep.clock import SystemClock, SystemRandomness
from lockstep.frame import World
from tests.collector import rotel
from tests.collector.rotel import Rotel
from tests.e2e.harness import Way, replicas_of, tried
from tests.integration.services.webhook import webhook
from tests.otlp.receiver import Seen
from tests.otlp.stages import STAGES

CLOCK: Final = SystemClock()
APP: Final = "Traced"
TEXT: Final = """@app:name('{app}')
define stream In (v long);
@sink(type='http', publisher.url='{url}', @map(type='json'))
define stream Out (v long);
from In select v insert into Out;
"""
BEFORE: Final = {
    "append": "receive", "fold": "append", "publish": "fold",
    "deliver": "publish", "present": "publish",
}  # fmt: skip
"""Of which stage each is a child."""
PROCESSORS: Final = 2
SEND_EVENTS: Final = 10
POLL_MS: Final = 100
LIMIT_MS: Final = 180_000
DEVIATIONS: Final = 5
"""So far the number of traced sends may be from what the ratio says."""
SKEW_NS: Final = 1_000_000
"""Clocks of the processes are read to the millisecond."""


@dataclass(slots=True)
class Story:
    """What was sent, and what the webhook got: how often each number, and with which contexts."""

    sends: int = 0
    events: int = 0
    got: Counter[int] = field(default_factory=Counter)
    contexts: set[str] = field(default_factory=set)

    async def hook(self, request: web.Request) -> web.Response:
        """Takes a row."""
        self.contexts.add(request.headers.get("traceparent", ""))
        self.got[(await request.json())["event"]["v"]] += 1
        return web.Response()

    def next_events(self, count: int) -> bytes:
        """A body of events with the numbers that come next."""
        first, self.events = self.events, self.events + count
        self.sends += 1
        return msgspec.json.encode([{"v": number} for number in range(first, self.events)])


@dataclass(slots=True)
class Tracing:
    """The suite, its collector, and what came of it so far."""

    client: Client
    collector: Rotel
    story: Story
    wrong: list[str] = field(default_factory=list)
    spans: int = 0

    async def whole(self, count: int) -> int:
        """How many of so many sends have a trace that is whole."""
        return sum([await self._one_whole() for _ in range(count)])

    async def _one_whole(self) -> bool:
        trace, span = SystemRandomness().uuid_hex(), SystemRandomness().uuid_hex()[:16]
        await self._send(1, f"00-{trace}-{span}-01")
        spans: Sequence[Seen] = ()
        deadline_ms = CLOCK.monotonic_ms() + LIMIT_MS
        while len(spans) < len(STAGES) + PROCESSORS - 1:
            if CLOCK.monotonic_ms() > deadline_ms:
                self.wrong.append(f"{trace}: {sorted(one.name for one in spans)} and no more")
                return False
            await CLOCK.sleep_ms(POLL_MS)
            spans = self.collector.trace(trace)
        self.spans += len(spans)
        found = [f"{trace}: {what}" for what in faults_of(spans, span)]
        delivered = [one for one in spans if one.name == "deliver"]
        if not any(f"00-{trace}-{one.span_id}-01" in self.story.contexts for one in delivered):
            found.append(f"{trace}: the webhook was not told of it")
        self.wrong += found
        return not found

    async def load(self, sends: int, per_s: int) -> None:
        """So many sends at a steady rate, all durable."""
        for _ in range(sends):
            await self._send(SEND_EVENTS)
            await CLOCK.sleep_ms(1_000 // per_s)

    async def sampled(self, sends: int, per_s: int, ratio: float) -> tuple[int, int]:
        """(how many of so many sends were traced, how many of these no fold knows)."""
        known = {trace for trace, _ in _appends(self.collector.spans())}
        await self.load(sends, per_s)
        await self.until_delivered()
        wanted, spread = sends * ratio, DEVIATIONS * math.sqrt(sends * ratio * (1 - ratio))
        appends: set[tuple[str, str]] = set()
        missing: set[tuple[str, str]] = set()
        deadline_ms = CLOCK.monotonic_ms() + LIMIT_MS
        while missing or len(appends) < wanted - spread:
            if CLOCK.monotonic_ms() > deadline_ms:
                break
            await CLOCK.sleep_ms(POLL_MS)
            spans = self.collector.spans()
            appends = {each for each in _appends(spans) if each[0] not in known}
            folds = [one for one in spans if one.name == "fold"]
            reached = {(one.trace_id, one.parent_id) for one in folds}
            missing = appends - reached - {link for one in folds for link in one.linked}
        if not wanted - spread <= len(appends) <= wanted + spread:
            self.wrong.append(f"{len(appends)} of {sends} sends are traced, not {ratio:.0%}")
        return len(appends), len(missing)

    async def away(self, sends: int, per_s: int) -> None:
        """No collector for all these sends."""
        await self.collector.stop()
        await self.load(sends, per_s)
        await self.until_delivered()
        await self.collector.start()

    async def until_delivered(self) -> None:
        """The webhook has got all."""
        deadline_ms = CLOCK.monotonic_ms() + LIMIT_MS
        while len(self.story.got) < self.story.events and CLOCK.monotonic_ms() < deadline_ms:
            await CLOCK.sleep_ms(POLL_MS)

    async def _send(self, events: int, context: str = "") -> None:
        body = self.story.next_events(events)
        url = f"{self.client.addresses.receiver}/v1/apps/{APP}/streams/In/events"
        headers = {"Content-Type": "application/json", "Idempotency-Key": f"s{self.story.sends}"}
        if context:
            headers["traceparent"] = context
        await send_retrying(lambda: self.client.request("POST", url, body=body, headers=headers))


def _appends(spans: Sequence[Seen]) -> set[tuple[str, str]]:
    return {(one.trace_id, one.span_id) for one in spans if one.name == "append"}


def faults_of(spans: Sequence[Seen], sender: str) -> list[str]:
    """What is wrong with a trace of one send: nothing. `sender`: the span that it came with."""
    found = []
    wanted = Counter({**dict.fromkeys(STAGES, 1), "fold": PROCESSORS})
    if (names := Counter(one.name for one in spans)) != wanted:
        found.append(f"stages {dict(names)}")
    known = {one.span_id: one for one in spans}
    for one in spans:
        if one.service != STAGES.get(one.name):
            found.append(f"{one.name} is told by {one.service}")
        before = known.get(one.parent_id)
        if one.name == "receive":
            if one.parent_id != sender:
                found.append("the door does not go on with the sender's span")
        elif before is None or before.name != BEFORE[one.name]:
            found.append(f"{one.name} is a child of {before and before.name}")
        elif one.begun_ns + SKEW_NS < before.begun_ns:
            found.append(f"{one.name} begins {before.begun_ns - one.begun_ns} ns too early")
        if one.ended_ns <= one.begun_ns:
            found.append(f"{one.name} took no time")
        if one.attributes.get("lockstep.app", APP) != APP:
            found.append(f"{one.name} is of {one.attributes['lockstep.app']}")
    return found


async def main(binary: Path, options: argparse.Namespace) -> int:
    """Runs it; gives the exit code."""
    story = Story()
    with tempfile.TemporaryDirectory(prefix="lockstep-collector-") as folder:
        async with rotel.running(binary, Path(folder)) as collector, webhook(story.hook) as url:

            async def trial(suite: ProcessSuite, _: World) -> bool:
                async with Client(suite.addresses) as client:
                    await send_retrying(lambda: client.deploy(TEXT.format(app=APP, url=url)))
                    await _both_ready(client)
                    return await _tried(Tracing(client, collector, story), options)

            overrides = {
                "LOCKSTEP_TELEMETRY__TRACE_RATIO": str(options.ratio),
                "LOCKSTEP_TELEMETRY__OTLP_URL": collector.otlp_url,
            }
            return await tried("trace", trial, Way.of(options), overrides=overrides)


async def _tried(tracing: Tracing, options: argparse.Namespace) -> bool:
    story = tracing.story
    whole = await tracing.whole(options.whole)
    print(f"trace: {whole} of {options.whole} traces are whole", flush=True)
    sampled, unlinked = await tracing.sampled(options.sends, options.rate, options.ratio)
    print(f"trace: {sampled} of {options.sends} sends traced, {unlinked} not folded", flush=True)
    await tracing.away(options.away, options.rate)
    again = await tracing.whole(1)
    lost = sum(number not in story.got for number in range(story.events))
    doubled = sum(times - 1 for times in story.got.values())
    for each in tracing.wrong:
        print(f"trace: {each}")
    ok = whole == options.whole and again == 1 and not (unlinked or lost or doubled)
    ok = ok and not tracing.wrong
    print(
        f"trace: {'ok' if ok else 'FAILED'} whole={whole + again} spans={tracing.spans}"
        f" stages={len(STAGES)} sampled={sampled} sends={options.sends} unlinked={unlinked}"
        f" away_sends={options.away} lost={lost} duplicated={doubled}"
    )
    return ok


async def _both_ready(client: Client) -> None:
    deadline_ms = CLOCK.monotonic_ms() + LIMIT_MS
    while CLOCK.monotonic_ms() < deadline_ms:
        ready = [one for one in await replicas_of(client, APP) if one["ready"]]
        if len(ready) == PROCESSORS and any(one["role"] == "active" for one in ready):
            return
        await CLOCK.sleep_ms(POLL_MS)
    raise TimeoutError(f"not within {LIMIT_MS} ms: two ready replicas")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path(".venv/rotel"))
    parser.add_argument("--whole", type=int, default=20, help="traces that have to be whole")
    parser.add_argument("--ratio", type=float, default=0.05, help="of the sends that are traced")
    parser.add_argument("--sends", type=int, default=2_000)
    parser.add_argument("--away", type=int, default=500, help="sends without a collector")
    parser.add_argument("--rate", type=int, default=100, help="sends a second, of ten events each")
    Way.ask(parser)
    given = parser.parse_args()
    there = rotel.found(given.folder)
    if there is None:
        sys.exit("there is no Rotel: scripts/rotel fetches one")
    sys.exit(asyncio.run(main(there, given)))
