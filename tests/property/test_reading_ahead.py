"""Random apps on a real Spark that reads what comes ahead: whether that comes or something else,
whatever happens to the worker in between, exactly what the reference brings.

By hand, other seeds: `SPARK_SEEDS=5000:6000 pytest tests/property/test_reading_ahead.py`.
"""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from lockstep.events import EventsRecord, InputEvent, LogEntry
from lockstep.events.codec import EncodedEntry
from lockstep.execute.contract import SliceResult
from lockstep.execute.encoding import encoded
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.execute.spark import SparkExecutor, blocks
from lockstep.plan import AppPlan, plan_of
from tests.property.executors_model import cut
from tests.property.test_spark import app_of, log_of

FIRST, LAST = map(int, os.environ.get("SPARK_SEEDS", "0:16").split(":"))
SHARDS_MAX = 3


@dataclass
class Found:
    """All that came, as texts."""

    rows: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)

    def add(self, result: SliceResult) -> None:
        """What came of a slice."""
        self.rows += map(repr, result.rows)
        self.faults += map(repr, result.faults)
        self.writes += map(repr, result.writes)


def plain(entry: LogEntry) -> LogEntry:
    """With each event in a chunk of its own, and with times that are not all the same."""
    record = entry.record
    if not isinstance(record, EventsRecord):
        return entry
    events = [InputEvent(each.timestamp_ms, each.data) for some in record.chunks for each in some]
    events.append(InputEvent(events[-1].timestamp_ms + 1, events[0].data))
    chunks = tuple((each,) for each in events)
    return LogEntry(
        entry.position, EventsRecord(record.stream, record.clock_ms, chunks, record.has_timestamps)
    )


def logged(random: Random, text: str, plan: AppPlan) -> list[EncodedEntry]:
    """A log of mostly plain records."""
    entries = [each if random.random() < 0.02 else plain(each) for each in log_of(random, text)]
    return encoded(entries, plan.checked.streams)


@pytest.mark.usefixtures("spark_env")
@pytest.mark.parametrize("seed", range(FIRST, LAST))
def test_what_is_read_ahead_changes_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows and identities, faults, outcomes of writes."""
    monkeypatch.setattr(blocks, "INLINE_MAX_BYTES", 0)
    random = Random(seed)
    text = app_of(random)
    plan = plan_of(text)
    log = logged(random, text, plan)
    expected, found = Found(), Found()
    expected.add(ReferenceExecutor(plan).run_encoded(log))
    executor: Any = SparkExecutor(plan, shards=random.randint(1, SHARDS_MAX))
    for slice_, following in pairwise([*cut(random, log), []]):
        draw = random.random()
        executor.expect(following if draw < 0.8 else following[:-1] if draw < 0.9 else log[-2:])
        found.add(executor.run_encoded(slice_))
        draw = random.random()
        if draw < 0.05:
            os.kill(random.choice(executor.locations).pid, signal.SIGKILL)
        elif draw < 0.1:
            executor.restore(executor.snapshot())
    executor.close()
    assert found == expected, text
