"""Apps that begin with yesterday while today goes on: three states that have to be one.

`make e2e SCENARIO=past` brings trades into an app through the receiver, until they are archived and
its log has forgotten them. Then trades come at a rate, and meanwhile `deploy --from` makes

* another app of the same text, with the archive of the first,
* an app of a changed text, likewise, which SQL judges,
* and the first app again, from its own archive, so that its state is folded anew.

Who leads is killed while it folds, and the next one goes on from the progress that was kept. What
comes behind the seam is sent to the other apps as it was to the first one. At the end the revisions
have one state, and every row was given once.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from lockstep.archive.place import Place
from lockstep.bus import LogName
from lockstep.cli.client import Client
from lockstep.cli.processes import ProcessSuite
from lockstep.clock import SystemClock
from lockstep.events import Position
from lockstep.frame import World
from tests.e2e.harness import Way, replicas_of, tried
from tests.e2e.past_traffic import Traffic, asked_until_told
from tests.e2e.past_verdict import (
    Given,
    Taken,
    count_of,
    gone_on,
    hundredth_unlike,
    of_any_log,
    past_unlike,
    taken,
    unlike,
)

CLOCK = SystemClock()
TEXT: Final = Path(__file__).with_name("past.siddhi").read_text()
ALWAYS: Final = "Always"
SAME: Final = "Same"
CHANGED: Final = "Changed"
LEAST: Final = {ALWAYS: 100.0, SAME: 100.0, CHANGED: 150.0}
POLL_MS: Final = 50
TIMEOUT_MS: Final = 1_800_000
LIVE_ON_MS: Final = 5_000
OVERRIDES: Final = {
    "LOCKSTEP_ARCHIVE__INTERVAL_MS": "500",
    "LOCKSTEP_ARCHIVE__UPKEEP_INTERVAL_MS": "5_000",
    "LOCKSTEP_PROCESSOR__SNAPSHOT_INTERVAL_MS": "5_000",
    "LOCKSTEP_PROCESSOR__PAST_REVISION_INTERVAL_MS": "500",
    "LOCKSTEP_COORDINATOR__HEARTBEAT_INTERVAL_MS": "250",
    "LOCKSTEP_COORDINATOR__HEARTBEAT_MAX_RETRY": "12",
}


@dataclass(frozen=True, slots=True)
class Folded:
    """A past that is done: what it said, and up to where of which log."""

    said: dict[str, Any]
    killed: bool

    @property
    def per_second(self) -> int:
        """Events, with all that beginning takes."""
        return int(self.said["events"] * 1_000 / max(1, self.said["took_ms"]))


@dataclass(slots=True)
class Story:
    """What happened to the apps."""

    events: int
    pasts: dict[str, Folded] = field(default_factory=dict)

    @property
    def resumed(self) -> int:
        """Pasts that another leader went on with, and did not fold anew."""
        return sum(bool(one.said["resumed_from"]) for one in self.pasts.values())

    @property
    def kills(self) -> int:
        """Leaders in the middle of a past."""
        return sum(one.killed for one in self.pasts.values())


@dataclass(frozen=True, slots=True)
class Stage:
    """The suite, and the ways to it."""

    suite: ProcessSuite
    world: World
    client: Client

    @property
    def folder(self) -> Path:
        """Of the archive."""
        return Path(self.suite.settings.archive.folder)

    async def log_of(self, app: str) -> LogName:
        """Its logs."""
        return max(await self.world.bus.logs(app))

    async def reached(self, app: str, position: Position) -> None:
        """Until who leads has settled that, and both replicas are ready."""

        async def there() -> bool:
            found = await replicas_of(self.client, app)
            settled = [one["settled"] for one in found if one["role"] == "active"]
            ready = [one for one in found if one["ready"]]
            return bool(settled) and max(settled) >= position and len(ready) == 2

        await self.until(there, f"{app} at {position}")

    async def archived(self, app: str) -> Position:
        """Until both of its logs are archived to their ends; the end of its input log."""
        name = await self.log_of(app)
        log = await self.world.bus.input_log(name, make=False)

        async def there() -> bool:
            tail = await (await self.world.bus.output_log(name)).tail()
            sinks = (await asked_until_told(lambda: self.client.status(app)))["sinks"]
            at: dict[str, int] = {one["sink"]: one["sequence"] for one in sinks}
            _, last = await log.bounds()
            all_out = at.get("archive.output", 0) >= tail.sequence
            return all_out and at.get("archive.input", 0) >= last

        await self.until(there, f"the archive of {app}")
        _, last = await log.bounds()
        return last

    async def forgotten(self, app: str) -> Position:
        """Once all is archived: the log has no more than what stands behind a revision, as it is
        when it has run for long. Where it begins then."""
        await self.archived(app)
        revision = (await self.revision(app)).revision
        log = await self.world.bus.input_log(await self.log_of(app), make=False)
        await log.trim(revision.position - 1)
        first, _ = await log.bounds()
        return first

    async def revision(self, app: str) -> Taken:
        """One that is taken now."""
        url = f"{self.client.addresses.coordinator}/v1/apps/{app}/snapshot"
        answer = await asked_until_told(lambda: self.client.request("POST", url))
        return await taken(self.world, await self.log_of(app), answer["message"])

    async def folded(self, app: str, past: dict[str, Any], *, kill: bool) -> Folded:
        """Until the app goes on with its past; who leads is killed while it folds."""
        killed, said = False, past

        async def there() -> bool:
            nonlocal killed, said
            found = await asked_until_told(lambda: self.client.past(app))
            if found.get("phase") == "folding" and found.get("kept_to") and kill and not killed:
                killed = await self._kill_leader(app)
            elif found.get("events", 0):
                said = found
            return str(found.get("phase")) in ("done", "failed")

        await self.until(there, f"the past of {app}")
        print(f"past: {app} {said}", flush=True)
        return Folded(said, killed)

    async def _kill_leader(self, app: str) -> bool:
        leads = [one for one in await replicas_of(self.client, app) if one["role"] == "active"]
        if not leads:
            return False
        victim = self.suite.processes[max(leads, key=lambda one: one["epoch"])["node"]]
        await victim.kill()
        said = await asked_until_told(lambda: self.client.past(app))
        print(f"past: killed {victim.node}, which folds {said}", flush=True)
        victim.start()
        return True

    async def until(self, reached: Any, what: str) -> None:
        """TimeoutError."""
        deadline_ms = CLOCK.monotonic_ms() + TIMEOUT_MS
        while not await reached():
            if CLOCK.monotonic_ms() > deadline_ms:
                raise TimeoutError(f"not in time: {what}")
            await CLOCK.sleep_ms(POLL_MS)


def text_of(app: str) -> str:
    """The changed one takes dear trades alone into its totals."""
    return TEXT.replace("{name}", app).replace("{least}", str(LEAST[app]))


def _count(text: str) -> int:
    """10m is ten million."""
    return int(text.replace("m", "000000").replace("k", "000"))


async def main(options: argparse.Namespace) -> int:
    """Runs it; gives the exit code."""

    async def trial(suite: ProcessSuite, world: World) -> bool:
        async with Client(suite.addresses) as client:
            stage, traffic = Stage(suite, world, client), Traffic(client, ALWAYS)
            return await _tell(stage, traffic, options)

    return await tried("past", trial, Way.of(options), overrides=OVERRIDES)


async def _tell(stage: Stage, traffic: Traffic, options: argparse.Namespace) -> bool:
    await asked_until_told(lambda: stage.client.deploy(text_of(ALWAYS)))
    await stage.reached(ALWAYS, 0)
    began_ms = CLOCK.monotonic_ms()
    await traffic.bulk(options.events)
    came_ms = CLOCK.monotonic_ms() - began_ms
    await stage.reached(ALWAYS, traffic.last)
    took_ms = CLOCK.monotonic_ms() - began_ms
    print(
        f"past: {options.events} events came in {came_ms} ms, folded live in {took_ms}", flush=True
    )
    first = await stage.forgotten(ALWAYS)
    print(f"past: log from {first} to {traffic.last}", flush=True)
    story = Story(options.events)
    async with _live(traffic, options.rate):
        followers = {
            app: await _begun(stage, traffic, story, app, kill=app == SAME and options.kill)
            for app in (SAME, CHANGED)
        }
        always = await stage.revision(ALWAYS)
        answer = await stage.client.deploy(text_of(ALWAYS), past={"from_ms": 0})
        story.pasts[ALWAYS] = await stage.folded(ALWAYS, answer["past"], kill=options.kill)
        await CLOCK.sleep_ms(LIVE_ON_MS)
    last = {ALWAYS: traffic.last}
    for app, follower in followers.items():
        last[app] = await follower
    for app, position in last.items():
        await stage.reached(app, position)
    ended = {app: await stage.revision(app) for app in (ALWAYS, SAME)}
    for app in last:
        await stage.archived(app)
    return await _judge(stage, traffic, story, always, ended)


@contextlib.asynccontextmanager
async def _live(traffic: Traffic, rate: int) -> AsyncIterator[None]:
    """Trades come within the block."""
    async with asyncio.TaskGroup() as together:
        together.create_task(traffic.run(rate))
        try:
            yield
        finally:
            traffic.enough.set()


async def _begun(
    stage: Stage, traffic: Traffic, story: Story, app: str, *, kill: bool
) -> asyncio.Task[Position]:
    """An app that begins with the past of the first; who sends it what comes behind that."""
    past = {"from_ms": 0, "app": ALWAYS}
    answer = await stage.client.deploy(text_of(app), past=past)
    follower = asyncio.create_task(traffic.followed_by(app, answer["past"]["up_to"]))
    story.pasts[app] = await stage.folded(app, answer["past"], kill=kill)
    return follower


async def _judge(
    stage: Stage, traffic: Traffic, story: Story, always: Taken, ended: dict[str, Taken]
) -> bool:
    name = await stage.log_of(ALWAYS)
    end = ended[ALWAYS]
    place = Place(str(stage.folder))
    ran_on = await asyncio.to_thread(
        gone_on, place, name, text_of(ALWAYS), always, end.revision.position
    )
    same_bytes = ran_on == bytes(end.contents.snapshot)
    same_state = of_any_log(end.contents.snapshot) == of_any_log(ended[SAME].contents.snapshot)
    print(f"past: same bytes after its own past: {same_bytes}; as the other app: {same_state}")
    lost, twice = _rows(stage.folder, story)
    came = count_of(Given(stage.folder, ALWAYS, None, ALWAYS).own.tables("input")["Trade"])
    lost += max(0, traffic.next - came)
    twice += max(0, came - traffic.next)
    equal = same_bytes and same_state
    folded = sum(one.said["events"] for one in story.pasts.values())
    rates = sorted(one.per_second for one in story.pasts.values())
    ok = equal and not (lost or twice) and folded >= 3 * story.events
    ok = ok and story.resumed >= min(1, story.kills)
    print(
        f"past: {'ok' if ok else 'FAILED'} events={story.events} folded={folded} "
        f"fold_events_per_second={rates[1]} live={traffic.live} kills={story.kills} "
        f"resumed={story.resumed} "
        f"lost={lost} duplicated={twice} states_equal={'yes' if equal else 'no'}"
    )
    return ok


def _rows(folder: Path, story: Story) -> tuple[int, int]:
    """Of all apps together: rows that are missing, and rows too many."""
    given = {
        app: Given(folder, app, None if app == ALWAYS else story.pasts[app].said["results"], ALWAYS)
        for app in story.pasts
    }
    inputs = given[ALWAYS].own.tables("input")["Trade"]
    lost = twice = 0
    for app, rows in given.items():
        missing, other = hundredth_unlike(inputs, rows.all["Hundredth"], LEAST[app])
        print(f"past: {app} Hundredth by SQL: {missing} missing, {other} too many")
        lost, twice = lost + missing, twice + other
    for stream in given[ALWAYS].names:
        ran, begun = given[ALWAYS].all[stream], given[SAME].all[stream]
        missing, other = unlike(ran, begun)
        print(f"past: {stream} {count_of(ran)} rows; {SAME} lacks {missing}, has {other} more")
        lost, twice = lost + missing, twice + other
    again = Given(folder, ALWAYS, story.pasts[ALWAYS].said["results"], ALWAYS)
    up_to = story.pasts[ALWAYS].said["position"]
    for stream, files in again.past.items():
        other = past_unlike(files, given[ALWAYS].all[stream], up_to)
        print(f"past: {stream} of its own past: {other} rows are not what was published")
        twice += other
    return lost, twice


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=_count, default=300_000, help="archived, as 300k or 10m")
    parser.add_argument("--rate", type=int, default=5_000, help="events per second, live")
    parser.add_argument("--no-kill", dest="kill", action="store_false", help="kill nobody")
    Way.ask(parser)
    sys.exit(asyncio.run(main(parser.parse_args())))
