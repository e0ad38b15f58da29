"""Many small apps on one processor. Run by `python -m tests.bench.run --part many`.

Separate processes over real servers. What idle apps cost is the difference to a suite without any;
messages are what a listener on every subject of NATS hears. With `--rate`, each app gets one event
a second and latency runs from the sending to the row in the output log. At last the processor that
carries the apps is killed, and each app has to publish again on the other one.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import numpy as np

from lockstep.bus import Subscription
from lockstep.bus.subjects import log_name
from lockstep.cli.client import Client
from lockstep.cli.processes import ProcessSuite
from lockstep.control import Heartbeat
from lockstep.control.messages import HEARTBEATS
from lockstep.events import OutputId, OutputRecord
from lockstep.events.codec import decode_output
from lockstep.frame import World
from tests.bench import memory
from tests.bench.suite import ONE, fresh_suite

IDLE_S: Final = 20.0
SETTLE_S: Final = 10.0
LISTEN_S: Final = 10.0
DEPLOY_ABREAST: Final = 8
READY_LIMIT_S: Final = 900.0
POLL_S: Final = 0.05
IDLE_CORE_MAX: Final = 0.10
IDLE_MIB_MAX: Final = 3_072
LOADED_P99_MS_MAX: Final = 1_000
KILLED_S_MAX: Final = 10
SPARE: Final = ("processor-2", "processor")
TEXT: Final = (
    "@app:name('{app}') define stream S (room string, celsius double, sent_ms long); "
    "from S[celsius > {limit}.0] select room, celsius, sent_ms insert into T;"
)

Row = dict[str, Any]


def name_of(number: int) -> str:
    """An app's name."""
    return f"Many{number:04d}"


@dataclass
class Leaders:
    """Which node leads which app, from heartbeats. `run` in one task."""

    heartbeats: Subscription
    by_app: dict[str, str] = field(default_factory=dict)

    async def run(self) -> None:
        """Until cancelled."""
        async for _, payload in self.heartbeats:
            beat = msgspec.json.decode(payload, type=Heartbeat)
            for group in beat.groups:
                if group.role == "active":
                    self.by_app[group.app] = beat.node

    async def all_of(self, apps: int) -> None:
        """Until so many have a leader."""
        async with asyncio.timeout(READY_LIMIT_S):
            while len(self.by_app) < apps:
                await asyncio.sleep(POLL_S)


@dataclass
class Rows:
    """What comes out of all apps: when each row was sent and when it stood in the output log."""

    outputs: Subscription
    took_ms: list[float] = field(default_factory=list)
    first_s: dict[str, float] = field(default_factory=dict)
    seen: set[tuple[str, OutputId]] = field(default_factory=set)

    async def run(self) -> None:
        """Until cancelled."""
        async for subject, payload in self.outputs:
            record = decode_output(payload)
            if isinstance(record, OutputRecord):
                now_s = time.time()
                app = log_name(subject).app
                self.first_s.setdefault(app, now_s)
                # An append that is tried again is heard twice, and stored once.
                new = [row for row in record.rows if (app, row.id) not in self.seen]
                self.took_ms += [1000 * now_s - row.data[2] for row in new]
                self.seen.update((app, row.id) for row in new)


class Used:
    """Processor time of each process of a suite, from now on."""

    def __init__(self, suite: ProcessSuite) -> None:
        ours = {p.node: p.pid for p in suite.processes.values() if p.pid is not None}
        self.pids = {**ours, **memory.servers_of(suite.servers)}
        self._before = self._now()
        self._began_s = time.monotonic()

    @property
    def seconds(self) -> dict[str, float]:
        """Of each process."""
        now = self._now()
        return {name: now[name] - self._before[name] for name in now}

    def core_share(self) -> dict[str, float]:
        """Of one core."""
        passed = time.monotonic() - self._began_s
        return {name: round(used / passed, 3) for name, used in self.seconds.items()}

    def _now(self) -> dict[str, float]:
        return {name: memory.cpu_seconds(pid) for name, pid in self.pids.items()}


async def deployed(
    suite: ProcessSuite, client: Client, leaders: Leaders, before: int, apps: int
) -> Row:
    """Seconds until the apps from `before` on are deployed and lead, and milliseconds of each
    process for each of them."""
    began_s, used = time.monotonic(), Used(suite)
    abreast = asyncio.Semaphore(DEPLOY_ABREAST)

    async def one(number: int) -> None:
        async with abreast:
            await client.deploy(TEXT.format(app=name_of(number), limit=number))

    await asyncio.gather(*(one(number) for number in range(before, apps)))
    await leaders.all_of(apps)
    took_s, new = time.monotonic() - began_s, max(1, apps - before)
    cpu_ms = {name: round(1000 * each / new, 1) for name, each in used.seconds.items()}
    return {
        "deploy_s": round(took_s, 1),
        "deploy_cpu_ms": round(sum(cpu_ms.values()), 1),
        "of_which": cpu_ms,
    }


async def idle_cost(suite: ProcessSuite, world: World, apps: int, deploying: Row) -> Row:
    """What the suite takes while nothing comes."""
    await asyncio.sleep(SETTLE_S)
    used = Used(suite)
    await asyncio.sleep(IDLE_S)
    share, pids = used.core_share(), used.pids
    carriers = [name for name in pids if name.startswith("processor")]
    mib = {name: memory.proportional_mib(pid) for name, pid in pids.items()}
    return {
        "name": f"{apps} idle apps",
        **deploying,
        "core_share": share,
        "mib": mib,
        "threads": {name: memory.threads(pid) for name, pid in pids.items()},
        "processes": len(memory.family(pids["processor-1"])),
        "messages_per_s": await messages(world),
        "processor_core": max(share[name] for name in carriers),
        "processor_mib": max(mib[name] for name in carriers),
        "below": max(share[name] for name in carriers) > IDLE_CORE_MAX
        or max(mib[name] for name in carriers) > IDLE_MIB_MAX,
    }


