"""Real processes and real servers under random faults and load: nothing is lost, nothing comes
twice.

`python -m tests.chaos.run --minutes 20` deals faults from a deck that a seed shuffles. After each
the suite has to be whole again within a bound. At the end every acknowledged event is looked up in
the input logs. The output log of one app, all output logs of the units of another, and the tables
of their sinks are compared with what the reference executor makes of the input logs.
`--only redis-lost,crash-everything` runs the named faults, once each unless there are minutes to
fill; `--list` says which there are.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from lockstep.bus import Bus, LogName
from lockstep.bus.opening import open_bus
from lockstep.cli.client import Client
from lockstep.cli.replay import send_retrying
from lockstep.clock import SystemClock, SystemRandomness
from lockstep.control import group_and_layout
from lockstep.events import UnavailableError
from lockstep.store.postgres import read_rows
from lockstep.telemetry import configure_logging
from tests.archived_files import ArchivedFiles
from tests.chaos import (
    archive_faults,
    fleet_app,
    fleet_faults,
    network_faults,
    server_faults,
    service_faults,
    upgrade_faults,
)
from tests.chaos.app import APP, STREAM, TABLE, TABLE_COLUMNS, TEXT
from tests.chaos.archive import Archive, GapError
from tests.chaos.ending import Ending, ending_of, last_line, missed_bars
from tests.chaos.fleet_app import FLEET
from tests.chaos.fleet_archive import FleetArchive
from tests.chaos.fleet_judge import judge_fleet
from tests.chaos.health import (
    Course,
    NotHealedError,
    until_archived,
    until_delivered,
    until_ready,
    until_settled,
    until_whole,
)
from tests.chaos.judge import Verdict, judge
from tests.chaos.lake_judge import judge_archived, judge_archived_fleet
from tests.chaos.load import Door, Load, under_load
from tests.chaos.namespaced import namespaced
from tests.chaos.namespaces import why_not
from tests.chaos.network import CLIENTS, Network
from tests.chaos.proxied import ProxiedNetwork
from tests.chaos.repetitions import OWN_LOG, repetitions
from tests.chaos.scene import FAULTS, Fault, Scene, faults_of
from tests.chaos.site import HOSTS, Site, running_site
from tests.chaos.story import Happened, Story
from tests.kafka.suite import BUSES

T = TypeVar("T")

CLOCK = SystemClock()
FAULT_MODULES = (
    service_faults, upgrade_faults, fleet_faults, server_faults, network_faults, archive_faults,
)  # fmt: skip
FAULTS_PER_MINUTE = 3
RATES = {"nats": 5_000, "kafka": 1_500}
"""What two cores carry beside the faults: three brokers take as much as the suite."""
FLEET_SHARE = 20
"""The fleet is sent one event for so many of the other app."""

FLEET_REQUESTS_PER_S = 2
"""Of each lane: each of its units folds each record, and all of them share two cores here."""

WARM_UP_S = 2.0
OPEN_LIMIT_S = 60
AUTOMATIC, NAMESPACES, PROXIES = "automatic", "namespaces", "proxies"
END_LIMIT_MS = 120_000
FOUND = (NotHealedError, GapError, TimeoutError, AssertionError)


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked for."""

    minutes: float
    faults: int
    only: tuple[str, ...]
    rate: int
    seed: int
    executor: str
    whole_within_ms: int
    keep: bool
    network: str
    lenient: bool
    bus: str


async def main(wish: Wish, network: Network) -> int:
    """Runs it; gives the exit code."""
    directory = Path(tempfile.mkdtemp(prefix="lockstep-chaos-"))
    directory.chmod(0o711)
    # The story tells of the outages; what this process's own connections say goes to a file.
    own_log = (directory / OWN_LOG).open("w", buffering=1)
    configure_logging(service="chaos", level="warning", clock=CLOCK, stream=own_log)
    _stop_in_good_order()
    story = Story()
    ok = False
    try:
        verdict = await _run(wish, network, directory, story)
        missed = missed_bars(story)
        ending = ending_of(verdict, story, missed, lenient=wish.lenient)
        again = repetitions(directory)
        for line in [*story.table(), *again, *verdict.complaints, *missed]:
            print(f"chaos: {line}")
        ok = ending is Ending.OK
        print(last_line(ending, story, verdict))
    except (*FOUND, asyncio.CancelledError) as error:
        for line in [f"{type(error).__name__}: {error}", *repetitions(directory)]:
            print(f"chaos: {line}")
        print(f"chaos: FAILED faults={len(story.happened)} seed={wish.seed}")
    finally:
        if ok and not wish.keep:
            shutil.rmtree(directory, ignore_errors=True)
        else:
            print(f"chaos: logs in {directory}", file=sys.stderr)
    return 0 if ok else 1


