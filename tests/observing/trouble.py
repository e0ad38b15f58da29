"""What befalls the observed suite, so that series which are seldom there are there."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import web

from lockstep.cli.client import Client
from lockstep.cli.processes import ProcessSuite
from lockstep.clock import SystemClock
from lockstep.events import LockstepError
from tests.e2e.harness import replicas_of

CLOCK = SystemClock()
APP = "Observed"
POLL_MS = 100
STEP_LIMIT_MS = 180_000
CROWD = 64
"""Requests at once; SETTINGS let fewer through."""
NOTES = """
@app:name('Notes') @app:archive
define stream Note (text string);
from Note select str:concat(text, text) as twice insert into Twice;
"""
SCRIPT = """-- name: notes_of_a_day
select count(*) as notes from Note
"""
LARGEST_VALUE = 65_536
SETTINGS = {
    "LOCKSTEP_RECEIVER__MAX_INFLIGHT_REQUESTS": "8",
    "LOCKSTEP_LIMITS__VALUE_SIZE": str(LARGEST_VALUE),
    "LOCKSTEP_PRESENTER__SSE_QUEUE_EVENTS": "2",
}


@dataclass(slots=True)
class Hook:
    """What the HTTP sink's destination answers."""

    status: HTTPStatus = HTTPStatus.OK
    asked: int = 0

    async def answer(self, _: web.Request) -> web.Response:
        """Whatever is posted."""
        self.asked += 1
        return web.Response(status=self.status)

    async def answering(self, status: HTTPStatus, times: int) -> None:
        """That answer, so many times; then well again."""
        enough = self.asked + times
        self.status = status
        try:
            await until(lambda: is_so(self.asked >= enough))
        finally:
            self.status = HTTPStatus.OK


@dataclass(slots=True)
class Trouble:
    """Makes it, one thing after the other. `failed`: what did not come about."""

    suite: ProcessSuite
    client: Client
    hook: Hook
    failed: list[str] = field(default_factory=list)

    async def run(self) -> None:
        """All of it. A step that does not come about is told, and those behind it are made."""
        steps = (
            self.refusals, self.repeated, self.crowd, self.slow_listener, self.sick_sink,
            self.poison, self.dead_leader, self.silent_leader, self.handed_over,
            self.dead_worker, self.script,
        )  # fmt: skip
        for step in steps:
            try:
                async with asyncio.timeout(STEP_LIMIT_MS / 1000):
                    await step()
            except (LockstepError, TimeoutError) as error:
                self.failed.append(step.__name__)
                print(f"observe: {step.__name__} did not come about: {error!r}", flush=True)
            else:
                print(f"observe: made {step.__name__}", flush=True)

    async def refusals(self) -> None:
        """A line that is no event beside one that is. (A JSON array is refused as one.)"""
        lines = b'{"room": "r1", "celsius": "warm"}\n{"room": "r1", "celsius": 20.0}\n'
        kind = "application/x-ndjson"
        await _whatever(self.client.send(APP, "Reading", lines, content_type=kind))

    async def repeated(self) -> None:
        """A request that comes twice."""
        body = msgspec.json.encode([{"room": "r1", "celsius": 20.0}])
        for _ in range(2):
            await self.client.send(APP, "Reading", body, idempotency_key="twice")

    async def crowd(self) -> None:
        """More requests at once than the door lets through."""
        body = msgspec.json.encode([{"room": "r1", "celsius": 20.0}])
        requests = (_whatever(self.client.send(APP, "Reading", body)) for _ in range(CROWD))
        await asyncio.gather(*requests)

    async def slow_listener(self) -> None:
        """Somebody listens for more rows than wait for him."""
        url = f"{self.suite.addresses.presenter}/v1/apps/{APP}/streams/Most/sse"
        await _whatever(self.client.request("GET", url))

    async def sick_sink(self) -> None:
        """A destination that fails for a while, and then refuses a row."""
        await self.hook.answering(HTTPStatus.SERVICE_UNAVAILABLE, 5)
        await self.hook.answering(HTTPStatus.BAD_REQUEST, 1)

    async def poison(self) -> None:
        """An event that would make a longer text than may be."""
        text = "x" * (LARGEST_VALUE * 2 // 3)
        await self.client.send("Notes", "Note", msgspec.json.encode([{"text": text}]))
        await self.client.send("Notes", "Note", msgspec.json.encode([{"text": "short"}]))

    async def dead_worker(self) -> None:
        """The Spark workers of whoever leads."""
        leader = await self._leader()
        workers = list(workers_of(self.suite.processes[leader].pid or 0))
        if not workers:
            raise LockstepError(f"{leader} has no Spark worker")
        for pid in workers:
            os.kill(pid, signal.SIGKILL)

    async def dead_leader(self) -> None:
        """Killed, and started again when another one leads."""
        gone = await self._leader()
        await self.suite.processes[gone].kill()
        try:
            await self._another_leads(gone)
        finally:
            self.suite.processes[gone].start()

    async def silent_leader(self) -> None:
        """Stopped until another one leads: it comes back with a lead that it has lost."""
        gone = await self._leader()
        process = self.suite.processes[gone]
        process.send(signal.SIGSTOP)
        try:
            await self._another_leads(gone)
        finally:
            process.send(signal.SIGCONT)

    async def handed_over(self) -> None:
        """By the operator's command."""
        await self._leader()
        url = f"{self.suite.addresses.coordinator}/v1/apps/{APP}/handover"
        await self.client.request("POST", url, json_body={})

    async def script(self) -> None:
        """A script over what was archived."""
        url = f"{self.suite.addresses.coordinator}/v1/batch"
        one = {"file": "notes.sql", "text": SCRIPT}
        await self.client.request("POST", url, json_body={"scripts": [one], "dry_run": False})
        await self.client.request("POST", f"{url}/notes_of_a_day/run")

        async def ended() -> bool:
            runs = (await self.client.request("GET", f"{url}/notes_of_a_day/runs"))["runs"]
            return bool(runs) and runs[0]["ended_ms"] is not None

        await until(ended)

    async def _leader(self) -> str:
        """Once another one could take over."""
        lead = ""

        async def one_leads() -> bool:
            nonlocal lead
            replicas = [r for r in await replicas_of(self.client, APP) if r["ready"]]
            active = [str(r["node"]) for r in replicas if r["role"] == "active"]
            if len(replicas) < 2 or len(active) != 1:
                return False
            [lead] = active
            return True

        await until(one_leads)
        return lead

    async def _another_leads(self, gone: str) -> None:
        async def another() -> bool:
            replicas = await replicas_of(self.client, APP)
            return any(r["role"] == "active" and r["node"] != gone for r in replicas)

        await until(another)


def workers_of(processor: int) -> Iterator[int]:
    """The Python workers of its Spark: all but the daemon, which is their parent."""
    daemons: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            is_one = b"pyspark.daemon" in (folder / "cmdline").read_bytes()
        except OSError:
            continue
        parent, session = int(fields[1]), int(fields[3])
        if is_one and session == processor:
            daemons[int(folder.name)] = parent
    return (pid for pid, parent in daemons.items() if parent in daemons)


async def until(reached: Callable[[], Awaitable[bool]]) -> None:
    """The step's own limit ends it."""
    while not await reached():
        await CLOCK.sleep_ms(POLL_MS)


async def is_so(answer: bool) -> bool:
    """For `until`, where nothing has to be asked."""
    return answer


async def _whatever(asked: Awaitable[Any]) -> None:
    """It may be refused: that is what it is for."""
    try:
        await asked
    except LockstepError:
        return
