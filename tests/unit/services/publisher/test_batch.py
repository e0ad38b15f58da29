"""Scheduled scripts: run by who holds the lease, kept once whoever dies, ended when they must be.

Scripts run in processes of their own, as everywhere; these need no Spark, which has a test of its
own (tests/integration/spark/test_batch.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lockstep.archive.place import Place
from lockstep.batch.book import ScriptBook
from lockstep.batch.child import NoRowsError, Task, rows_of
from lockstep.batch.header import Language, header_of
from lockstep.batch.model import Run, State, Version
from lockstep.batch.outputs import ToStream
from lockstep.batch.results import Results, formed, shape_of
from lockstep.batch.run_book import RunBook
from lockstep.batch.running import Outcome, Workplace
from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.clock import SeededRandomness, SystemClock, VirtualClock
from lockstep.events import UnavailableError
from lockstep.frame import HolderWatch, InlineOffload, LeaseKeeper, Tasks
from lockstep.leader.memory import LeaseTable, MemoryLeases
from lockstep.leader.roll import LeaseRoll
from lockstep.settings import load_settings
from lockstep.store.memory import MemoryStore
from lockstep.telemetry import Metrics, get_logger
from lockstep_services.publisher.batch.attempt import Attempts
from lockstep_services.publisher.batch.delivering import Deliverer, Outlets
from lockstep_services.publisher.batch.scheduler import RESOURCE, Scheduler
from lockstep_services.publisher.batch.sending import Sender, chunks
from lockstep_services.publisher.build import SinkFactory
from lockstep_services.publisher.contract import (
    Batch,
    RefusedRow,
    RowsRefusedError,
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
            max_connections=1, statement_timeout_ms=1_000,
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
            leases, node, clock, log, ttl_ms=rules.lease_ttl_ms, renew_ms=rules.renew_ms,
            retry_ms=rules.retry_ms,
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


SUCCEEDED = {"script": "s", "outcome": "succeeded"}


async def until(world: World, there: Callable[[], bool]) -> None:
    """Time passes, of the world and of its threads."""
    async with asyncio.timeout(30):
        while not there():
            await world.clock.advance_ms(500)
            await asyncio.sleep(0.005)


async def until_run(world: World, is_so: Callable[[Run], bool]) -> None:
    """The newest run is as wanted."""
    found: list[Run] = []
    async with asyncio.timeout(30):
        while not (found and is_so(found[0])):
            await world.clock.advance_ms(500)
            await asyncio.sleep(0.005)
            found = list(await world.runs.of("s", 1))


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Empty."""
    return World(tmp_path / "archive")


async def test_two_publishers_run_what_is_due_once(world: World) -> None:
    """The one that holds the lease does, at its time and not before; when it dies, the other."""
    await world.deploy()
    one, two = Publisher(world, "one"), Publisher(world, "two")
    one.start()
    await world.clock.advance_ms(1_000)
    two.start()
    await world.clock.advance_ms(MINUTE - 5_000)
    assert (one.keeper.held, two.keeper.held) == (True, False)
    assert await world.states() == []
    await world.clock.advance_ms(MINUTE + 20_000)
    assert world.kept() == [(1, MINUTE), (2, 2 * MINUTE)]
    assert (len(one.bench.begun), len(two.bench.begun)) == (2, 0)
    await one.die()
    await world.clock.advance_ms(MINUTE)
    assert world.kept()[2:] == [(3, 3 * MINUTE)]
    assert (len(one.bench.begun), len(two.bench.begun)) == (2, 1)
    assert await world.states() == [State.SUCCEEDED] * 3
    await two.die()


async def test_a_run_in_whose_middle_its_publisher_dies_is_taken_up(world: World) -> None:
    """By the next one, over the same part of the archive; that is not one of the retries."""
    await world.deploy()
    one, two = Publisher(world, "one"), Publisher(world, "two")
    one.bench.go.clear()
    one.start()
    await world.clock.advance_ms(MINUTE + 1_500)
    (begun,) = one.bench.begun
    assert await world.states() == [State.RUNNING]
    await one.die()
    two.start()
    await world.clock.advance_ms(8_000)
    (again,) = two.bench.begun
    assert (again.identity, again.up_to, again.deaths) == (begun.identity, begun.up_to, 1)
    assert world.kept() == [(1, MINUTE)]
    assert await world.states() == [State.SUCCEEDED]
    await two.die()


