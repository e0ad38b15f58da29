"""Malformed, oversized, forged and replayed requests at every door of a running suite.

`make e2e SCENARIO=fuzz` starts a suite in processes, deploys an app, and waits until it is led.
Then each door gets 1,000 requests (ARGS="--requests N") that are drawn with a seed from its OpenAPI
document, and the bus as many messages. No answer may be a 5xx, tell a secret, or let in what has to
stay out; no log may hold an error or a secret; every bad message becomes a dead letter. In the end
good events go through, in order, and the app has as many rows as events were accepted. Last line:
`fuzz: ok requests=<n> doors=<n> server_errors=0 leaks=0 wrongly_accepted=0`.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp

from lockstep.bus import RecordTooLargeError
from lockstep.cli.processes import ProcessSuite, has_console
from lockstep.clock import SystemClock
from lockstep.frame import World
from lockstep.rights import ROUTES, Scope
from tests.e2e.fuzz_people import CLUSTER, PLANTED, ROOT, admitted
from tests.e2e.fuzz_sending import fire
from tests.e2e.harness import Way, tried
from tests.fuzz.console import DOCUMENT as CONSOLE
from tests.fuzz.console import OPENS as CONSOLE_OPENS
from tests.fuzz.drawing import Shot, drawn
from tests.fuzz.judging import Answer, Finding, Secrets, Wrong, judged, judged_log, taken
from tests.fuzz.messages import messages
from tests.fuzz.operations import Known, operations_of

APP: Final = "Fuzz"
TEXT: Final = f"""@app:name('{APP}')
define stream In (n long);
@store(type='rdbms') @PrimaryKey('n') define table Kept (n long);
@sink(type='log') define stream Out (n long);
from In select n insert into Out;
"""
VICTIM: Final = "@app:name('Victim') define stream In (n long); from In select n insert into Out;"
NAMES: Final = {
    "app": APP, "stream": "In", "table": "Kept", "node": "nobody", "name": "nothing",
    "revision": "nothing", "path": "nothing-here", "user": "nobody", "group": "nobody",
    "token": "nobody", "script": "nobody", "number": "1", "datasource": "nothing",
    "template": "nothing", "kind": "User", "schema": "nothing", "element": "sink:nothing",
}  # fmt: skip
VALUES: Final = {
    "text": VICTIM, "query": "from Kept select n", "appName": APP, "user": "nobody",
    "password": PLANTED, "old": PLANTED, "new": PLANTED, "role": "view", "app": APP,
    "sql": "select 1", "stream": "In", "where": "n = 1",
}  # fmt: skip
OPENS: Final = frozenset(
    f"{method} {path}" for (method, path), need in ROUTES.items() if need.scope is Scope.OPEN
)
SETTINGS: Final = {"LOCKSTEP_SERVER__TOKEN": CLUSTER}
PLAN: Final = tuple(
    (service, service)
    for service in ("coordinator", "processor", "publisher", "presenter", "receiver")
) + ((("console", "console"),) if has_console() else ())
MADE_OF: Final = ("aiohttp", "nicegui", "uvicorn", "starlette", "msgspec", "asyncpg", "pyarrow")
AT_ONCE: Final = 8
TRIES: Final = 5
AGAIN_MS: Final = 1_000
READY_MS: Final = 120_000
POLL_MS: Final = 100
LAST: Final = range(1_000_000, 1_000_020)
CLOCK: Final = SystemClock()


@dataclass(slots=True)
class Tally:
    """What was sent, and what is wrong."""

    requests: int = 0
    again: int = 0
    doors: int = 0
    events: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    wrong: list[Finding] = field(default_factory=list)

    def count(self, wrong: Wrong) -> int:
        """Of a kind."""
        return sum(one.wrong is wrong for one in self.wrong)


@dataclass(frozen=True, slots=True)
class Scene:
    """The suite under trial, and what is known of it."""

    suite: ProcessSuite
    world: World
    session: aiohttp.ClientSession
    tally: Tally
    seed: int
    requests: int

    def url(self, service: str) -> str:
        """Where its door is."""
        return self.suite.of(service)[0].url

    async def asked(self, method: str, service: str, path: str, body: Any = None) -> Any:
        """The decoded answer, None for an error: with the cluster's token."""
        headers = {"Authorization": f"Bearer {CLUSTER}"}
        url = self.url(service) + path
        async with self.session.request(method, url, json=body, headers=headers) as response:
            return await response.json() if response.status < 400 else None