def _stop_in_good_order() -> None:
    """SIGTERM ends it like Ctrl-C: servers stopped, nothing left mounted."""
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)


@dataclass(frozen=True, slots=True)
class Subjects:
    """The two apps under chaos, archived: one that is a unit, and a fleet."""

    single: Archive
    fleet: FleetArchive
    inputs: dict[str, LogName]

    async def copy(self, bus: Bus) -> None:
        """Until cancelled."""
        await asyncio.gather(
            self.single.copy(bus, self.inputs[APP]), self.fleet.copy(bus, self.inputs[FLEET])
        )


@dataclass(frozen=True, slots=True)
class Loads:
    """What they are sent."""

    single: Load
    fleet: Load


async def _run(wish: Wish, network: Network, directory: Path, story: Story) -> Verdict:
    overrides = {
        "LOCKSTEP_PROCESSOR__EXECUTOR": wish.executor,
        "LOCKSTEP_BUS__REPLICAS": "3",
        # A processor that joins gets its share soon.
        "LOCKSTEP_COORDINATOR__REBALANCE_AFTER_MS": "3000",
    }
    async with running_site(directory, overrides, network, wish.bus) as site:
        bus = await _opened(site)
        await until_ready(site, wish.whole_within_ms)
        subjects = await _deployed(site, bus, directory, has_gaps=wish.bus == "kafka")
        site.log = subjects.inputs[APP]
        copying = asyncio.create_task(subjects.copy(bus))
        try:
            async with _under_load(wish, site, bus, network) as loads:
                trouble = _make_trouble(wish, site, loads, subjects, story)
                await _unless_ended(copying, trouble)
            settled = await _unless_ended(copying, _settle(site, subjects, bus))
        finally:
            copying.cancel()
            await asyncio.gather(copying, return_exceptions=True)
            with contextlib.suppress(UnavailableError):
                await bus.close()
        _tell(story, site, loads)
        return await _judged(site, subjects, loads, settled)


async def _deployed(site: Site, bus: Bus, directory: Path, *, has_gaps: bool) -> Subjects:
    async with Client(site.addresses) as client:
        await send_retrying(lambda: client.deploy(TEXT))
        await send_retrying(lambda: client.deploy(fleet_app.TEXT, parallel=fleet_app.PARALLEL))
    logs = [*await bus.logs(APP), *await bus.logs(FLEET)]
    inputs = {one.app: one for one in logs if not group_and_layout(one.group)[1]}
    single = Archive(directory / "archive", has_gaps=has_gaps)
    return Subjects(single, FleetArchive(directory / "fleet", has_gaps=has_gaps), inputs)


@contextlib.asynccontextmanager
async def _under_load(wish: Wish, site: Site, bus: Bus, network: Network) -> AsyncIterator[Loads]:
    receivers = [each.url for each in site.of("receiver")]
    doors = (
        (Door(APP, STREAM), wish.rate, wish.seed),
        (
            Door(FLEET, fleet_app.STREAM, FLEET_REQUESTS_PER_S),
            wish.rate // FLEET_SHARE,
            wish.seed + 1,
        ),
    )
    async with contextlib.AsyncExitStack() as stack:
        single, fleet = [
            await stack.enter_async_context(
                under_load(
                    door, receivers, bus, rate, seed, opened=lambda _: network.socket(CLIENTS)
                )
            )
            for door, rate, seed in doors
        ]
        yield Loads(single, fleet)


def _tell(story: Story, site: Site, loads: Loads) -> None:
    if site.ended:
        story.say(f"ended by themselves and were started again: {', '.join(site.ended)}")
    seconds = (CLOCK.monotonic_ms() - story.began_ms) / 1_000
    for app, load in ((APP, loads.single), (FLEET, loads.fleet)):
        for surprise in load.surprises[:5]:
            story.say(f"an answer that no client should get: {surprise}")
        sent = sum(count for _, count in load.acknowledged)
        story.say(
            f"judging {sent} events of {app} ({sent / seconds:.0f}/s over all, "
            f"{load.retries} requests repeated, longest wait {load.longest_wait_ms} ms)"
        )