@pytest.mark.parametrize("text", [TEXT, TO_STREAM])
async def test_a_publisher_that_dies_behind_the_append_is_not_followed_by_a_second_one(
    world: World, text: str
) -> None:
    """The rows are in the table, and the store has not heard of it: they are not computed again,
    also where that would give others."""
    await world.deploy(text)
    one = Publisher(world, "one")
    write, noted = world.runs.write, []

    async def dies(seen: Any, run: Run) -> Any:
        if run.is_kept:
            noted.append(run)
            raise UnavailableError("the publisher is gone")
        return await write(seen, run)

    world.runs.write = dies  # type: ignore[method-assign]
    one.start()
    await world.clock.advance_ms(MINUTE + 1_500)
    assert noted
    await one.die()
    world.runs.write = write  # type: ignore[method-assign]
    two = Publisher(world, "two")
    two.bench.gives = [pa.table({"n": [1, 2, 3]})]
    two.start()
    await world.clock.advance_ms(10_000)
    assert world.kept(text) == [(1, MINUTE)]
    assert two.bench.begun == []
    assert await world.states() == [State.SUCCEEDED]
    if text == TO_STREAM:
        assert [list(one) for one in world.door.taken.values()] == [[{"n": MINUTE}]]
    await two.die()


async def test_a_publisher_that_was_held_up_keeps_nothing_any_more(world: World) -> None:
    """Another one has done its run meanwhile, and it does not know yet."""
    await world.deploy()
    one, two = Publisher(world, "one"), Publisher(world, "two")
    await world.clock.advance_ms(MINUTE)
    await one.scheduler.look()
    one.bench.go.clear()
    await asyncio.sleep(0)
    await world.clock.advance_ms(1)
    assert len(one.bench.begun) == 1
    two.bench.gives = [pa.table({"n": [7]})]
    await two.attempts.make("s", MINUTE)
    one.bench.go.set()
    await world.clock.advance_ms(10)
    assert world.kept() == [(1, 7)]
    (run,) = await world.runs.of("s")
    assert (run.state, run.holder, run.rows) == (State.SUCCEEDED, "", 1)
    await one.die()


async def test_rows_that_are_sent_again_are_the_same_sends(world: World) -> None:
    """The receiver is away in the middle: what it has is not sent as something else, and what the
    script would give now does not count."""
    await world.deploy(TO_STREAM)
    one = Publisher(world, "one")
    one.bench.gives = [pa.table({"n": list(range(1_200))})]
    world.door.dies_behind = 2
    one.start()
    await world.clock.advance_ms(MINUTE + 2_000)
    assert await world.states() == [State.SENDING]
    assert len(world.door.taken) == 2
    (waiting,) = await world.runs.of("s")
    assert (waiting.error, waiting.is_kept) == ("away", True)
    world.door.dies_behind = None
    await world.clock.advance_ms(world.settings.batch.retry_backoff_ms)
    assert await world.states() == [State.SUCCEEDED]
    assert (len(world.door.taken), world.door.calls) == (3, 5)
    assert [row["n"] for part in world.door.taken.values() for row in part] == list(range(1_200))
    assert len(one.bench.begun) == 1
    await one.die()


def to_a_file(folder: Path, more: str = "") -> str:
    """A script whose rows are lines."""
    way = f"@sink(type='file', file.uri='{folder}/out', {more}@map(type='json'))"
    return TEXT.replace("# retries", f"# output: {way}\n# retries")


async def test_rows_to_a_sink_arrive_once_whoever_dies(world: World, tmp_path: Path) -> None:
    """The publisher dies behind the second of three parts, before the sink's cursor has moved: the
    next one goes on with what is kept, and finds out what is there."""
    await world.deploy(to_a_file(tmp_path))
    one = Publisher(world, "one")
    one.bench.gives = [pa.table({"n": list(range(12_000))})]
    put, moved = world.store.cursors.put, []

    async def dies(sink: str, sequence: int) -> None:
        moved.append(sequence)
        if len(moved) > 1:
            raise UnavailableError("the publisher is gone")
        await put(sink, sequence)

    world.store.cursors.put = dies  # type: ignore[method-assign]
    one.start()
    await until(world, lambda: len(moved) > 1)
    await one.die()
    assert await world.states() == [State.SENDING]
    assert len((tmp_path / "out").read_text().splitlines()) == 10_000
    world.store.cursors.put = put  # type: ignore[method-assign]
    two = Publisher(world, "two")
    two.start()
    await until(world, lambda: two.metrics.value("lockstep_batch_runs_total", **SUCCEEDED) == 1)
    lines = (tmp_path / "out").read_text().splitlines()
    assert lines == [f'{{"event":{{"n":{number}}}}}' for number in range(12_000)]
    assert (len(one.bench.begun), len(two.bench.begun)) == (1, 0)
    due = MINUTE << 20
    assert await world.store.cursors.get("batch:s/sink.file") == due + 3
    await two.die()