async def main(way: Way, *, seed: int, requests: int) -> int:
    """Runs it; gives the exit code."""

    async def trial(suite: ProcessSuite, world: World) -> bool:
        jar = aiohttp.DummyCookieJar()
        async with aiohttp.ClientSession(cookie_jar=jar) as session:
            scene = Scene(suite, world, session, Tally(), seed, requests)
            await _tried(scene)
            return told(scene.tally)

    return await tried("fuzz", trial, way, plan=PLAN, overrides=SETTINGS)


async def _tried(scene: Scene) -> None:
    people = await admitted(scene.session, scene.url("coordinator"), APP)
    assert await scene.asked("POST", "coordinator", "/v1/apps", {"text": TEXT}) is not None
    await _until_led(scene)
    secrets = _secrets(scene.suite, people.texts)
    written = {one.node: one.log.stat().st_size for one in scene.suite.processes.values()}
    for process in scene.suite.processes.values():
        host = urlsplit(process.url).netloc
        known = Known(
            host, people.good, people.weak, people.bad, NAMES, VALUES,
            changes=process.service == "coordinator",
        )  # fmt: skip
        await _at(scene, process.service, host, known, secrets)
    await _over_the_bus(scene)
    await _goes_on(scene)
    for process in scene.suite.processes.values():
        with process.log.open("rb") as log:
            log.seek(written[process.node])
            lines = log.read().decode(errors="replace").splitlines()
        scene.tally.wrong += judged_log(process.node, lines, secrets)


async def _until_led(scene: Scene) -> None:
    """Until the app takes events, answers questions and shows its rows: then nothing is away."""
    give_up_ms = CLOCK.monotonic_ms() + READY_MS
    asks = (
        ("POST", "receiver", f"/v1/apps/{APP}/streams/In/events", {"n": 0}),
        ("POST", "presenter", f"/v1/apps/{APP}/query", {"query": "from Kept select n"}),
        ("GET", "presenter", f"/v1/apps/{APP}/streams/Out/latest", None),
    )
    for method, service, path, body in asks:
        while (await scene.asked(method, service, path, body)) is None:
            if CLOCK.monotonic_ms() > give_up_ms:
                raise TimeoutError(f"{service} {path} is not answered")
            await CLOCK.sleep_ms(POLL_MS)
    scene.tally.events = 1


async def _at(scene: Scene, door: str, host: str, known: Known, secrets: Secrets) -> None:
    """All that is drawn for a door."""
    document, opens = CONSOLE, CONSOLE_OPENS
    if door != "console":
        document, opens = await scene.asked("GET", door, "/openapi.json"), OPENS
    operations = operations_of(document, opens)
    turns = asyncio.Semaphore(AT_ONCE)
    began_ms = CLOCK.monotonic_ms()

    async def one(shot: Shot) -> tuple[Shot, Answer]:
        async with turns:
            answer = await fire(host, shot)
            # A lease may be lost on a busy machine; what is away for good stays a server error.
            for _ in range(TRIES):
                if not answer.asks_again:
                    break
                scene.tally.again += 1
                await CLOCK.sleep_ms(AGAIN_MS)
                answer = await fire(host, shot)
            return shot, answer

    shots = drawn(door, operations, known, seed=scene.seed, count=scene.requests)
    answered = await asyncio.gather(*map(one, shots))
    tally = scene.tally
    tally.doors += 1
    tally.requests += len(answered)
    tally.statuses.update(answer.status for _, answer in answered)
    for shot, answer in answered:
        tally.wrong += judged(shot, answer, secrets)
    events, twice = taken(answered)
    tally.events += events
    tally.wrong += twice
    took_ms = CLOCK.monotonic_ms() - began_ms
    print(f"fuzz: {door}: {len(answered)} requests at {len(operations)} operations, {took_ms} ms",
          flush=True)  # fmt: skip


