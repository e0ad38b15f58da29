"""What every store promises of figures and failovers, on memory, files and a real PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from lockstep.embedded import EmbeddedServers
from lockstep.store import Failover, FigureRow, Grain, Stale, Store, Written
from lockstep.store.filesystem import FileStore
from lockstep.store.memory import MemoryStore
from lockstep.store.postgres import PostgresStore
from tests.contract.patience import PATIENCE_MS

ADAPTERS = ("memory", "files", pytest.param("postgres", marks=pytest.mark.servers))
DAY_MS = 86_400_000


@dataclass
class Place:
    """Where a store is."""

    folder: Path | None = None
    dsn: str = ""


@pytest.fixture(params=ADAPTERS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Outside of the test's loop, which servers do not share."""
    if request.param == "postgres":
        servers: EmbeddedServers = request.getfixturevalue("servers")
        return Place(dsn=servers.postgres_dsn)
    return Place(tmp_path if request.param == "files" else None)


@pytest.fixture
async def store(place: Place) -> AsyncIterator[Store]:
    """An open store of each kind."""
    opened: Store = MemoryStore()
    if place.folder is not None:
        opened = FileStore(place.folder)
    elif place.dsn:
        opened = await PostgresStore.connect(
            place.dsn, max_connections=3, statement_timeout_ms=PATIENCE_MS
        )
    yield opened
    await opened.close()


@pytest.fixture
def app(request: pytest.FixtureRequest) -> str:
    """An app name of this test's own."""
    return f"{request.node.name}-{id(request):x}"


async def _epoch(store: Store, app: str) -> int:
    """One that is not stale in a store that other tests have written to."""
    outcome = await store.deployments.put_placement(app, [], epoch=0)
    return outcome.current if isinstance(outcome, Stale) else 0


def _took(app: str, epoch: int, at_ms: int, **other: object) -> Failover:
    told = {"from_node": "a", "to_node": "b", "planned": True, "why": "handed over", "gap_ms": 7}
    return Failover(app, "main", 0, 1_000, epoch, at_ms, **{**told, **other})  # type: ignore[arg-type]


@pytest.mark.parametrize("grain", Grain)
async def test_figures_come_back_by_app_and_time(store: Store, app: str, grain: Grain) -> None:
    """Of the apps that were asked for, from a time on and before another; in order."""
    epoch = await _epoch(store, app)
    rows = [FigureRow(app + end, at, f"{end}{at}".encode()) for at in (30, 10, 20) for end in "zab"]
    assert await store.figures.add(grain, rows, epoch=epoch) == Written()
    found = await store.figures.read(grain, [app + "b", app + "a"], 10, 30)
    assert [(one.app, one.at_ms) for one in found] == [
        (app + "a", 10), (app + "a", 20), (app + "b", 10), (app + "b", 20),
    ]  # fmt: skip
    assert found[0].span == b"a10"
    everybody = await store.figures.read(grain, None, 30, 31)
    assert {app + "a", app + "b", app + "z"} <= {one.app for one in everybody}
    other = Grain.FINE if grain is Grain.COARSE else Grain.COARSE
    assert await store.figures.read(other, [app + "a"], 0, 1_000) == []


async def test_figures_of_a_time_are_written_once(store: Store, app: str) -> None:
    """Two coordinators that sampled the same moment leave one sample."""
    epoch = await _epoch(store, app)
    for span in (b"first", b"second"):
        row = FigureRow(app, 10, span)
        assert await store.figures.add(Grain.FINE, [row], epoch=epoch) == Written()
    assert [one.span for one in await store.figures.read(Grain.FINE, [app], 0, 99)] == [b"first"]


async def test_an_older_epoch_writes_no_figures_and_no_failover(store: Store, app: str) -> None:
    """A coordinator that was followed by another writes nothing, and a newer one shuts it out
    by figures alone."""
    epoch = await _epoch(store, app)
    row, took = FigureRow(app, 10, b"x"), _took(app, 1, 10)
    assert await store.figures.add(Grain.FINE, [], epoch=epoch + 5) == Written()
    assert await store.figures.add(Grain.FINE, [row], epoch=epoch) == Stale(epoch + 5)
    assert await store.figures.read(Grain.FINE, [app], 0, 99) == []
    assert await store.failovers.note([took], epoch=epoch + 6) == Written()
    assert await store.failovers.note([_took(app, 2, 20)], epoch=epoch) == Stale(epoch + 6)
    assert await store.failovers.read(0, 99, limit=9, app=app) == [took]
    assert await store.deployments.put_placement(app, [], epoch=epoch) == Stale(epoch + 6)