async def _judged(
    site: Site, subjects: Subjects, loads: Loads, settled: Mapping[str, int]
) -> Verdict:
    dsn = site.servers.postgres_dsn
    rows = await read_rows(dsn, TABLE, TABLE_COLUMNS)
    verdict = await asyncio.to_thread(
        judge, subjects.single, loads.single.acknowledged, settled[APP], rows
    )
    rows = await read_rows(dsn, fleet_app.TABLE, fleet_app.TABLE_COLUMNS)
    verdict += await asyncio.to_thread(
        judge_fleet, subjects.fleet, loads.fleet.acknowledged, settled[FLEET], rows
    )
    single, tables = subjects.single, site.lake.tables
    verdict += await asyncio.to_thread(judge_archived, ArchivedFiles(tables, APP), single, single)
    return verdict + await asyncio.to_thread(
        judge_archived_fleet, ArchivedFiles(tables, FLEET), subjects.fleet, settled[FLEET]
    )


async def _make_trouble(
    wish: Wish, site: Site, loads: Loads, subjects: Subjects, story: Story
) -> None:
    courses = (
        Course(APP, loads.single, subjects.single),
        Course(FLEET, loads.fleet, subjects.fleet),
    )
    archive = subjects.single
    # Compiled code may not be in its cache yet: faults begin once there are rows to miss.
    await archive.rows_after_epoch(0, wish.whole_within_ms)
    took_ms = await until_whole(site, courses, wish.whole_within_ms)
    story.say(f"whole for the first time after {took_ms} ms")
    await asyncio.sleep(WARM_UP_S)
    deadline_ms = CLOCK.monotonic_ms() + wish.minutes * 60_000
    for number, fault in enumerate(_deck(wish)):
        if CLOCK.monotonic_ms() >= deadline_ms and number >= wish.faults:
            return
        random = Random(f"{wish.seed}/{number}")
        limit_s = wish.whole_within_ms / 1_000
        scene = Scene(site, loads.single, archive, subjects.fleet, random, limit_s)
        began_ms = CLOCK.monotonic_ms()
        try:
            await fault.happen(scene)
            whole_ms = await until_whole(site, courses, wish.whole_within_ms)
        except FOUND as error:
            raise NotHealedError(f"{fault.name} ({scene.note}): {error}") from error
        story.failovers_ms += scene.failovers_ms
        story.unit_failovers_ms += scene.unit_failovers_ms
        story.handovers_ms += scene.handovers_ms
        if scene.skipped:
            story.say(f"skipped {'; '.join(scene.skipped)}")
            continue
        silence_ms = archive.longest_silence_ms(began_ms, CLOCK.monotonic_ms())
        story.add(Happened(fault.name, whole_ms, silence_ms), scene.note)


def _deck(wish: Wish) -> Iterator[Fault]:
    """Faults without end; every kind before any comes more often than its copies."""
    kinds = [FAULTS[name] for name in wish.only] or faults_of(wish.bus)
    random = Random(wish.seed)
    while True:
        deck = [kind for kind in kinds for _ in range(1 if wish.only else kind.copies)]
        if not wish.only:
            random.shuffle(deck)
        yield from deck


async def _settle(site: Site, subjects: Subjects, bus: Bus) -> dict[str, int]:
    """Everything acknowledged is published and delivered, then the processors stop, so that the
    logs end, and all are copied to their ends. Gives the settled position of each app."""
    async with asyncio.timeout(END_LIMIT_MS / 1_000):
        while await site.bus.waiting_at_ingress() != 0:
            await asyncio.sleep(0.2)
    ends = {app: await _end(bus, name) for app, name in subjects.inputs.items()}
    settled = {app: await until_settled(site, app, end, END_LIMIT_MS) for app, end in ends.items()}
    await until_delivered(site, APP, subjects.single.output_sequence, END_LIMIT_MS)
    await until_delivered(site, FLEET, settled[FLEET], END_LIMIT_MS)
    processors = site.of("processor")
    site.down |= {each.node for each in processors}
    await asyncio.gather(*(each.stop() for each in processors))
    async with asyncio.timeout(END_LIMIT_MS / 1_000):
        while not await _all_copied(subjects, bus):
            await asyncio.sleep(0.1)
    await until_delivered(site, APP, subjects.single.output_sequence, END_LIMIT_MS)
    for app, source in ((APP, subjects.single), (FLEET, subjects.fleet.source)):
        await until_archived(site, app, source.input_position, END_LIMIT_MS)
    return settled


