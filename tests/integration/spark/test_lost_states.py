"""States that are lost and too large for the executor to keep what they are rebuilt from."""

from __future__ import annotations

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lockstep.events import EventsRecord, InputEvent, LogEntry
from lockstep.execute.contract import LivesElsewhere, StateLostError, TakesBases
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.execute.spark import SparkExecutor, lines
from lockstep.execute.spark.bulk import run_tasks
from lockstep.execute.spark.company import SparkFailedError
from lockstep.execute.spark.session import SparkOptions
from lockstep.plan import plan_of
from tests.integration.spark.apps import COLUMNAR, KEYED, UNFIT, cut, log, rows_of, unfit_log
from tests.integration.spark.conftest import Make


def kill(executor: SparkExecutor) -> None:
    """The workers that hold its state."""
    for location in executor.locations:
        os.kill(location.pid, signal.SIGKILL)


@pytest.mark.parametrize(("text", "shards"), [(COLUMNAR, 1), (KEYED, 2)], ids=["whole", "shards"])
def test_a_lost_state_is_told_and_begun_again_by_its_owner(
    make: Make, text: str, shards: int
) -> None:
    """From a snapshot of its own and the log: the rows are those of an undisturbed run."""
    entries = log(60)
    expected = rows_of(ReferenceExecutor(plan_of(text)), [entries])
    executor = make(text, base_max_bytes=1, shards=shards)
    rows = rows_of(executor, cut(entries[:20], 5))
    snapshot = executor.snapshot()
    rows += rows_of(executor, cut(entries[20:40], 5))
    kill(executor)
    with pytest.raises(StateLostError) as told:
        executor.run_slice(entries[40:45])
    assert told.value.retryable
    executor.restore(snapshot)
    assert executor.position == entries[19].position
    rows_of(executor, cut(entries[20:40], 7))
    rows += rows_of(executor, cut(entries[40:], 5))
    assert rows == expected
    assert executor.rebuilds == 0


@pytest.mark.parametrize(("text", "shards"), [(COLUMNAR, 1), (KEYED, 2)], ids=["whole", "shards"])
def test_a_state_that_is_touched_stays_as_and_where_it_is(
    make: Make, text: str, shards: int
) -> None:
    """Its workers are asked, and nothing changes; one that is gone is noticed."""
    entries = log(40)
    executor = make(text, base_max_bytes=1, shards=shards)
    assert isinstance(executor, LivesElsewhere)
    rows = rows_of(executor, cut(entries[:20], 5))
    before, places = executor.snapshot(), executor.locations
    assert executor.is_forgotten()  # nothing was asked since
    executor.touch()
    assert (executor.snapshot(), executor.locations) == (before, places)
    rows += rows_of(executor, cut(entries[20:], 5))
    assert rows == rows_of(ReferenceExecutor(plan_of(text)), [entries])
    kill(executor)
    with pytest.raises(StateLostError):
        executor.touch()


def test_a_worker_that_is_asked_for_another_state_keeps_them_all(make: Make) -> None:
    """So the others need not be touched: Spark ends a worker, not a state."""
    executor = make(COLUMNAR, base_max_bytes=1)
    others = [make(COLUMNAR, base_max_bytes=1) for _ in range(8)]
    mate = next(one for one in others if one.locations == executor.locations)
    executor.is_forgotten()
    assert executor.is_forgotten()
    rows_of(mate, [log(5)])
    assert not executor.is_forgotten()
    assert executor.is_forgotten()


def test_other_jobs_leave_the_workers_of_states_alone(make: Make) -> None:
    """They have workers of their own: more workers of a slot would take its tasks in turns."""
    entries = log(40)
    executor = make(COLUMNAR, base_max_bytes=1)
    rows = rows_of(executor, cut(entries[:20], 5))

    def own_pid(_: bytes) -> bytes:
        return str(os.getpid()).encode()

    others = run_tasks(own_pid, [b""] * 8, SparkOptions())
    assert {str(one.pid).encode() for one in executor.locations}.isdisjoint(others)
    rows += rows_of(executor, cut(entries[20:], 5))
    assert rows == rows_of(ReferenceExecutor(plan_of(COLUMNAR)), [entries])


@pytest.mark.parametrize(("text", "shards"), [(COLUMNAR, 1), (KEYED, 2)], ids=["whole", "shards"])
@pytest.mark.parametrize(
    ("base_max_bytes", "position"), [(100_000, 25), (8_000, 40)], ids=["shorter", "whole again"]
)
def test_an_owners_snapshot_is_what_the_state_is_rebuilt_from(
    make: Make, text: str, shards: int, base_max_bytes: int, position: int
) -> None:
    """Taken by another executor at an earlier position, as a standby does."""
    entries = log(60)
    expected = rows_of(ReferenceExecutor(plan_of(text)), [entries])
    standby = ReferenceExecutor(plan_of(text))
    standby.run_slice(entries[:position])
    executor = make(text, base_max_bytes=base_max_bytes, shards=shards)
    assert isinstance(executor, TakesBases)
    rows = rows_of(executor, cut(entries[:40], 5))
    assert executor.base_bytes <= base_max_bytes
    before = executor.base_bytes
    executor.rebase(standby.snapshot())
    assert executor.base_bytes != before
    kill(executor)
    rows += rows_of(executor, cut(entries[40:], 5))
    assert rows == expected
    assert executor.rebuilds >= 1


def test_values_without_columns_are_told_before_the_state_is(make: Make) -> None:
    """So that whoever begins again begins on the reference's operators."""
    entries = unfit_log()
    told: list[str] = []
    executor = make(UNFIT, base_max_bytes=1, on_unfit=lambda: told.append("unfit"))
    rows = rows_of(executor, [entries[:3]])
    with pytest.raises(StateLostError):
        executor.run_slice(entries[3:6])
    assert told == ["unfit"]
    again = make(UNFIT, base_max_bytes=1, columnar=False)
    rows_of(again, [entries[:3]])
    rows += rows_of(again, cut(entries[3:], 3))
    assert rows == rows_of(ReferenceExecutor(plan_of(UNFIT)), [entries])


ENDLESS = """
define stream S (n long);
define function work[python] return long {
    import hashlib
    hashlib.pbkdf2_hmac("sha256", b"a", b"b", data[0])
    return data[0]
};
from S select work(n) as t insert into Out;
"""


def test_a_function_that_does_not_return_ends_with_its_app(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its worker is ended a while after its executor was closed, so that others get their turn."""
    monkeypatch.setattr(lines, "LOOK_S", 0.01)
    monkeypatch.setattr(lines, "UNWANTED_MAX_S", 0.1)
    stuck = make(ENDLESS)
    (place,) = stuck.locations

    def one(position: int, turns: int) -> LogEntry:
        return LogEntry(position, EventsRecord("S", position, ((InputEvent(position, (turns,)),),)))

    assert [row.data for row in stuck.run_slice([one(1, 1)]).rows] == [(1,)]
    with ThreadPoolExecutor(1) as thread:
        before = ticks_of(place.pid)
        folding = thread.submit(stuck.run_slice, [one(2, 2_000_000_000)])
        while ticks_of(place.pid) < before + 20:
            threading.Event().wait(0.01)
        stuck.close()
        with pytest.raises(SparkFailedError, match="nobody waits"):
            folding.result()
    others = [make(COLUMNAR) for _ in range(SparkOptions().slots)]
    assert place not in [location for each in others for location in each.locations]


def ticks_of(process: int) -> int:
    """How much of a processor it has used."""
    told = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return int(told[11]) + int(told[12])
