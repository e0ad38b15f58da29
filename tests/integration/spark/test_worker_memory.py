"""Events that a worker dies of, because they take more memory than it may have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

from lockstep.events import EventsRecord, InputEvent, LogEntry, TickRecord
from lockstep.execute.encoding import encoded
from lockstep.execute.spark import SparkExecutor
from lockstep.execute.undoing import UNFOLDABLE, without
from lockstep.plan import plan_of
from tests.integration.spark.conftest import Make
from tests.integration.spark.test_lost_states import kill

HOLDS: Final = """
define stream S (k int, size long);
define function hold[python] return long { return len(bytes(data[0])) };
from S select k, hold(size) as h insert into O;
from S select k, count() as n insert into P;
"""
MEMORY_MAX_BYTES: Final = 2 << 30
HEAVY: Final = 4


@pytest.fixture
def make_small(make: Make) -> Iterator[Make]:
    """Executors whose workers may take little; they end with the test, as their limit is for
    good."""
    made: list[SparkExecutor] = []

    def make_executor(text: str, **options: object) -> SparkExecutor:
        made.append(make(text, memory_max_bytes=MEMORY_MAX_BYTES, **options))
        return made[-1]

    yield make_executor
    for executor in made:
        kill(executor)


def log() -> list[LogEntry]:
    """Seven events; the function takes four gigabytes for one of them."""
    sizes = [4 << 30 if n == HEAVY else n for n in range(1, 8)]
    return [
        LogEntry(n, EventsRecord("S", 1_000 + n, ((InputEvent(1_000 + n, (n, size)),),)))
        for n, size in enumerate(sizes, 1)
    ]


def test_an_executor_without_an_owner_sets_it_aside(make_small: Make) -> None:
    """All others go through, and it is among the faults."""
    executor = make_small(HOLDS)
    result = executor.run_slice(log())
    assert (result.position, result.unfoldable) == (7, None)
    assert [row.data[0] for row in result.rows if row.stream == "O"] == [1, 2, 3, 5, 6, 7]
    assert [row.data[1] for row in result.rows if row.stream == "P"] == [1, 2, 3, 4, 5, 6]
    assert [(one.position, one.reason) for one in result.faults] == [(HEAVY, UNFOLDABLE)]


def test_an_owner_is_told_and_decides(make_small: Make) -> None:
    """Nothing is folded behind the position in front of it; without its events all is."""
    entries = encoded(log(), plan_of(HOLDS).schemas)
    executor = make_small(HOLDS, base_max_bytes=1 << 20)
    result = executor.run_encoded(entries)
    assert (result.position, result.unfoldable, result.faults) == (HEAVY - 1, HEAVY, ())
    assert len(result.rows) == 2 * (HEAVY - 1)
    again = executor.run_encoded(entries[HEAVY - 1 :])
    assert (again.position, again.unfoldable, len(again.rows)) == (HEAVY - 1, HEAVY, 0)
    rest, faults = without(entries[HEAVY - 1 :], (HEAVY,))
    assert [fault.events[0].data for fault in faults] == [(HEAVY, 4 << 30)]
    done = executor.run_encoded(rest)
    assert (done.position, done.unfoldable) == (7, None)
    assert [row.data for row in done.rows if row.stream == "P"] == [(5, 4), (6, 5), (7, 6)]


def test_time_that_a_worker_dies_of_cannot_be_set_aside(make_small: Make) -> None:
    """What a timer brings has no event to leave out: the app stops, and says why."""
    text = (
        "define stream S (k int, size long);"
        "define function hold[python] return long { return len(bytes(data[0])) };"
        "from S#window.timeBatch(1 sec) select k, size insert into B;"
        "from B select k, hold(size) as h insert into O;"
    )
    executor = make_small(text, base_max_bytes=1 << 20)
    event = InputEvent(1_000, (1, 4 << 30))
    executor.run_slice([LogEntry(1, EventsRecord("S", 1_000, ((event,),)))])
    result = executor.run_slice([LogEntry(2, TickRecord(9_000))])
    assert (result.position, result.unfoldable) == (1, None)
    assert result.stopped is not None
    assert UNFOLDABLE in result.stopped