async def _all_copied(subjects: Subjects, bus: Bus) -> bool:
    """Up to where the logs end now."""
    single, fleet = subjects.single, subjects.fleet
    outputs = await bus.output_log(subjects.inputs[APP])
    copied = [
        single.input_position >= await _end(bus, subjects.inputs[APP]),
        fleet.source.input_position >= await _end(bus, subjects.inputs[FLEET]),
        single.output_sequence >= (await outputs.tail()).sequence,
    ]
    ends = await fleet.ends(bus)
    return all(copied) and all(
        name in fleet.units and fleet.units[name].output_sequence >= end
        for name, end in ends.items()
    )


async def _end(bus: Bus, name: LogName) -> int:
    """The last position of an input log."""
    _, last = await (await bus.input_log(name)).bounds()
    return last


async def _unless_ended(copying: asyncio.Task[None], work: Coroutine[Any, Any, T]) -> T:
    """The work's result; what ends the copying ends it too."""
    working = asyncio.create_task(work)
    try:
        await asyncio.wait({copying, working}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            await copying
        return await working
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)


async def _opened(site: Site) -> Bus:
    async with asyncio.timeout(OPEN_LIMIT_S):
        while True:
            try:
                return await open_bus(site.settings, CLOCK, SystemRandomness(), name="chaos")
            except UnavailableError:  # the cluster has yet to choose its leader
                await asyncio.sleep(0.2)


def wish_of(arguments: list[str]) -> Wish | None:
    """The command line; None when only the list was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, help="at least so long; 20, or with --only none")
    parser.add_argument(
        "--faults", type=int, help=f"at least so many; {FAULTS_PER_MINUTE} a minute"
    )
    parser.add_argument("--only", default="", help="names of faults, separated by commas")
    parser.add_argument("--rate", type=int, help=f"events per second; by the bus {RATES}")
    parser.add_argument("--seed", type=int, default=int(SystemRandomness().fraction() * 1e6))
    parser.add_argument("--executor", default="reference", choices=("reference", "spark"))
    parser.add_argument("--whole-within-s", type=float, default=60, help="after each fault")
    parser.add_argument("--keep", action="store_true", help="keeps logs and archive")
    parser.add_argument(
        "--network",
        default=AUTOMATIC,
        choices=(AUTOMATIC, NAMESPACES, PROXIES),
        help="namespaces cut anything and need root and `ip`; automatic: they where they can be",
    )
    parser.add_argument("--bus", default="nats", choices=BUSES)
    parser.add_argument("--lenient", action="store_true", help="a missed bar is told and forgiven")
    parser.add_argument("--list", action="store_true", help="names the faults")
    given = parser.parse_args(arguments)
    if given.list:
        for fault in faults_of(given.bus):
            print(f"{fault.name:<25}{fault.meaning}")
        return None
    only = tuple(name for name in given.only.split(",") if name)
    there = {fault.name for fault in faults_of(given.bus)}
    if unknown := [name for name in only if name not in there]:
        parser.error(f"no fault named {', '.join(unknown)}; see --list")
    minutes = given.minutes if given.minutes is not None else (0 if only else 20)
    faults = given.faults or (len(only) if only else int(minutes * FAULTS_PER_MINUTE))
    return Wish(
        minutes, faults, only, given.rate or RATES[given.bus], given.seed, given.executor,
        int(given.whole_within_s * 1_000), given.keep, given.network, given.lenient, given.bus,
    )  # fmt: skip


def run(wish: Wish) -> int:
    """Chooses the network, then runs it all; gives the exit code."""
    reason = why_not() if wish.network != PROXIES else "as asked for"
    if wish.network == NAMESPACES and reason is not None:
        print(f"chaos: no namespaces: {reason}")
        return 2
    why = "" if reason is None else f" ({reason})"
    print(
        f"chaos: network={NAMESPACES if reason is None else PROXIES}{why} seed={wish.seed} "
        f"rate={wish.rate} executor={wish.executor} bus={wish.bus}",
        flush=True,
    )
    if reason is not None:
        return asyncio.run(main(wish, ProxiedNetwork()))
    with namespaced(HOSTS) as network:
        return asyncio.run(main(wish, network))


if __name__ == "__main__":
    wished = wish_of(sys.argv[1:])
    sys.exit(0 if wished is None else run(wished))
