"""What a scheduled script keeps until it is sent, and what its table can have of what it gives."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lockstep.batch.child import rows_of
from lockstep.batch.fitting import NoRowsError, fitted
from lockstep.batch.header import Language, header_of
from lockstep.batch.model import Run, State
from lockstep.batch.results import Results
from lockstep.batch.task import Task
from lockstep.events import UnavailableError
from tests.unit.services.publisher.scripts import MINUTE, TEXT, TO_STREAM, Publisher, World

DAY = 1_440 * MINUTE
DAILY = TO_STREAM.replace("0 * * * * ?", "0 0 0 * * ?")
FAR_DATE = pa.array([10_000_000], pa.date32())
ONE_DAY = DAILY.replace("# retries", "# keep: 1 day\n# retries")


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Empty."""
    return World(tmp_path / "archive")


async def due(world: World, due_ms: int) -> Run:
    """A run that is planned, at its time."""
    run = Run("s", 1, (await world.book.script("s")).digest, due_ms)
    await world.runs.plan(run)
    await until(world, due_ms + 1_000)
    return run


async def until(world: World, time_ms: int) -> None:
    """Time passes, and nobody does anything."""
    await world.clock.advance_ms(time_ms - world.clock.now_ms())


async def states(world: World) -> list[tuple[State, str | None]]:
    """Of all runs, the oldest first, with their errors."""
    return [(one.state, one.error) for one in reversed(await world.runs.of("s"))]


async def test_rows_that_wait_for_a_receiver_outlast_what_the_script_keeps(world: World) -> None:
    """Of one day, and the receivers are away for two: all rows are taken; then they go."""
    await world.deploy(ONE_DAY)
    one = Publisher(world, "one")
    one.bench.gives = [pa.table({"n": list(range(700))})]
    world.door.dies_behind = 0
    await due(world, DAY)
    await one.attempts.make("s", DAY)
    await until(world, 3 * DAY + 1_000)
    await one.attempts.make("s", DAY)
    assert await states(world) == [(State.SENDING, "away")]
    world.door.dies_behind = None
    await until(world, 3 * DAY + 2_000_000)
    await one.attempts.make("s", DAY)
    assert await states(world) == [(State.SUCCEEDED, None)]
    assert [row["n"] for part in world.door.taken.values() for row in part] == list(range(700))
    assert world.kept(ONE_DAY) == []


async def test_a_run_that_ends_takes_no_rows_of_one_that_is_still_open(world: World) -> None:
    """A later one of the same script is through while an older one waits."""
    await world.deploy(ONE_DAY)
    one = Publisher(world, "one")
    world.door.dies_behind = 0
    await due(world, DAY)
    await one.attempts.make("s", DAY)
    later = await due(world, 4 * DAY)
    world.door.dies_behind = None
    await one.attempts.make("s", later.due_ms)
    assert await states(world) == [(State.SENDING, "away"), (State.SUCCEEDED, None)]
    assert [value for _, value in world.kept(ONE_DAY)] == [DAY, 4 * DAY]
    await one.attempts.make("s", DAY)
    taken = [row["n"] for part in world.door.taken.values() for row in part]
    assert sorted(taken) == [DAY, 4 * DAY]


async def test_a_run_whose_rows_are_gone_has_not_succeeded(world: World) -> None:
    """Somebody has taken them out of its table: nothing is sent, and it says what is lacking."""
    await world.deploy(DAILY)
    one = Publisher(world, "one")
    world.door.dies_behind = 0
    await due(world, DAY)
    await one.attempts.make("s", DAY)
    for table in Results(world.place, header_of(DAILY, Language.PYTHON, "s"))._tables():
        table.expire("1999-01-01")
    world.door.dies_behind = None
    await until(world, 2 * DAY)
    await one.attempts.make("s", DAY)
    ((state, error),) = await states(world)
    assert (state, world.door.taken) == (State.FAILED, {})
    assert "0 of the 1 rows that were kept" in str(error)


