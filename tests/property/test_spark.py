"""Random apps on random logs on a real Spark: however the log is cut, over however many tasks the
app goes, whichever snapshots it goes through and whatever is sent, exactly what the reference
brings.

The apps of a run are those of fixed seeds. By hand, others: `SPARK_SEEDS=5000:6000 pytest
tests/property/test_spark.py`, a few a second.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

from lockstep.events import EventsRecord, InputEvent, LogEntry, TickRecord, WriteRecord
from lockstep.execute.contract import Executor
from lockstep.execute.observe import Observe
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.execute.spark import SparkExecutor
from lockstep.plan import build, plan_of
from lockstep.siddhiql import check
from tests.property.executors_bundles import arbitrary, brought, with_channels
from tests.property.executors_exotic import EXOTIC
from tests.property.executors_model import PARTS, Apps, cut, entries
from tests.property.test_shards import partitioned

BUNDLED = 4
FIRST, LAST = map(int, os.environ.get("SPARK_SEEDS", "0:40").split(":"))
SHARDS_MAX = 4
ENTRIES = 30
TICKED_MS = 450
TICKS_MAX = 60
_MISFITS: Sequence[Any] = ("12.5", 2.5, True, 2**60, ["a"])


@dataclass
class Brought:
    """All that came of a run, as texts, so that 1 and 1.0 and nan compare as they should."""

    rows: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    observations: list[str] = field(default_factory=list)
    ticked: list[str] = field(default_factory=list)
    due_ms: int | None = field(default=None, compare=False)

    def add(self, executor: Any, slice_: Sequence[LogEntry]) -> None:
        """Folds a slice."""
        result = executor.run_slice(slice_)
        assert result.position == executor.position == slice_[-1].position
        self.rows += map(repr, result.rows)
        self.faults += map(repr, result.faults)
        self.writes += map(repr, result.writes)
        self.observations += map(repr, executor.take_observations())
        self.due_ms = result.next_due_ms

    def tick(self, executor: Any, clock_ms: int) -> None:
        """Lets time pass as a processor does, with a tick whenever one is due: what comes when.

        When a tick is due is the executor's own affair, if only nothing comes late and no tick is
        asked for again and again.
        """
        until_ms = clock_ms + TICKED_MS
        for _ in range(TICKS_MAX):
            if self.due_ms is None or self.due_ms > until_ms:
                return
            clock_ms = max(clock_ms, self.due_ms)
            result = executor.run_slice([LogEntry(executor.position + 1, TickRecord(clock_ms))])
            rows = [(row.stream, row.timestamp_ms, row.data, row.operation) for row in result.rows]
            self.ticked += [f"{clock_ms}: {row}" for row in rows]
            self.due_ms = result.next_due_ms
        raise AssertionError(f"more than {TICKS_MAX} ticks in {TICKED_MS} ms")


def follow(
    make: Callable[[], Executor], slices: Sequence[Sequence[LogEntry]], hops: Random | None
) -> Brought:
    """The log through executors, each restored from the last one's snapshot; then time passes."""
    brought = Brought()
    executor = make()
    for each in slices:
        brought.add(executor, each)
        if hops is not None and hops.random() < 0.15:
            snapshot = executor.snapshot()
            executor.close()
            executor = make()
            executor.restore(snapshot)
    brought.tick(executor, max(entry.record.clock_ms for each in slices for entry in each))
    executor.close()
    return brought


def app_of(random: Random) -> str:
    """A partitioned app, one that runs in columns, or one with queries that do not."""
    kind = random.random()
    if kind < 0.5:
        return partitioned(random)
    return Apps(random, PARTS if kind < 0.75 else (*PARTS, *EXOTIC, *EXOTIC)).app()


def log_of(random: Random, text: str) -> list[LogEntry]:
    """A log, now and then with values that are of no attribute's type, and with writes."""
    plan = build(check(text))
    log = entries(random, ENTRIES, in_event_time=plan.checked.is_playback)
    if random.random() < 0.3:
        at = random.randrange(len(log) // 3, len(log))
        log[at] = LogEntry(log[at].position, _spoilt(random, log[at].record))
    if "T" in plan.checked.tables:
        for at in random.sample(range(1, len(log)), 2):
            before = log[at].record.clock_ms
            asked = WriteRecord(_write(random), f"request {random.randint(0, 2)}", before)
            log[at] = LogEntry(log[at].position, asked)
    return log


def _spoilt(random: Random, record: Any) -> Any:
    if not isinstance(record, EventsRecord):
        return record
    first, *others = record.chunks
    data = list(first[0].data)
    data[random.randrange(len(data))] = random.choice(_MISFITS)
    event = InputEvent(first[0].timestamp_ms, tuple(data), first[0].event_id)
    chunks = ((event, *first[1:]), *others)
    return EventsRecord(record.stream, record.clock_ms, chunks, record.has_timestamps)


def _write(random: Random) -> str:
    return random.choice(
        (
            "select 'a' as s, 5 as i, 1.5 as d update or insert into T on T.s == s;",
            "delete T on T.s == 'b';",
            "update T set T.d = 2.5 on T.s == 'c';",
            "select 'a' as s insert into T;",
        )
    )


@pytest.mark.usefixtures("spark_env")
@pytest.mark.parametrize("seed", range(FIRST, LAST))
def test_spark_brings_what_the_reference_brings(seed: int) -> None:
    """Rows and identities, faults, outcomes of writes; every chunk, where the app is observed (then
    it is not cut into shards); and what comes when, while time passes behind the log."""
    random = Random(seed)
    text = app_of(random)
    log = log_of(random, text)
    observe = Observe.OUTSIDE_PARTITIONS if random.random() < 0.3 else Observe.NOTHING
    expected = follow(lambda: ReferenceExecutor(plan_of(text), observe=observe), [log], None)

    def make() -> Executor:
        if random.random() < 0.15:
            return ReferenceExecutor(plan_of(text), observe=observe)
        shards = 1 if observe else random.randint(1, SHARDS_MAX)
        return SparkExecutor(plan_of(text), observe=observe, shards=shards)

    assert follow(make, cut(random, log), random) == expected, text


@pytest.mark.usefixtures("spark_env")
@pytest.mark.parametrize("seed", range(FIRST, min(LAST, FIRST + BUNDLED)))
def test_spark_tells_the_places_of_what_bundles_bring(seed: int) -> None:
    """Rows, identities and places of channels, over any number of shards, when a state is lost and
    rebuilt from bundles, too."""
    random = Random(seed)
    text = with_channels(app_of(random), random)
    plan = plan_of(text)
    log = arbitrary(entries(random, ENTRIES, in_event_time=plan.checked.is_playback), plan, random)
    start_ms = log[0].header.clock_ms
    reference = ReferenceExecutor(plan, start_ms=start_ms)
    expected = brought(reference.run_encoded(log), plan)
    executor = SparkExecutor(plan, start_ms=start_ms, shards=random.randint(1, SHARDS_MAX))
    found = []
    for each in cut(random, log):
        found += brought(executor.run_encoded(each), plan)
        if random.random() < 0.1:
            os.kill(random.choice(executor.locations).pid, signal.SIGKILL)
    executor.close()
    assert found == expected, text