async def test_a_sink_that_is_away_is_waited_for_and_one_that_cannot_work_ends_the_run(
    world: World, tmp_path: Path
) -> None:
    """The rows are kept in either case; a column that the output names and nobody gives ends the
    attempt before anything is kept."""
    (tmp_path / "file").write_text("")
    away = to_a_file(tmp_path / "file")
    await world.deploy(away)
    one = Publisher(world, "one")
    one.start()
    await until_run(world, lambda run: run.state is State.SENDING and run.error is not None)
    (tmp_path / "file").unlink()
    await world.clock.advance_ms(world.settings.batch.retry_backoff_ms)
    await until_run(world, lambda run: run.state is State.SUCCEEDED)
    assert (tmp_path / "file" / "out").read_text().count("\n") >= 1
    lost = TEXT.replace("# retries: 1", "# output: @sink(type='log', prefix='{{m}}')\n# retries: 0")
    await world.deploy(lost)
    await until_run(world, lambda run: run.state is State.FAILED)
    (failed, *_) = await world.runs.of("s")
    assert "names the column 'm', and the rows have" in str(failed.error)
    assert not failed.is_kept
    await one.die()


class Picky:
    """A destination that takes no odd numbers."""

    waits_for_ever, takes_again, at_once = False, True, 1

    def __init__(self, binding: SinkBinding) -> None:
        self.binding = binding
        self.taken: list[Any] = []
        self.is_closed = False

    async def open(self) -> int:
        return 0

    async def deliver(self, batch: Batch) -> None:
        """All, or none."""
        odd = [RefusedRow(row, "it is odd") for row in batch.rows if row.data[0] % 2]
        if odd:
            raise RowsRefusedError(odd, where=self.binding.key)
        self.taken += [row.data[0] for row in batch.rows]

    async def close(self) -> None:
        self.is_closed = True


@pytest.mark.parametrize("on_error", ["", ", on.error='LOG'"])
async def test_refused_rows_end_the_run_unless_they_may_be_left_out(
    world: World, on_error: str
) -> None:
    """Then they are told, and the others arrive."""
    made: list[Picky] = []

    def maker(binding: SinkBinding, *_: Any) -> Any:
        made.append(Picky(binding))
        return made[-1]

    text = TEXT.replace("# retries: 1", f"# output: @sink(type='log'{on_error})\n# retries: 0")
    await world.deploy(text)
    world.files = Deliverer(maker, get_logger())
    one = Publisher(world, "one")
    one.bench.gives = [pa.table({"n": list(range(5))})]
    one.start()
    wanted = State.SUCCEEDED if on_error else State.FAILED
    await until_run(world, lambda run: run.state is wanted)
    (run, *_) = await world.runs.of("s")
    (sink,) = made
    assert sink.taken == ([0, 2, 4] if on_error else [])
    assert (run.error is None) == bool(on_error)
    assert on_error or "2 rows refused: it is odd" in str(run.error)
    assert (run.is_kept, sink.is_closed) == (True, True)
    await one.die()


async def test_an_attempt_that_fails_is_repeated_and_then_given_up(world: World) -> None:
    """After the pause of the settings; the next time runs all the same."""
    await world.deploy()
    one = Publisher(world, "one")
    one.bench.gives = ["no such view", "still none"]
    one.start()
    await world.clock.advance_ms(MINUTE + 1_500)
    assert await world.states() == [State.DUE]
    await world.clock.advance_ms(world.settings.batch.retry_backoff_ms + 1_500)
    (failed,) = await world.runs.of("s")
    assert (failed.state, failed.error, failed.attempts) == (State.FAILED, "still none", 2)
    assert failed.log == ("a line", "still none")
    await world.clock.advance_ms(MINUTE)
    assert await world.states() == [State.FAILED, State.SUCCEEDED]
    assert one.metrics.value("lockstep_batch_runs_total", script="s", outcome="failed") == 1
    await one.die()


