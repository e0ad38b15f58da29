"""A world for scheduled scripts: what survives, publishers that die, rows that a test names."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from lockstep.archive.place import Place
from lockstep.batch.book import ScriptBook
from lockstep.batch.header import Language, header_of
from lockstep.batch.model import Run, State, Version
from lockstep.batch.outputs import ToStream
from lockstep.batch.results import Results
from lockstep.batch.run_book import RunBook
from lockstep.batch.running import Outcome, Workplace
from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.clock import SeededRandomness, VirtualClock
from lockstep.events import UnavailableError
from lockstep.frame import HolderWatch, InlineOffload, LeaseKeeper, Tasks
from lockstep.leader.memory import LeaseTable, MemoryLeases
from lockstep.leader.roll import LeaseRoll
from lockstep.secrets import Vault
from lockstep.settings import load_settings
from lockstep.store.memory import MemoryStore
from lockstep.telemetry import Metrics, get_logger
from lockstep_services.publisher.batch.attempt import Attempts
from lockstep_services.publisher.batch.delivering import Deliverer, Outlets
from lockstep_services.publisher.batch.scheduler import RESOURCE, Scheduler
from lockstep_services.publisher.batch.sending import Sender, chunks
from lockstep_services.publisher.build import SinkFactory
from lockstep_services.publisher.contract import (
    Sink,
    SinkBinding,
)

MINUTE = 60_000
TEXT = "# cron: 0 * * * * ? UTC\n# retries: 1\ndef run(batch):\n    return None\n"
TO_STREAM = TEXT.replace("# retries", "# output: stream A.In\n# retries")


class Bench(Workplace):
    """Where runs give what a test says, when it says so."""

    def __init__(self) -> None:
        self.gives: list[pa.Table | str] = []
        self.begun: list[Run] = []
        self.go = asyncio.Event()
        self.go.set()

    async def outcome(self, run: Run, version: Version, time_limit_ms: int) -> Outcome:
        """The next of `gives`, a text for an error."""
        self.begun.append(run)
        await self.go.wait()
        found = self.gives.pop(0) if self.gives else pa.table({"n": [run.due_ms]})
        if isinstance(found, str):
            return Outcome(None, found, ("a line", found))
        return Outcome(found, "", ("a line",))


class Door(Sender):
    """A receiver that knows what it has taken."""

    def __init__(self) -> None:
        self.taken: dict[str, Sequence[Any]] = {}
        self.calls = 0
        self.dies_behind: int | None = None

    async def send(self, rows: pa.Table, run: Run, output: ToStream) -> None:
        """Once for each key."""
        for number, chunk in enumerate(chunks(rows)):
            if number == self.dies_behind:
                raise UnavailableError("away")
            self.calls += 1
            self.taken.setdefault(f"{run.identity}/{number}", chunk)


class World:
    """What survives: the store, the folder, the leases and time."""

    def __init__(self, folder: Path) -> None:
        self.clock = VirtualClock(0)
        self.table = LeaseTable(self.clock)
        self.store = MemoryStore()
        self.topics = MemoryBus(MemoryCarrier(self.clock)).topics
        self.place = Place(str(folder))
        self.settings = load_settings(
            {
                "LOCKSTEP_ARCHIVE__FOLDER": str(folder),
                "LOCKSTEP_LEADER__LEASE_TTL_MS": "4000",
                "LOCKSTEP_LEADER__RENEW_MS": "1000",
                "LOCKSTEP_LEADER__RETRY_MS": "1000",
            }
        )
        self.book = ScriptBook(self.store.batch, self.clock, self.settings.batch)
        self.runs = RunBook(self.book, self.store.batch, self.clock, self.settings.batch)
        self.door = Door()
        self.files = Deliverer(self._sink, get_logger())

    def _sink(self, binding: SinkBinding, way: Any, definition: Any) -> Sink:
        factory = SinkFactory(
            self.store.cursors, self.topics, get_logger(), datasources={}, default_dsn="",
            max_connections=1, statement_timeout_ms=1_000, vault=Vault(""),
            clock=self.clock,
        )  # fmt: skip
        return factory.sink_of(binding, way, definition)

    async def deploy(self, text: str = TEXT) -> None:
        """One script."""
        await self.book.deploy(header_of(text, Language.PYTHON, "s"), text)

    def kept(self, text: str = TEXT) -> list[tuple[int, int]]:
        """(due time in minutes, value) of all rows that are kept."""
        results = Results(self.place, header_of(text, Language.PYTHON, "s"))
        rows = [
            one for table in results._tables() for part in table.scan() for one in part.to_pylist()
        ]
        return sorted((one["_due_ms"] // MINUTE, one["n"]) for one in rows)

    async def states(self) -> list[State]:
        """Of all runs, the oldest first."""
        return [one.state for one in reversed(await self.runs.of("s"))]


class Publisher:
    """A process with the scheduler in it."""

    def __init__(self, world: World, node: str) -> None:
        clock, settings, log = world.clock, world.settings, get_logger()
        leases = MemoryLeases(world.table, clock, SeededRandomness(ord(node[0])))
        rules = settings.leader
        self.roll = LeaseRoll(
            leases, node, clock, log, ttl_ms=rules.lease_ttl_ms,
            ttl_max_ms=rules.lease_ttl_max_ms, renew_ms=rules.renew_ms, retry_ms=rules.retry_ms,
        )  # fmt: skip
        self.metrics = Metrics()
        self.keeper = LeaseKeeper(
            self.roll, HolderWatch(leases, clock, rules, self.metrics, log), RESOURCE, clock, rules,
            self.metrics, log,
        )  # fmt: skip
        self.tasks = Tasks(clock, log)
        self.bench = Bench()
        self.attempts = Attempts(
            node, world.place, world.book, world.runs, self.bench, Outlets(world.door, world.files),
            InlineOffload(), clock, settings, self.metrics, log,
        )  # fmt: skip
        self.scheduler = Scheduler(
            world.book, world.runs, self.attempts, self.keeper, self.tasks, clock, settings.batch,
            self.metrics, log,
        )  # fmt: skip

    def start(self) -> None:
        """As the service does."""
        self.tasks.supervise("roll", self.roll.run)
        self.tasks.supervise("lease-batch", self.keeper.run)
        self.tasks.supervise("batch", self.scheduler.run)

    async def die(self) -> None:
        """Without a word to anybody."""
        await self.tasks.stop_all()