async def _over_the_bus(scene: Scene) -> None:
    """Every bad message becomes a dead letter, every good one an event."""
    before = await _count_letters(scene)
    bad = 0
    for message in messages("In", seed=scene.seed, count=scene.requests):
        try:
            await scene.world.bus.ingress.publish(
                APP, message.stream, message.payload, headers=message.headers
            )
        except RecordTooLargeError:  # told to the sender, before anything is sent
            continue
        scene.tally.requests += 1
        scene.tally.events += message.is_good
        bad += not message.is_good
    scene.tally.doors += 1
    give_up_ms = CLOCK.monotonic_ms() + READY_MS
    while (found := await _count_letters(scene) - before) < bad:
        if CLOCK.monotonic_ms() > give_up_ms:
            break
        await CLOCK.sleep_ms(POLL_MS)
    if found != bad:
        wrong = Wrong.ACCEPTED if found < bad else Wrong.ERROR
        scene.tally.wrong.append(Finding(wrong, "bus", f"{found} dead letters of {bad}"))
    print(f"fuzz: bus: {bad} bad messages, {found} dead letters", flush=True)


async def _count_letters(scene: Scene) -> int:
    after = count = 0
    while True:
        found = await scene.world.bus.dead_letters.read(APP, after=after, max_records=1_000)
        if not found:
            return count
        count, after = count + len(found), found[-1].sequence


async def _goes_on(scene: Scene) -> None:
    """Good events come out in order, and no more than were accepted."""
    path = f"/v1/apps/{APP}/streams"
    for number in LAST:
        body = {"n": number}
        if (await scene.asked("POST", "receiver", f"{path}/In/events", body)) is None:
            scene.tally.wrong.append(Finding(Wrong.ERROR, "after it all", f"{number} is refused"))
    wanted = scene.tally.events + len(LAST)
    give_up_ms = CLOCK.monotonic_ms() + READY_MS
    while True:
        shown = await scene.asked("GET", "presenter", f"{path}/Out/latest?limit={len(LAST)}")
        if shown["total"] >= wanted or CLOCK.monotonic_ms() > give_up_ms:
            break
        await CLOCK.sleep_ms(POLL_MS)
    last = [row["event"]["n"] for row in reversed(shown["events"])]
    if last != list(LAST):
        scene.tally.wrong.append(Finding(Wrong.ERROR, "after it all", f"the last rows are {last}"))
    if shown["total"] != wanted:
        wrong = Wrong.ACCEPTED if shown["total"] > wanted else Wrong.ERROR
        said = f"{shown['total']} rows of {wanted} events"
        scene.tally.wrong.append(Finding(wrong, "after it all", said))
    print(f"fuzz: {shown['total']} rows of {wanted} accepted events", flush=True)


def _secrets(suite: ProcessSuite, texts: Sequence[str]) -> Secrets:
    settings = suite.settings
    urls = [
        settings.store.postgres_dsn.get_secret_value(), settings.bus.url.get_secret_value(),
        settings.leader.url.get_secret_value(),
    ]  # fmt: skip
    passwords = [word for url in urls if (word := urlsplit(url).password)]
    folder = next(iter(suite.processes.values())).log.parent.parent
    places = (str(folder), sys.prefix, str(Path(__file__).parents[2]))
    versions = [version(one) for one in MADE_OF if find_spec(one) is not None]
    names = ("Python/", "aiohttp/", "uvicorn/")
    return Secrets((CLUSTER, ROOT, PLANTED, *texts, *passwords), places, (*names, *versions))


def told(tally: Tally) -> bool:
    """The last lines."""
    for one in tally.wrong[:60]:
        print(f"fuzz: {one}")
    print("fuzz: statuses " + " ".join(f"{k}={v}" for k, v in sorted(tally.statuses.items())))
    print(f"fuzz: sent again after 503 with Retry-After: {tally.again}")
    print(
        f"fuzz: {'FAILED' if tally.wrong else 'ok'} requests={tally.requests} doors={tally.doors}"
        f" server_errors={tally.count(Wrong.ERROR)} leaks={tally.count(Wrong.LEAK)}"
        f" wrongly_accepted={tally.count(Wrong.ACCEPTED)}"
    )
    return not tally.wrong


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    Way.ask(parser)
    parser.set_defaults(executor="reference")
    parser.add_argument("--requests", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    sys.exit(asyncio.run(main(Way.of(options), seed=options.seed, requests=options.requests)))