async def test_a_table_that_cannot_be_read_is_told(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run waits, as for a receiver, and its history says for what."""
    await world.deploy(DAILY)
    one = Publisher(world, "one")
    rows = Results.rows

    def away(results: Results, run: Run) -> pa.Table:
        raise UnavailableError("the archive is away")

    monkeypatch.setattr(Results, "rows", away)
    await due(world, DAY)
    await one.attempts.make("s", DAY)
    assert await states(world) == [(State.SENDING, "the archive is away")]
    monkeypatch.setattr(Results, "rows", rows)
    await until(world, 2 * DAY)
    await one.attempts.make("s", DAY)
    assert await states(world) == [(State.SUCCEEDED, None)]


@pytest.mark.parametrize("deep", [False, True])
async def test_rows_that_nobody_can_read_again_end_their_run(
    world: World, monkeypatch: pytest.MonkeyPatch, deep: bool
) -> None:
    """Kept by a release that took them: it would be tried for ever, and nobody would be told."""
    monkeypatch.setattr("lockstep.batch.results.fitted", lambda rows: rows)
    await world.deploy(DAILY)
    one = Publisher(world, "one")
    far = pa.array([[2**62]], pa.list_(pa.timestamp("us"))) if deep else FAR_DATE
    one.bench.gives = [pa.table({"n": far})]
    await due(world, DAY)
    await one.attempts.make("s", DAY)
    ((state, error),) = await states(world)
    assert (state, world.door.taken) == (State.FAILED, {})
    assert "cannot be sent" in str(error)


def test_only_the_rows_of_a_part_are_looked_at() -> None:
    """Of a table that a script cuts out of a larger one; nor what lies below a null."""
    far = [[("a", 10_000_000)], None, [("b", 1)], []]
    column = pa.array(far, pa.map_(pa.string(), pa.date32()))
    near = pa.table({"m": column}).slice(1)
    assert fitted(near).column("m").to_pylist() == [None, [("b", dt.date(1970, 1, 2))], []]
    with pytest.raises(NoRowsError, match="column 'm' has a date or time outside"):
        fitted(pa.table({"m": column}))
    dates = pa.array([10_000_000, 1], pa.date32())
    hidden = pa.StructArray.from_arrays([dates], ["d"], mask=pa.array([True, False]))
    assert len(fitted(pa.table({"s": hidden}))) == 2


# --- types -----------------------------------------------------------------------------------

ZONED = dt.datetime(2026, 3, 1, 9, 59, 0, 123_000, tzinfo=dt.UTC)
EDGES = [
    dt.datetime(1, 1, 1, tzinfo=dt.UTC),
    dt.datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=dt.UTC),
]
TIME = ZONED.replace(tzinfo=None)


def times(unit: str, zone: str | None) -> Any:
    """A time and a null."""
    first = TIME if zone is None else ZONED
    return pa.array([first.replace(microsecond=0), None], pa.timestamp(unit, zone))


KEPT: dict[str, tuple[Any, list[Any]]] = {
    **{
        f"timestamp {unit} {zone}": (
            times(unit, zone), [(ZONED if zone else TIME).replace(microsecond=0), None]
        )
        for unit in ("s", "ms", "us", "ns")
        for zone in (None, "UTC", "Europe/Berlin", "+00:00")
    },
    "finer than a microsecond": (
        pa.array([1_772_359_140_123_000_789], pa.timestamp("ns")), [TIME],
    ),
    "uint8": (pa.array([200, None], pa.uint8()), [200, None]),
    "uint16": (pa.array([65_535], pa.uint16()), [65_535]),
    "uint32": (pa.array([2**32 - 1], pa.uint32()), [2**32 - 1]),
    "uint64": (pa.array([2**63 - 1], pa.uint64()), [2**63 - 1]),
    "float16": (pa.array(np.array([1.5], np.float16)), [1.5]),
    "decimal": (pa.array([Decimal("1.10")]), [Decimal("1.10")]),
    "decimal256": (pa.array([Decimal("1.10")], pa.decimal256(60, 2)), [Decimal("1.10")]),
    "nulls": (pa.nulls(2), [None, None]),
    "a list": (pa.array([[200]], pa.list_(pa.uint8())), [[200]]),
    "a struct": (
        pa.array([{"at": TIME, "n": 200}], pa.struct(
            [("at", pa.timestamp("ns")), ("n", pa.uint8())]
        )),
        [{"at": TIME, "n": 200}],
    ),
    "a map": (pa.array([[("x", 1)]], pa.map_(pa.string(), pa.uint64())), [[("x", 1)]]),
    "dates": (
        pa.array([dt.date(1, 1, 1), None, dt.date(9999, 12, 31)]),
        [dt.date(1, 1, 1), None, dt.date(9999, 12, 31)],
    ),
    "the first and the last time": (
        pa.array(EDGES, pa.timestamp("us", "UTC")), EDGES,
    ),
    "dates in lists": (
        pa.array([[dt.date(2026, 1, 2), None], None], pa.list_(pa.date32())),
        [[dt.date(2026, 1, 2), None], None],
    ),
    "categories": (pa.array(["a", "b", "a"]).dictionary_encode(), ["a", "b", "a"]),
}  # fmt: skip
REFUSED: dict[str, Any] = {
    "time": pa.array([dt.time(1, 2)]),
    "duration": pa.array([dt.timedelta(seconds=3)]),
    "an interval": pa.array([pa.MonthDayNano([1, 2, 3])]),
    "uint64": pa.array([2**64 - 1], pa.uint64()),
    "decimal256": pa.array([Decimal("1" * 50)], pa.decimal256(60, 2)),
    "a time far away": pa.array([2**62], pa.timestamp("us")),
    "a time beyond": pa.array([2**60], pa.timestamp("ms")),
    "a date far away": FAR_DATE,
    "a date before all years": pa.array([-719_163], pa.date32()),
    "a date of the year 10000": pa.array([2_932_897 * 86_400_000], pa.date64()),
    "a time far away in a list": pa.array([[2**62]], pa.list_(pa.timestamp("us"))),
    "a date far away in a list of a large one": pa.array(
        [[[10_000_000]]], pa.large_list(pa.list_(pa.date32()))
    ),
    "a time far away in a struct": pa.array(
        [{"at": [-(2**62)]}], pa.struct([("at", pa.list_(pa.timestamp("us", "UTC"), 1))])
    ),
    "a date far away in a map": pa.array([[("x", 10_000_000)]], pa.map_(pa.string(), pa.date32())),
    "a date far away as a key": pa.array([[(10_000_000, 1)]], pa.map_(pa.date32(), pa.int8())),
    "a category of a time far away": pa.array([2**62], pa.timestamp("us")).dictionary_encode(),
    "a list": pa.array([[dt.time(1, 2)]]),
    "a map": pa.array([[("x", 2**64 - 1)]], pa.map_(pa.string(), pa.uint64())),
    "a struct of nothing": pa.array([{}], pa.struct([])),
    "an identity": pa.array([b"0123456789abcdef"], pa.uuid()),
}


@pytest.mark.parametrize("name", KEPT)
async def test_what_a_script_gives_is_kept_and_read_back(world: World, name: str) -> None:
    """As a stream would get it, too: the run is sent, in one attempt."""
    column, expected = KEPT[name]
    await world.deploy(DAILY)
    one = Publisher(world, "one")
    one.bench.gives = [pa.table({"v": column})]
    await due(world, DAY)
    await one.attempts.make("s", DAY)
    (run,) = await world.runs.of("s")
    assert (run.state, run.attempts, run.error) == (State.SUCCEEDED, 1, None)
    results = Results(world.place, header_of(DAILY, Language.PYTHON, "s"))
    assert results.rows(run).column("v").to_pylist() == expected
    assert sum(map(len, world.door.taken.values())) == len(expected)


@pytest.mark.parametrize("name", REFUSED)
async def test_what_no_table_has_is_refused_at_once(world: World, name: str) -> None:
    """Before anything is kept: one attempt, in spite of the retries, and the column is named."""
    await world.deploy(TEXT)
    one = Publisher(world, "one")
    one.bench.gives = [pa.table({"fine": pa.nulls(1, pa.int64()), "odd one": REFUSED[name]})]
    await due(world, MINUTE)
    await one.attempts.make("s", MINUTE)
    (run,) = await world.runs.of("s")
    assert (run.state, run.attempts, run.is_kept) == (State.FAILED, 1, False)
    assert "column 'odd one'" in str(run.error)
    assert "hint: " in str(run.error)
    assert world.kept() == []
    other = replace(run, due_ms=2 * MINUTE, state=State.DUE, attempts=0, error=None, ended_ms=None)
    await world.runs.plan(other)
    await until(world, 2 * MINUTE + 1)
    await one.attempts.make("s", 2 * MINUTE)
    assert world.kept() == [(2, 2 * MINUTE)]


def test_a_script_is_told_in_its_own_process() -> None:
    """Parquet has fewer types than Arrow, and would end it with a traceback."""
    text = (
        "import pyarrow as pa\ndef run(batch):\n"
        "    return pa.table({'n': [1], 'gap': pa.array([pa.MonthDayNano([1, 2, 3])])})\n"
    )
    batch: Any = None
    with pytest.raises(NoRowsError, match="column 'gap' is of the type month_day_nano_interval"):
        rows_of(Task("s", Language.PYTHON, text, 0, 0, {}, {}, "", 9, 10**6), batch)