async def test_a_cancelled_run_keeps_nothing_and_a_stopped_publisher_gives_back(
    world: World,
) -> None:
    """Cancelled: it is over. Stopped: another begins anew, without one attempt less."""
    await world.deploy()
    one = Publisher(world, "one")
    one.bench.go.clear()
    one.start()
    await world.clock.advance_ms(MINUTE + 1_500)
    await world.runs.cancel("s")
    await world.clock.advance_ms(2_000)
    assert await world.states() == [State.CANCELLED]
    await world.clock.advance_ms(MINUTE)
    assert await world.states() == [State.CANCELLED, State.RUNNING]
    await one.tasks.stop_all()
    await one.scheduler.stop()
    (run, _) = await world.runs.of("s")
    assert (run.state, run.attempts, run.holder) == (State.DUE, 0, "")
    assert world.kept() == []


def test_a_run_that_was_closed_takes_no_rows_and_one_with_rows_is_not_closed(
    world: World,
) -> None:
    """Whatever a publisher still believes that wakes up late."""
    results = Results(world.place, header_of(TEXT, Language.PYTHON, "s"))
    runs = []
    for due_ms in (10, 20):
        rows = formed(pa.table({"n": [1, 2], "day": ["a", None]}), Run("s", 1, "d", due_ms))
        runs.append((Run("s", 1, "d", due_ms, shape=shape_of(rows)), rows))
    (first, rows), (second, others) = runs
    assert results.keep(rows, first)
    assert not results.keep(rows, first)
    assert not results.close(first)
    assert results.close(second)
    assert not results.keep(others, second)
    assert results.reached() == 20
    assert results.rows(first).to_pylist() == [{"n": 1, "day_2": "a"}, {"n": 2, "day_2": None}]
    assert len(results.rows(second)) == 0


# --- processes -------------------------------------------------------------------------------

REAL = """
import os, sys
import pyarrow as pa

def run(batch):
    print("looking at", batch.due_ms)
    assert not [name for name in os.environ if "TOKEN" in name or "DSN" in name], os.environ
    {body}
"""


async def outcome(world: World, body: str, limit_ms: int = 60_000, **limits: int) -> Outcome:
    """Of a script in a real process."""
    batch = world.settings.batch.model_copy(update=limits)
    settings = world.settings.model_copy(update={"batch": batch})
    text = REAL.replace("{body}", body)
    version = Version("s", 1, "d", Language.PYTHON, text, 0)
    run = Run("s", 1, "d", 60_000, after={}, up_to={})
    return await Workplace(settings, SystemClock()).outcome(run, version, limit_ms)


async def test_a_script_runs_in_a_process_of_its_own(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rows and its last lines come back; it sees no secret of the publisher's."""
    monkeypatch.setenv("LOCKSTEP_SERVER__TOKEN", "secret")
    monkeypatch.setenv("LOCKSTEP_STORE__POSTGRES_DSN", "postgresql://secret")
    found = await outcome(world, "return pa.table({'pid': [os.getpid()], 'n': [batch.since_ms]})")
    assert found.rows is not None, found
    (row,) = found.rows.to_pylist()
    assert (row["n"], row["pid"] != __import__("os").getpid()) == (0, True)
    assert "looking at 60000" in found.log


@pytest.mark.parametrize(
    ("body", "limits", "told"),
    [
        ("while True: pass", {"limit_ms": 3_000}, "more than 3 s"),
        ("kept = [bytearray(10**7) for _ in range(10**5)]", {"memory_bytes": 10**9}, "of memory"),
        ("raise ValueError('unlucky')", {}, "ValueError: unlucky"),
        ("return pa.table({'n': [1, 2, 3]})", {"max_rows": 2}, "more than 2 rows"),
    ],
)
async def test_what_a_script_must_not_do(
    world: World, body: str, limits: dict[str, int], told: str
) -> None:
    """It is ended, or has ended; the error says why."""
    found = await outcome(world, body, **limits)
    assert found.rows is None
    assert told in found.error


@pytest.mark.parametrize(
    ("body", "told"),
    [("return 5", "gives int"), ("return pa.table({})", "without a column")],
)
def test_what_a_script_must_not_give(body: str, told: str) -> None:
    """Rows are a table with columns."""
    text = f"import pyarrow as pa\ndef run(batch):\n    {body}\n"
    batch: Any = None
    with pytest.raises(NoRowsError, match=told):
        rows_of(Task("s", Language.PYTHON, text, 0, 0, {}, {}, "", 9), batch)
