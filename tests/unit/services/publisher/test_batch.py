"""Scheduled scripts: run by who holds the lease, kept once whoever dies, ended when they must be.

Scripts run in processes of their own, as everywhere; these need no Spark, which has a test of its
own (tests/integration/spark/test_batch.py).
"""

from __future__ import annotations

import asyncio
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lockstep.batch.book import ScriptBook
from lockstep.batch.child import rows_of
from lockstep.batch.fitting import NoRowsError
from lockstep.batch.header import Language, header_of
from lockstep.batch.model import Run, State, Version
from lockstep.batch.results import Results, formed, shape_of
from lockstep.batch.run_book import RunBook
from lockstep.batch.running import Outcome, Workplace
from lockstep.batch.task import Task
from lockstep.clock import SystemClock, VirtualClock
from lockstep.events import UnavailableError
from lockstep.telemetry import MetricName
from tests.unit.services.publisher.scripts import MINUTE, TEXT, TO_STREAM, Publisher, World


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


async def test_a_run_by_hand_waits_for_its_time(world: World) -> None:
    """The coordinator's clock is ahead: what is due before has its turn first."""
    await world.deploy()
    one = Publisher(world, "one")
    one.start()
    await world.clock.advance_ms(MINUTE - 3_000)
    ahead = VirtualClock(MINUTE + 1_000)
    batch = world.settings.batch
    book = ScriptBook(world.store.batch, ahead, batch)
    by_hand = await RunBook(book, world.store.batch, ahead, batch).add("s")
    await world.clock.advance_ms(2_000)
    assert (by_hand.due_ms, await world.states()) == (MINUTE + 1_000, [State.DUE])
    await world.clock.advance_ms(4_000)
    assert [run.due_ms for run in one.bench.begun] == [MINUTE, MINUTE + 1_000]
    assert [value for _, value in world.kept()] == [MINUTE, MINUTE + 1_000]
    assert await world.states() == [State.SUCCEEDED] * 2
    await one.die()


async def test_a_run_behind_which_another_is_settled_does_not_claim_rows(world: World) -> None:
    """Its table takes none of it any more: it has failed, and says why."""
    await world.deploy()
    one = Publisher(world, "one")
    later = Run("s", 1, "d", 2 * MINUTE)
    rows = formed(pa.table({"n": [7]}), later)
    results = Results(world.place, header_of(TEXT, Language.PYTHON, "s"))
    assert results.keep(rows, replace(later, shape=shape_of(rows)))
    await world.runs.plan(Run("s", 1, "d", MINUTE))
    await one.attempts.make("s", MINUTE)
    (run,) = await world.runs.of("s")
    assert (run.state, run.is_kept, run.rows) == (State.FAILED, False, None)
    assert "later due time" in str(run.error)
    assert world.kept() == [(2, 7)]
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


def _series(publisher: Publisher) -> list[str]:
    """Those that bear a script's name."""
    lines = publisher.metrics.render().decode().splitlines()
    return [line for line in lines if 'script="s"' in line]


async def test_series_of_a_removed_script_go(world: World) -> None:
    """They would stay for as long as the process lives; one of the same name begins anew."""
    await world.deploy()
    one = Publisher(world, "one")
    one.start()
    await world.clock.advance_ms(2 * MINUTE + 5_000)
    assert _series(one)
    await world.book.remove("s")
    await world.clock.advance_ms(10_000)
    assert _series(one) == []
    await world.deploy()
    await world.clock.advance_ms(MINUTE)
    runs: MetricName = "lockstep_batch_runs_total"
    assert one.metrics.value(runs, script="s", outcome="succeeded") == 1
    await world.clock.advance_ms(2 * MINUTE)
    assert one.metrics.value(runs, script="s", outcome="succeeded") == 3
    await one.die()


async def test_series_of_a_removed_script_go_where_the_lease_is_held_no_more(world: World) -> None:
    """Who ran it before has counted, too; series of a script that is there stay."""
    await world.deploy()
    one, two = Publisher(world, "one"), Publisher(world, "two")
    one.start()
    await world.clock.advance_ms(MINUTE + 5_000)
    await one.keeper.release()
    two.start()
    await world.clock.advance_ms(MINUTE)
    assert (one.keeper.held, two.keeper.held) == (False, True)
    assert _series(one)
    assert _series(two)
    await world.book.remove("s")
    await world.clock.advance_ms(10_000)
    assert _series(one) == _series(two) == []
    await world.clock.advance_ms(2 * MINUTE)
    assert _series(one) == _series(two) == []
    await one.die()
    await two.die()


async def test_a_run_whose_script_is_removed_is_ended(world: World) -> None:
    """Its process is, and other scripts get its place."""
    await world.deploy()
    one = Publisher(world, "one")
    one.bench.go.clear()
    one.start()
    await world.clock.advance_ms(MINUTE + 1_500)
    assert "batch-run-s" in one.tasks.names
    await world.book.remove("s")
    await world.book.deploy(header_of(TEXT, Language.PYTHON, "t"), TEXT)
    await world.clock.advance_ms(1_500)
    assert "batch-run-s" not in one.tasks.names
    one.bench.go.set()
    await world.clock.advance_ms(MINUTE)
    assert [run.state for run in await world.runs.of("t")] == [State.SUCCEEDED]
    assert (await world.runs.of("s"), world.kept()) == ([], [])
    await one.die()


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


@pytest.mark.processes
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


@pytest.mark.processes
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


@pytest.mark.processes
async def test_a_process_that_a_script_leaves_behind_holds_up_nobody(world: World) -> None:
    """It has left the session, and what is printed goes to it still: the run has ended."""
    body = (
        "import subprocess; print('last words');"
        " left = subprocess.Popen(['sleep', '600'], start_new_session=True);"
        " return pa.table({'pid': [left.pid]})"
    )
    found = await outcome(world, body, limit_ms=120_000)
    assert found.rows is not None, found
    os.kill(found.rows.column("pid").to_pylist()[0], signal.SIGKILL)
    assert "last words" in found.log


@pytest.mark.processes
async def test_rows_have_a_limit_of_bytes_in_memory(world: World) -> None:
    """The process says so. Whoever takes its file looks, too, as that may be much smaller."""
    table = "pa.table({'x': pa.array(['x' * 10_000] * 1_000)})"
    found = await outcome(world, f"return {table}", max_bytes=10**6)
    assert (found.rows, "more than 1000000 bytes" in found.error) == (None, True)
    past_the_check = (
        f"import pyarrow.parquet as pq; pq.write_table({table}, 'rows.parquet');"
        " sys.stdout.flush(); os._exit(0)"
    )
    found = await outcome(world, past_the_check, max_bytes=10**6)
    assert (found.rows, "batch.max_bytes" in found.error) == (None, True)
    found = await outcome(world, past_the_check)
    assert found.rows is not None
    assert len(found.rows) == 1_000


@pytest.mark.parametrize(
    ("body", "told"),
    [("return 5", "gives int"), ("return pa.table({})", "without a column")],
)
def test_what_a_script_must_not_give(body: str, told: str) -> None:
    """Rows are a table with columns."""
    text = f"import pyarrow as pa\ndef run(batch):\n    {body}\n"
    batch: Any = None
    with pytest.raises(NoRowsError, match=told):
        rows_of(Task("s", Language.PYTHON, text, 0, 0, {}, {}, "", 9, 10**6), batch)
