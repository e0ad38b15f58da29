"""Rows of scheduled scripts to sinks: they arrive once whoever dies, where the sink can see to it;
what it does not take ends the run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lockstep.batch.model import Run, State
from lockstep.events import UnavailableError
from lockstep.telemetry import get_logger
from lockstep_services.publisher.batch.delivering import Deliverer
from lockstep_services.publisher.contract import (
    Batch,
    RefusedRow,
    RowsRefusedError,
    SinkBinding,
)
from tests.unit.services.publisher.scripts import MINUTE, TEXT, Publisher, World

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
    gathering = None

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