async def test_old_figures_are_trimmed(store: Store, app: str) -> None:
    """Of one grain, what is older by more than a day at least; the ends tell what is left."""
    epoch = await _epoch(store, app)
    for grain in Grain:
        await store.figures.trim(grain, 1_000 * DAY_MS)
        rows = [FigureRow(app, day * DAY_MS, b"x") for day in (2_000, 2_010, 2_020)]
        await store.figures.add(grain, rows, epoch=epoch)
    await store.figures.trim(Grain.FINE, 2_015 * DAY_MS)
    fine = await store.figures.read(Grain.FINE, [app], 0, 3_000 * DAY_MS)
    assert [one.at_ms for one in fine] == [2_020 * DAY_MS]
    assert await store.figures.ends(Grain.FINE) == (2_020 * DAY_MS, 2_020 * DAY_MS)
    assert await store.figures.ends(Grain.COARSE) == (2_000 * DAY_MS, 2_020 * DAY_MS)
    await store.figures.trim(Grain.COARSE, 3_000 * DAY_MS)
    assert await store.figures.ends(Grain.COARSE) is None


async def test_failovers_come_back_as_they_were_noted(store: Store, app: str) -> None:
    """The newest first, to the last field; the first leader of a unit is nobody's successor."""
    epoch = await _epoch(store, app)
    first = _took(app, 1, 10, from_node="", planned=None, why="", gap_ms=None)
    second, third = _took(app, 2, 20), _took(app, 3, 30, planned=False, gap_ms=None)
    assert await store.failovers.note([first, second], epoch=epoch) == Written()
    again = _took(app, 2, 20, why="told otherwise")
    assert await store.failovers.note([again, third], epoch=epoch) == Written()
    assert await store.failovers.read(0, 99, limit=9, app=app) == [third, second]
    assert await store.failovers.read(0, 99, limit=1, app=app) == [third]
    assert await store.failovers.read(15, 30, limit=9, app=app) == [second]
    assert await store.failovers.read(0, 99, limit=9, app=app + "-other") == []
    assert third in await store.failovers.read(0, 99, limit=99)
    assert [one for one in await store.failovers.last() if one.app == app] == [third]


async def test_the_last_leader_of_a_deployed_app_stays_known(store: Store, app: str) -> None:
    """Trimming takes what is old, but not whom the next one will have followed."""
    epoch = await _epoch(store, app)
    gone = app + "-gone"
    noted = [_took(app, 1, 10), _took(app, 2, 20), _took(gone, 1, 20), _took(app, 3, 90)]
    await store.failovers.note(noted[:3], epoch=epoch)
    assert await store.failovers.trim(50, {app: 0}) >= 2
    assert await store.failovers.read(0, 99, limit=9, app=app) == [noted[1]]
    assert await store.failovers.read(0, 99, limit=9, app=gone) == []
    await store.failovers.note(noted[3:], epoch=epoch)
    assert await store.failovers.trim(50, {app: 0}) == 1
    assert await store.failovers.read(0, 99, limit=9, app=app) == [noted[3]]


async def test_the_last_leaders_of_earlier_layouts_are_not_kept_for_ever(
    store: Store, app: str
) -> None:
    """Each layout of a fleet has units of its own, which nobody leads again."""
    epoch = await _epoch(store, app)
    groups = ("by_k~2", "by_k~12", "a~2~12", "a~12~2", "main")
    noted = {
        group: msgspec.structs.replace(_took(app, number, 10 + number), group=group)
        for number, group in enumerate(groups)
    }
    await store.failovers.note(list(noted.values()), epoch=epoch)
    assert await store.failovers.trim(50, {app: 12}) >= 3
    left = await store.failovers.read(0, 99, limit=9, app=app)
    assert sorted(one.group for one in left) == ["a~2~12", "by_k~12"]


async def test_a_line_that_was_cut_short_costs_no_other(tmp_path: Path) -> None:
    """A crash in the middle of a write leaves what was written before, and what comes after."""
    store = FileStore(tmp_path)
    await store.figures.add(Grain.FINE, [FigureRow("a", 10, b"x")], epoch=1)
    (path,) = (tmp_path / "figures" / "fine").glob("*.jsonl")
    with path.open("ab") as file:
        file.write(b'[["a",20,"')
    await store.figures.add(Grain.FINE, [FigureRow("a", 30, b"y")], epoch=1)
    found = await store.figures.read(Grain.FINE, ["a"], 0, 99)
    assert [(one.at_ms, one.span) for one in found] == [(10, b"x"), (30, b"y")]