async def messages(world: World) -> dict[str, float]:
    """Messages a second at NATS, by the first two words of their subject."""
    heard: Counter[str] = Counter()
    subscription = await world.bus.topics.subscribe(">")

    async def listen() -> None:
        async for subject, _ in subscription:
            heard[_kind(subject)] += 1

    listening = asyncio.create_task(listen())
    await asyncio.sleep(LISTEN_S)
    await subscription.close()
    await listening
    found = {kind: round(count / LISTEN_S, 1) for kind, count in heard.most_common()}
    return {"all": round(sum(heard.values()) / LISTEN_S, 1), **found}


def _kind(subject: str) -> str:
    words = subject.split(".")
    return ".".join(words[2:4] if words[:2] == ["$JS", "API"] else words[:1])


async def loaded(suite: ProcessSuite, world: World, apps: int, rows: Rows, seconds: float) -> Row:
    """One event a second to each app, evenly spread."""
    rows.took_ms.clear()
    used = Used(suite)
    began_s = time.monotonic()
    turns = round(apps * seconds)
    for turn in range(turns):
        await asyncio.sleep(max(0.0, began_s + turn / apps - time.monotonic()))
        await send(world, turn % apps)
    late_s = time.monotonic() - began_s - seconds
    share = used.core_share()
    deadline_s = time.monotonic() + 60
    while len(rows.took_ms) < turns and time.monotonic() < deadline_s:
        await asyncio.sleep(POLL_S)
    p50, p99 = np.quantile(rows.took_ms or [float("nan")], [0.5, 0.99])
    return {
        "name": f"{apps} apps, one event a second each",
        "p50_ms": round(float(p50), 1),
        "p99_ms": round(float(p99), 1),
        "below": not p99 <= LOADED_P99_MS_MAX or len(rows.took_ms) < turns,
        "core_share": share,
        "missing": turns - len(rows.took_ms),
        "sender_late_s": round(late_s, 2),
    }


async def send(world: World, number: int) -> None:
    """One event that comes out."""
    body = {"room": "attic", "celsius": 1.0 + number, "sent_ms": round(1000 * time.time())}
    await world.bus.ingress.publish(name_of(number), "S", msgspec.json.encode(body))


async def killed(suite: ProcessSuite, world: World, apps: int, rows: Rows) -> Row:
    """Seconds from the kill of a processor until every app has published again."""
    rows.first_s.clear()
    began_s = time.time()
    await suite.processes["processor-1"].kill()
    for number in range(apps):
        await send(world, number)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(120):
            while len(rows.first_s) < apps:
                await asyncio.sleep(POLL_S)
    took_s = sorted(at_s - began_s for at_s in rows.first_s.values())
    return {
        "name": f"{apps} apps, their processor killed",
        "published_again": len(took_s),
        "half_s": round(took_s[len(took_s) // 2], 2) if took_s else None,
        "all_s": round(took_s[-1], 2) if took_s else None,
        "below": len(took_s) < apps or took_s[-1] > KILLED_S_MAX,
    }


async def measured(
    counts: tuple[int, ...], seconds: float, *, keep: bool, spare: bool
) -> list[Row]:
    """One suite that gets more and more apps; then load, and with a spare processor the kill."""
    overrides = {"LOCKSTEP_COORDINATOR__REPLICAS": "2" if spare else "1"}
    found: list[Row] = []
    plan = (*ONE, SPARE) if spare else ONE
    async with fresh_suite(keep, plan, overrides) as (suite, world, client):
        leaders = Leaders(await world.bus.topics.subscribe(HEARTBEATS))
        rows = Rows(await world.bus.topics.subscribe("out.>"))
        beside = [asyncio.create_task(leaders.run()), asyncio.create_task(rows.run())]
        try:
            before = 0
            for apps in counts:
                deploying = await deployed(suite, client, leaders, before, apps)
                found.append(await idle_cost(suite, world, apps, deploying))
                show(found[-1])
                before = apps
            if seconds:
                found.append(await loaded(suite, world, before, rows, seconds))
                show(found[-1])
            if spare:
                found.append(await killed(suite, world, before, rows))
                show(found[-1])
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
    return found


def show(row: Row) -> None:
    """One figure after the other."""
    print(f"\n{row['name']}", flush=True)
    for key, value in row.items():
        if key != "name":
            print(f"  {key:16} {value}", flush=True)


def many_figures(apps: int, seconds: float, *, keep: bool, spare: bool) -> list[Row]:
    """None and so many idle apps, then the load, then the kill; the last line has it all."""
    found = asyncio.run(measured((0, apps), seconds, keep=keep, spare=spare))
    print(f"\n{last_line(apps, found[1:])}", flush=True)
    return found


def last_line(apps: int, found: Sequence[Row]) -> str:
    """Each figure that has a bar."""
    shown = {
        "deploy_s": "deploy_s",
        "deploy_cpu_ms": "deploy_cpu_ms",
        "processor_core": "idle_core",
        "processor_mib": "idle_mib",
        "p50_ms": "p50_ms",
        "p99_ms": "p99_ms",
        "all_s": "killed_all_s",
    }
    figures = [f"{shown[key]}={row[key]}" for row in found for key in row if key in shown]
    below = [row["name"] for row in found if row["below"]]
    return f"many: {'BELOW' if below else 'ok'} apps={apps} {' '.join(figures)}"
