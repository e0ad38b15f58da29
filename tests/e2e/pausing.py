"""Sources and sinks that are paused, in processes of their own: nothing moves, whoever is killed;
then everything arrives once.

`make e2e SCENARIO=pausing` pauses one of two sinks and a source of an app, kills the publishers and
then all processes while they are paused, and resumes both. One sink is never paused, so it shows
that the app goes on.
Last line: `pausing: ok rows=<n> kills=<n> moved_while_paused=0 lost=0 duplicated=0 reordered=0`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

import aiohttp

from lockstep.cli.client import Client
from lockstep.cli.processes import ProcessSuite, ServiceProcess, asking_session
from lockstep.cli.replay import send_retrying
from lockstep.clock import SystemClock
from lockstep.frame import World
from tests.e2e.handover import until
from tests.e2e.harness import Way, tried

CLOCK = SystemClock()
APP = "Resting"
PLAN = (
    ("coordinator", "coordinator"),
    ("processor", "processor"),
    ("publisher-1", "publisher"),
    ("publisher-2", "publisher"),
    ("receiver", "receiver"),
    ("presenter", "presenter"),
)
TEXT = """@app:name('Resting')
@source(type='http', receiver.url='http://h/resting', @map(type='json'))
define stream In (n long);
@sink(type='file', file.uri='{folder}/pausing', @map(type='json'))
@sink(type='file', file.uri='{folder}/going', @map(type='json'))
define stream Out (n long);
from In select n insert into Out;
"""
SOURCE, SINK = "source:In.0.http", "sink:Out.0.file"
QUIET_MS = 2_000
"""Whatever comes twice, or should not come, comes within that."""


@dataclass(slots=True)
class Story:
    """What was sent, and what moved that should not have."""

    folder: Path
    client: Client
    session: aiohttp.ClientSession
    sent: int = 0
    kills: int = 0
    moved: int = 0

    def got(self, name: str) -> list[int]:
        """What stands in a sink's file."""
        path = self.folder / name
        lines = path.read_text().splitlines() if path.exists() else []
        return [json.loads(line)["event"]["n"] for line in lines]

    async def send(self, count: int) -> None:
        """By the suite's own address, which is no source; until the sink that goes on has them."""
        rows = [[number] for number in range(self.sent, self.sent + count)]
        body, key = json.dumps(rows).encode(), f"from-{self.sent}"
        await send_retrying(lambda: self.client.send(APP, "In", body, idempotency_key=key))
        self.sent += count
        await until(self._all_going, "all rows at the sink that goes on")

    async def _all_going(self) -> bool:
        return set(self.got("going")) >= set(range(self.sent))

    async def door(self) -> int:
        """What the source answers to one event."""
        url = f"{self.client.addresses.receiver}/resting"
        async with self.session.post(url, json={"event": {"n": self.sent}}) as response:
            return response.status

    async def tell(self, verb: str) -> None:
        """Of both."""
        for element in (SOURCE, SINK):
            base = f"{self.client.addresses.coordinator}/v1/apps/{APP}/connectors"
            url = f"{base}/{element}/{verb}"
            await send_retrying(partial(self.client.request, "POST", url, json_body={}))
        await self.become("paused" if verb == "pause" else "running")

    async def become(self, wanted: str) -> None:
        """Until living processes say so of both."""

        async def there() -> bool:
            url = f"{self.client.addresses.coordinator}/v1/apps/{APP}/connectors"
            found = await send_retrying(lambda: self.client.request("GET", url))
            states = {one["element"]: one["state"] for one in found["connectors"] if one["nodes"]}
            return states.get(SOURCE) == wanted == states.get(SINK)

        await until(there, f"both are {wanted}")

    async def stands(self, before: int) -> None:
        """Nothing has moved, and nothing moves."""
        await CLOCK.sleep_ms(QUIET_MS)
        self.moved += len(self.got("pausing")) - before
        self.moved += await self.door() != 503


@contextlib.asynccontextmanager
async def arrivals() -> AsyncIterator[Path]:
    """A folder for what sinks write."""
    with tempfile.TemporaryDirectory(prefix="lockstep-pausing-") as name:
        yield Path(name)


async def main(rows: int, way: Way) -> int:
    """Runs it; gives the exit code."""

    async def trial(suite: ProcessSuite, _: World) -> bool:
        async with (
            arrivals() as folder,
            Client(suite.addresses) as client,
            asking_session(suite.settings.client.tls) as session,
        ):
            await send_retrying(lambda: client.deploy(TEXT.format(folder=folder)))
            story = Story(folder, client, session)
            await _play(suite, story, rows)
            return _judge(story)

    return await tried("pausing", trial, way, plan=PLAN)


async def _play(suite: ProcessSuite, story: Story, rows: int) -> None:
    await story.become("running")
    await story.send(rows)
    await until(lambda: _has(story, rows), "all rows at the sink that will be paused")
    await story.tell("pause")
    await story.send(rows)
    await story.stands(rows)
    for doomed in (suite.of("publisher"), list(suite.processes.values())):
        await _killed(doomed, story)
        await story.become("paused")
        await story.send(rows)
        await story.stands(rows)
        print(f"pausing: {len(doomed)} processes killed, still paused", flush=True)
    await story.tell("resume")
    await until(lambda: _has(story, story.sent), "all rows at the sink that was paused")
    assert await story.door() == 200
    story.sent += 1
    await until(lambda: _has(story, story.sent), "the source's event")
    await CLOCK.sleep_ms(QUIET_MS)


async def _killed(doomed: Sequence[ServiceProcess], story: Story) -> None:
    """All at once, and started again."""
    await asyncio.gather(*(process.kill() for process in doomed))
    story.kills += len(doomed)
    for process in doomed:
        process.start()
    await asyncio.gather(*(process.ready(story.session) for process in doomed))


async def _has(story: Story, count: int) -> bool:
    return len(set(story.got("pausing"))) >= count


def _judge(story: Story) -> bool:
    wanted, lost, doubled, reordered = set(range(story.sent)), 0, 0, 0
    for name in ("pausing", "going"):
        got = story.got(name)
        lost += len(wanted - set(got))
        doubled += sum(count - 1 for count in Counter(got).values())
        reordered += sum(later < earlier for earlier, later in pairwise(got))
    ok = not (story.moved or lost or doubled or reordered)
    print(
        f"pausing: {'ok' if ok else 'FAILED'} rows={story.sent} kills={story.kills}"
        f" moved_while_paused={story.moved} lost={lost} duplicated={doubled}"
        f" reordered={reordered}"
    )
    return ok


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=500, help="sent at a time")
    Way.ask(parser)
    options = parser.parse_args()
    sys.exit(asyncio.run(main(options.rows, Way.of(options))))
