"""Events joined with tables that another program changes all the time, in processes of their own.

`make e2e SCENARIO=lookups` makes a table of a million rows in a PostgreSQL, and one in a MariaDB
where there is such a server. An app follows each of them (mode `copy`), another one asks both (mode
`lookup`). A program changes all of them without a pause. The receiver that loads the first copy is
killed in the middle. Then, under load, the leading processor of each app and both receivers are
killed, one after the other. At the end

* each event has one answer of each query (`lost`, `duplicated`), and the table has given it at a
  time when it could (`never`),
* both replicas have saved one state, and that is what this process makes of the log from its
  beginning, by the reference and in columns; the rows are the reference's; each copy is what its
  table is (`differing`).

Last line: `lookups: ok rows=<n> events=<n> changes=<n> kills=6 differing=0 never=0 lost=0
duplicated=0 copy_per_second=<n> mariadb_copy_per_second=<n> lookup_per_second=<n>
mariadb_lookup_per_second=<n>`; without a MariaDB there is one app less, and one kill.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import re
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from lockstep.cli.client import Client
from lockstep.cli.processes import ProcessSuite, ServiceProcess, asking_session
from lockstep.clock import SystemClock
from lockstep.frame import World
from tests.bench import memory
from tests.chaos.archive import Archive
from tests.e2e.harness import Way, replicas_of, tried
from tests.e2e.lookups_asking import Asker
from tests.e2e.lookups_tables import MARKER, TABLE, Changing, Tables, tables
from tests.e2e.lookups_verdict import Verdict, answers_judged, copy_judged, replayed
from tests.e2e.past_traffic import asked_until_told
from tests.e2e.past_verdict import Taken, taken

CLOCK = SystemClock()
PLAN: Final = (
    ("coordinator", "coordinator"),
    ("processor-1", "processor"),
    ("processor-2", "processor"),
    ("presenter", "presenter"),
    ("receiver-1", "receiver"),
    ("receiver-2", "receiver"),
)
FOLLOWING: Final = """@app:name('{app}')
define stream {stream} (id long, customer int);
define stream Probe (customer int);
@store(type='rdbms', mode='copy', datasource='{datasource}', table.name='{name}')
@PrimaryKey('id')
define table Copied (id int, version long);
from {stream} left outer join Copied on {stream}.customer == Copied.id
select {stream}.id as id, {stream}.customer as customer, Copied.version as version
insert into From{stream};
from Probe left outer join Copied on Probe.customer == Copied.id
select Probe.customer as customer, Copied.version as version insert into Probed;
"""
ASKED: Final = """define stream {stream} (id long, customer int);
@store(type='rdbms', mode='lookup', datasource='{datasource}', table.name='{name}')
@PrimaryKey('id')
define table {stream}Table (id int, version long);
"""
ASKING: Final = """from {stream} left outer join {stream}Table
on {stream}.customer == {stream}Table.id
select {stream}.id as id, {stream}.customer as customer, {stream}Table.version as version
insert into From{stream};
"""
COPIED = re.compile(
    r'^lockstep_copied_rows_total\{[^}]*app="Following"[^}]*\} (\S+)$', re.MULTILINE
)
COPIES: Final = {"Following": "Ask", "Mirroring": "AskMaria"}
"""The apps with a copy, and the stream of each whose events are joined with it."""
POLL_MS: Final = 50
TIMEOUT_MS: Final = 600_000
PROBE_MS: Final = 200
LOADED: Final = 0.2
"""Of the table, when the receiver that loads it is killed."""
UNDER_WAY_MS: Final = 3_000
"""Load before each kill, and behind the last."""
FLAT_OUT: Final = {
    "Ask": (1_000_000, 8_192), "AskMaria": (1_000_000, 8_192),
    "Shop": (100_000, 1_000), "Maria": (100_000, 1_000),
}  # fmt: skip
"""Of each stream: how many events, and how many in a send."""
LAST_EVENTS: Final = 100
RATES: Final = {
    "Ask": "copy_per_second",
    "AskMaria": "mariadb_copy_per_second",
    "Shop": "lookup_per_second",
    "Maria": "mariadb_lookup_per_second",
}


@dataclass(slots=True)
class Stage:
    """The suite under load, and what was done to it."""

    suite: ProcessSuite
    world: World
    client: Client
    tables: Tables
    size: int
    archives: dict[str, Archive] = field(default_factory=dict)
    askers: dict[str, Asker] = field(default_factory=dict)
    copying: list[asyncio.Task[None]] = field(default_factory=list)
    rates: dict[str, int] = field(default_factory=dict)
    kills: int = 0
    probes: dict[str, int] = field(default_factory=dict)

    @property
    def copies(self) -> Mapping[str, Changing]:
        """The apps with a copy, and who changes the table of each."""
        found = {"Following": self.tables.postgres}
        return found | ({"Mirroring": self.tables.mariadb} if self.tables.mariadb else {})

    @property
    def texts(self) -> dict[str, str]:
        """Of the apps."""
        told = {"Shop": "shop"} | ({"Maria": "maria"} if self.tables.mariadb else {})
        asked = [ASKED.format(stream=one, datasource=of, name=TABLE) for one, of in told.items()]
        asking = [ASKING.format(stream=one) for one in told]
        of = {"Following": "shop", "Mirroring": "maria"}
        followed = {
            app: FOLLOWING.format(app=app, stream=COPIES[app], datasource=of[app], name=TABLE)
            for app in self.copies
        }
        return followed | {"Asking": "".join(["@app:name('Asking')\n", *asked, *asking])}

    @property
    def programs(self) -> dict[str, Changing]:
        """Of each stream, who changes the table that it asks."""
        found = {COPIES[app]: program for app, program in self.copies.items()}
        found["Shop"] = self.tables.postgres
        return found | ({"Maria": self.tables.mariadb} if self.tables.mariadb else {})

    def say(self, text: str) -> None:
        """A line of the story."""
        print(f"lookups: {text}", flush=True)

    async def begin(self, folder: Path) -> None:
        """Deploys the apps; their logs are copied from the beginning. The copies are loaded from
        then on."""
        receivers = [process.url for process in self.suite.of("receiver")]
        for stream in self.programs:
            app = next((app for app in self.copies if COPIES[app] == stream), "Asking")
            self.askers[stream] = Asker(self.client, receivers, app, stream, self.size)
        for app in sorted(self.texts):  # "Asking" is the first: it has nothing to load
            await asked_until_told(partial(self.client.deploy, self.texts[app]))
            archive = self.archives[app] = Archive(folder / app)

            async def there(app: str = app) -> bool:
                return bool(await self.world.bus.logs(app))

            await self.until(there, f"the logs of {app}")
            name = max(await self.world.bus.logs(app))
            self.copying.append(asyncio.create_task(archive.copy(self.world.bus, name)))
        await self.ready("Asking")

    async def ready(self, app: str) -> None:
        """Until one replica leads and another one could."""

        async def both() -> bool:
            found = [one for one in await replicas_of(self.client, app) if one["ready"]]
            return len(found) == 2 and [one["role"] for one in found].count("active") == 1

        await self.until(both, f"two ready replicas of {app}")

    async def loaded_by(self, share: float) -> ServiceProcess:
        """Until so much of the table is in the log; who loads it."""
        found: list[ServiceProcess] = []

        async def there() -> bool:
            async with asking_session(self.suite.settings.client.tls) as session:
                for process in self.suite.of("receiver"):
                    async with session.get(f"{process.url}/metrics") as response:
                        counts = map(float, COPIED.findall(await response.text()))
                    if sum(counts) >= share * self.size:
                        found.append(process)
            return bool(found)

        await self.until(there, "the load of the copy")
        return found[0]

    async def follows(self) -> None:
        """Until each copy has what is changed from now on, as an event tells that meets it."""
        for app, program in self.copies.items():
            await self._follows(app, program)

    async def _follows(self, app: str, program: Changing) -> None:
        version = await program.mark()
        log = await self.world.bus.output_log(max(await self.world.bus.logs(app)))
        after = (await log.tail()).sequence
        key = f"probe-{version}"

        async def there() -> bool:
            nonlocal after
            number = self.probes[app] = self.probes.get(app, 0) + 1
            body = json.dumps([MARKER]).encode()
            await asked_until_told(
                lambda: self.client.send(app, "Probe", body, idempotency_key=f"{key}-{number}")
            )
            found = await log.read(after, max_records=1_000, max_bytes=10**7, wait_ms=PROBE_MS)
            after = found[-1].sequence if found else after
            rows = [one for entry in found for one in getattr(entry.record, "rows", ())]
            return ("Probed", (MARKER, version)) in [(one.stream, one.data) for one in rows]

        await self.until(there, f"the copy of {app} follows")

    async def loaded(self) -> None:
        """Until the loads are over. What is marked once one has begun comes behind it; and it has
        begun when an earlier mark is there."""
        await self.follows()
        await self.follows()

    async def answered(self) -> None:
        """Until all that was sent by now has an answer."""
        for app, archive in self.archives.items():
            askers = [one for one in self.askers.values() if one.app == app]
            due = sum(each.count for one in askers for each in one.sent)
            due += self.probes.get(app, 0)

            async def there(archive: Archive = archive, due: int = due) -> bool:
                for one in self.copying:
                    if one.done():
                        one.result()
                return sum(each.rows for each in archive.arrivals) >= due

            await self.until(there, f"{due} answers of {app}")

    async def killed(self, victim: ServiceProcess, what: str) -> None:
        """SIGKILL, and started again at once; until it is ready."""
        await victim.kill()
        self.kills += 1
        victim.start()
        self.say(f"killed {victim.node}, {what}")
        async with asking_session(self.suite.settings.client.tls) as session:
            await victim.ready(session)

    async def leader(self, app: str) -> ServiceProcess:
        """Who leads it."""
        await self.ready(app)
        leads = [one for one in await replicas_of(self.client, app) if one["role"] == "active"]
        return self.suite.processes[leads[0]["node"]]

    async def revision(self, app: str) -> Taken:
        """A state that who leads saves now."""
        url = f"{self.client.addresses.coordinator}/v1/apps/{app}/snapshot"
        answer = await asked_until_told(lambda: self.client.request("POST", url))
        name = max(await self.world.bus.logs(app))
        return await taken(self.world, name, answer["message"])

    async def revisions(self, app: str) -> Sequence[Taken]:
        """Of both replicas: one leads after the other, and each has events of its own to save."""
        first, node = await self.revision(app), (await self.leader(app)).node
        url = f"{self.client.addresses.coordinator}/v1/apps/{app}/handover"
        await asked_until_told(lambda: self.client.request("POST", url, json_body={}))

        async def other() -> bool:
            found = await replicas_of(self.client, app)
            return [one["node"] for one in found if one["role"] == "active"] not in ([], [node])

        await self.until(other, "the other one leads")
        await self.ready(app)
        for asker in self.askers.values():
            if asker.app == app:
                await asker.send(LAST_EVENTS)
        await self.answered()
        return first, await self.revision(app)

    async def until(self, reached: Any, what: str) -> None:
        """TimeoutError, with the name of what was waited for."""
        deadline_ms = CLOCK.monotonic_ms() + TIMEOUT_MS
        while not await reached():
            if CLOCK.monotonic_ms() > deadline_ms:
                raise TimeoutError(f"not within {TIMEOUT_MS} ms: {what}")
            await CLOCK.sleep_ms(POLL_MS)


@contextlib.asynccontextmanager
async def going_on(works: Sequence[Changing] | Sequence[Asker], rate: int) -> AsyncIterator[None]:
    """They work within the block."""
    async with asyncio.TaskGroup() as together:
        for one in works:
            one.enough.clear()
            work = one.run() if isinstance(one, Changing) else one.steadily(rate)
            together.create_task(work)
        try:
            yield
        finally:
            for one in works:
                one.enough.set()


async def main(size: int, rate: int, way: Way) -> int:
    """Runs it; gives the exit code."""
    with tempfile.TemporaryDirectory(prefix="lockstep-lookups-") as name:
        async with tables(Path(name), size) as made:

            async def trial(suite: ProcessSuite, world: World) -> bool:
                async with Client(suite.addresses) as client:
                    stage = Stage(suite, world, client, made, size)
                    try:
                        return await _tell(stage, Path(name), rate)
                    finally:
                        for one in stage.copying:
                            one.cancel()
                        await asyncio.gather(*stage.copying, return_exceptions=True)

            setting = {"LOCKSTEP_DATASOURCES__FILE": str(made.datasources)}
            return await tried("lookups", trial, way, plan=PLAN, overrides=setting)


async def _tell(stage: Stage, folder: Path, rate: int) -> bool:
    programs = list(dict.fromkeys(stage.programs.values()))
    async with going_on(programs, 0):
        began_ms = CLOCK.monotonic_ms()
        await stage.begin(folder)
        await stage.killed(await stage.loaded_by(LOADED), "which loads the copy")
        await stage.loaded()
        for app in stage.copies:
            await stage.ready(app)
        stage.say(f"deployed, loaded and following after {CLOCK.monotonic_ms() - began_ms} ms")
        async with going_on(list(stage.askers.values()), rate):
            await _kills(stage)
        await stage.answered()
        for stream in stage.askers:
            await _flat_out(stage, stream)
    await stage.follows()
    await stage.answered()
    peaks = {one.node: memory.peak_mib(one.pid) for one in stage.suite.processes.values()}
    stage.say(f"peak MiB {peaks}")
    states = {app: await stage.revisions(app) for app in stage.texts}
    await _all_copied(stage)
    verdict = await asyncio.to_thread(
        _judged,
        stage,
        states,
        {stream: await one.table.rows() for stream, one in stage.programs.items()},
    )
    return _sum_up(stage, programs, verdict)


async def _kills(stage: Stage) -> None:
    """Each leader and each receiver, under load; whoever follows the table comes first."""
    for app in stage.texts:
        await CLOCK.sleep_ms(UNDER_WAY_MS)
        await stage.killed(await stage.leader(app), f"which leads {app}")
        await stage.answered()
        await stage.ready(app)
    for process in stage.suite.of("receiver"):
        await CLOCK.sleep_ms(UNDER_WAY_MS)
        await stage.killed(process, "under load")
        await stage.follows()
        await stage.answered()
    await CLOCK.sleep_ms(UNDER_WAY_MS)


async def _flat_out(stage: Stage, stream: str) -> None:
    """How many look-ups a second, from the first event's sending to the last one's answer."""
    events, batch = FLAT_OUT[stream]
    began_ms = CLOCK.monotonic_ms()
    await stage.askers[stream].flat_out(events, batch)
    durable_ms = CLOCK.monotonic_ms() - began_ms
    await stage.answered()
    took_ms = CLOCK.monotonic_ms() - began_ms
    stage.rates[stream] = events * 1_000 // max(1, took_ms)
    stage.say(f"{stream}: {events} events durable after {durable_ms} ms, answered after {took_ms}")


async def _all_copied(stage: Stage) -> None:
    """Until the archives have both logs to their ends."""
    for app, archive in stage.archives.items():
        name = max(await stage.world.bus.logs(app))
        log = await stage.world.bus.input_log(name, make=False)
        _, last = await log.bounds()
        tail = await (await stage.world.bus.output_log(name)).tail()

        async def there(
            archive: Archive = archive, last: int = last, end: int = tail.sequence
        ) -> bool:
            return archive.input_position >= last and archive.output_sequence >= end

        await stage.until(there, f"the logs of {app}")


def _judged(stage: Stage, states: Any, tables_: Any) -> Verdict:
    verdict = Verdict()
    for stream, asker in stage.askers.items():
        program, archive = stage.programs[stream], stage.archives[asker.app]
        copy = asker.app in stage.copies
        answers_judged(archive, f"From{stream}", asker, program.history, verdict, copy=copy)
        if tables_[stream] != program.history.rows:
            verdict.tell(f"the table of {stream} is not what the program made of it")
            verdict.differing += 1
    for app, text in stage.texts.items():
        reference = replayed(stage.archives[app], text, states[app], verdict)
        if app in stage.copies:
            copy_judged(reference, "Copied", tables_[COPIES[app]], verdict)
        reference.close()
    return verdict


def _sum_up(stage: Stage, programs: Sequence[Changing], verdict: Verdict) -> bool:
    for line in verdict.told:
        stage.say(line)
    events = sum(one.next for one in stage.askers.values())
    changes = sum(one.history.changes for one in programs)
    rates = [
        f"{called}={stage.rates[stream]}"
        for stream, called in RATES.items()
        if stream in stage.rates
    ]
    print(
        f"lookups: {'ok' if verdict.is_fine else 'FAILED'} rows={stage.size} events={events}"
        f" changes={changes} kills={stage.kills} differing={verdict.differing}"
        f" never={verdict.never} lost={verdict.lost} duplicated={verdict.duplicated}"
        f" {' '.join(rates)}"
    )
    return verdict.is_fine


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=1_000_000, help="rows of each table")
    parser.add_argument("--rate", type=int, default=500, help="events a second, of each stream")
    Way.ask(parser)
    options = parser.parse_args()
    sys.exit(asyncio.run(main(options.size, options.rate, Way.of(options))))
