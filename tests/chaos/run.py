"""Real processes and real servers under random faults and load: nothing is lost, nothing comes
twice.

`python -m tests.chaos.run --minutes 20` deals faults from a deck that a seed shuffles. After each
the suite has to be whole again within a bound. At the end every acknowledged event is looked up in
the input log, and the output log and the sink's table are compared with what the reference executor
makes of that input log. `--only redis-lost,crash-everything` runs the named faults, once each
unless there are minutes to fill; `--list` says which there are.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import shutil
import signal
import sys
import tempfile
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from lockstep.bus import Bus
from lockstep.bus.opening import open_bus
from lockstep.cli.client import Client
from lockstep.cli.replay import send_retrying
from lockstep.clock import SystemClock, SystemRandomness
from lockstep.events import UnavailableError
from lockstep.store.postgres import read_rows
from lockstep.telemetry import configure_logging
from tests.chaos import network_faults, server_faults, service_faults, upgrade_faults
from tests.chaos.app import APP, TABLE, TABLE_COLUMNS, TEXT
from tests.chaos.archive import Archive, GapError
from tests.chaos.ending import Ending, ending_of, last_line, missed_bars
from tests.chaos.health import NotHealedError, until_delivered, until_whole
from tests.chaos.judge import Verdict, judge
from tests.chaos.load import Load, under_load
from tests.chaos.namespaced import namespaced
from tests.chaos.namespaces import why_not
from tests.chaos.network import CLIENTS, Network
from tests.chaos.proxied import ProxiedNetwork
from tests.chaos.scene import FAULTS, Fault, Scene, faults_of
from tests.chaos.site import HOSTS, Site, running_site
from tests.chaos.story import Happened, Story
from tests.kafka.suite import BUSES

T = TypeVar("T")

CLOCK = SystemClock()
FAULT_MODULES = (service_faults, upgrade_faults, server_faults, network_faults)
FAULTS_PER_MINUTE = 3
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
    # The story tells of the outages; this process's own connections need not.
    configure_logging(service="chaos", level="error", log_format="console", clock=CLOCK)
    _stop_in_good_order()
    story = Story()
    ok = False
    try:
        verdict = await _run(wish, network, directory, story)
        missed = missed_bars(story)
        ending = ending_of(verdict, story, missed, lenient=wish.lenient)
        for line in [*story.table(), *verdict.complaints, *missed]:
            print(f"chaos: {line}")
        ok = ending is Ending.OK
        print(last_line(ending, story, verdict))
    except (*FOUND, asyncio.CancelledError) as error:
        print(f"chaos: {type(error).__name__}: {error}")
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


async def _run(wish: Wish, network: Network, directory: Path, story: Story) -> Verdict:
    overrides = {
        "LOCKSTEP_PROCESSOR__EXECUTOR": wish.executor,
        "LOCKSTEP_BUS__REPLICAS": "3",
    }
    async with running_site(directory, overrides, network, wish.bus) as site:
        bus = await _opened(site)
        archive = Archive(directory / "archive", has_gaps=wish.bus == "kafka")
        async with Client(site.addresses) as client:
            await send_retrying(lambda: client.deploy(TEXT))
        site.log = max(await bus.logs(APP))
        copying = asyncio.create_task(archive.copy(bus, site.log))
        try:
            receivers = [each.url for each in site.of("receiver")]
            async with under_load(
                receivers, bus, wish.rate, wish.seed, opened=lambda _: network.socket(CLIENTS)
            ) as load:
                await _unless_ended(copying, _make_trouble(wish, site, load, archive, story))
            settled = await _unless_ended(copying, _settle(site, archive, bus))
        finally:
            copying.cancel()
            await asyncio.gather(copying, return_exceptions=True)
            with contextlib.suppress(UnavailableError):
                await bus.close()
        if site.ended:
            story.say(f"ended by themselves and were started again: {', '.join(site.ended)}")
        for surprise in load.surprises[:5]:
            story.say(f"an answer that no client should get: {surprise}")
        rows = await read_rows(site.servers.postgres_dsn, TABLE, TABLE_COLUMNS)
        sent = sum(count for _, count in load.acknowledged)
        seconds = (CLOCK.monotonic_ms() - story.began_ms) / 1_000
        story.say(
            f"judging {sent} events ({sent / seconds:.0f}/s over all, "
            f"{load.retries} requests repeated, longest wait {load.longest_wait_ms} ms)"
        )
        return await asyncio.to_thread(judge, archive, load.acknowledged, settled, rows)


async def _make_trouble(wish: Wish, site: Site, load: Load, archive: Archive, story: Story) -> None:
    # Compiled code may not be in its cache yet: faults begin once there are rows to miss.
    await archive.rows_after_epoch(0, wish.whole_within_ms)
    took_ms = await until_whole(site, load, archive, wish.whole_within_ms)
    story.say(f"whole for the first time after {took_ms} ms")
    await asyncio.sleep(WARM_UP_S)
    deadline_ms = CLOCK.monotonic_ms() + wish.minutes * 60_000
    for number, fault in enumerate(_deck(wish)):
        if CLOCK.monotonic_ms() >= deadline_ms and number >= wish.faults:
            return
        scene = Scene(site, load, archive, Random(f"{wish.seed}/{number}"))
        began_ms = CLOCK.monotonic_ms()
        try:
            await fault.happen(scene)
            whole_ms = await until_whole(site, load, archive, wish.whole_within_ms)
        except FOUND as error:
            raise NotHealedError(f"{fault.name} ({scene.note}): {error}") from error
        story.failovers_ms += scene.failovers_ms
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


async def _settle(site: Site, archive: Archive, bus: Bus) -> int:
    """Everything acknowledged is published and delivered, then the processors stop, so that the
    logs end, and both are copied to their ends. Gives the settled position."""
    inputs, outputs = await bus.input_log(site.log), await bus.output_log(site.log)
    async with asyncio.timeout(END_LIMIT_MS / 1_000):
        while await site.bus.waiting_at_ingress() != 0:
            await asyncio.sleep(0.2)
    _, settled = await inputs.bounds()
    await until_delivered(site, settled, archive.output_sequence, END_LIMIT_MS)
    processors = site.of("processor")
    site.down |= {each.node for each in processors}
    await asyncio.gather(*(each.stop() for each in processors))
    _, last_input = await inputs.bounds()
    last_output = (await outputs.tail()).sequence
    async with asyncio.timeout(END_LIMIT_MS / 1_000):
        while archive.input_position < last_input or archive.output_sequence < last_output:
            await asyncio.sleep(0.1)
    await _delivered(site, last_output)
    return settled


async def _delivered(site: Site, sequence: int) -> None:
    async with asyncio.timeout(END_LIMIT_MS / 1_000):
        while True:
            sinks = (await site.status()).get("sinks", [])
            if sinks and min(sink["sequence"] for sink in sinks) >= sequence:
                return
            await asyncio.sleep(0.2)


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
    parser.add_argument("--rate", type=int, default=5_000, help="events per second")
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
        minutes, faults, only, given.rate, given.seed, given.executor,
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
