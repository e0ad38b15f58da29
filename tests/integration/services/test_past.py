"""Apps that begin with what was archived: the state of one that ran all the time, nothing lost and
nothing twice where the archive ends and the log goes on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from lockstep.archive import reading
from lockstep.archive.events_in import Restored
from lockstep.archive.keeping import SideArchive
from lockstep.archive.naming import OUTPUT, ROW_COLUMNS, Logs
from lockstep.archive.place import Place
from lockstep.archive.reading import InputReader, Span
from lockstep.events import Generation
from lockstep.store import Revision
from lockstep_services.processor.revise.past import PastAbandonedError, PastFold
from lockstep_services.processor.revise.revisions import RevisionLoop
from tests.integration.services.cluster import Cluster, log_of, revisions_of, until
from tests.integration.services.conftest import Start
from tests.integration.services.pasts import (
    ALONE,
    NODES,
    all_records,
    archived,
    deploy_from,
    done,
    feed,
    in_archive,
    ran_all_the_time,
    state_of,
    trimmed,
)

GATE_S = 60
OLD = (
    "@app:name('{name}') define stream In (k string, v long);"
    " define stream Other (a int);"
    " from In select v as total insert into Out;"
)
CUT = (
    "@app:name('{name}') @app:parallel('4') define stream In (k string, v long);"
    " partition with (k of In) begin from In select k, sum(v) as total insert into Out; end;"
)
NEW = (
    "@app:name('{name}') define stream In (k string, v long);"
    " define table Last (k string, v long);"
    " @info(name='sum') from In#window.length(50)"
    " select k, sum(v) as total, count() as n group by k insert into Out;"
    " from In select k, v update or insert into Last on Last.k == k;"
    " from every a=In[v % 7 == 3] -> b=In[v == a.v + 5] select a.v as one, b.v as two"
    " insert into Pairs;"
)


@dataclass
class Gate:
    """Between the first slice of an archive and the next one: whoever folds waits there. `folds`:
    those that have begun."""

    reached: threading.Event = field(default_factory=threading.Event)
    opened: threading.Event = field(default_factory=threading.Event)
    folds: list[PastFold] = field(default_factory=list)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    """Slices of an archive are small, and behind the first one stands the gate."""
    found, slices = Gate(), InputReader.slices

    def gated(reader: InputReader, span: Span, max_events: int = 9) -> Iterator[list[Restored]]:
        for each in slices(reader, span, max_events):
            yield each
            found.reached.set()
            found.opened.wait(GATE_S)

    begin = PastFold.begin

    async def begun(fold: PastFold) -> None:
        found.folds.append(fold)
        await begin(fold)

    monkeypatch.setattr(reading.InputReader, "slices", gated)
    monkeypatch.setattr(PastFold, "begin", begun)
    yield found
    found.opened.set()


def values_of(row: dict[str, Any]) -> tuple[Any, ...]:
    """Of a row of a table, without the columns of the archive."""
    return tuple(value for name, value in row.items() if name not in ROW_COLUMNS)


async def test_a_changed_text_begins_with_the_past_under_load_while_its_leader_crashes(
    cluster_of: Start, tmp_path: Path
) -> None:
    """No event is lost or counted twice where archive and log meet, whoever leads."""
    async with cluster_of(*NODES, **archived(tmp_path)) as cluster:
        app = await cluster.deploy(OLD.format(name="Seam"), replicas=2)
        await feed(cluster, app, 0, 300)
        await cluster.send(app, "Other", {"a": 1})
        assert await trimmed(cluster, app) > 50
        sent, enough = 300, asyncio.Event()

        async def load() -> None:
            nonlocal sent
            while not enough.is_set():
                await feed(cluster, app, sent, 9)
                sent += 9

        text = NEW.format(name="Seam")
        async with asyncio.TaskGroup() as together:
            together.create_task(load())
            answer = await deploy_from(cluster, text)
            await cluster.crash(await cluster.active(app))
            found = await done(cluster, app)
            enough.set()
        assert found["phase"] == "done", found
        assert answer["past"]["ignored"] == ["Other"]
        await feed(cluster, app, sent, 30)
        await cluster.settled(app, 1)
        position, snapshot = await state_of(cluster, app)
        place = Place(str(tmp_path / "archive"))
        entries = await all_records(cluster, app, place)
        assert snapshot == ran_all_the_time(text, entries, position)
        rows = await cluster.published(app)
        ids = [row.id for row in rows]
        assert ids == sorted(set(ids))
        assert len([row for row in rows if row.stream == "Out"]) == sent + 30


async def test_rows_of_the_past_stand_where_they_were_wanted(
    cluster_of: Start, tmp_path: Path
) -> None:
    """In tables, once; or with the sinks, in their order, and the app goes on behind them."""
    async with cluster_of(*ALONE, **archived(tmp_path)) as cluster:
        app = await cluster.deploy(OLD.format(name="Whose"))
        await feed(cluster, app, 0, 60)
        await in_archive(cluster, app)
        one = NEW.format(name="Kept")
        answer = await deploy_from(cluster, one, app=app)
        assert answer["created"]
        assert (await done(cluster, "Kept"))["rows"] > 60
        results = Place((await done(cluster, "Kept"))["results"])
        side = SideArchive(
            results, Logs(app, (await log_of(cluster.watcher, app)).since_ms), OUTPUT
        )
        tables = {name.stream: table for name, table in side.tables()}
        totals = [row for batch in tables["Out"].scan() for row in batch.to_pylist()]
        assert len(totals) == 60
        assert await cluster.published("Kept") == []
        await deploy_from(cluster, NEW.format(name="Told"), app=app, output="sinks")
        await done(cluster, "Told")
        rows = [r for r in await cluster.published_count("Told", len(totals)) if r.stream == "Out"]
        totals.sort(key=lambda row: (row["_position"], row["_ordinal"]))
        assert [r.data for r in rows] == [values_of(row) for row in totals]
        for name in ("Kept", "Told"):
            await cluster.send(name, "In", {"k": "k0", "v": 1_000})
        expected = sum(v for v in range(11, 60) if v % 5 == 0) + 1_000
        for name in ("Kept", "Told"):

            async def there(name: str = name) -> bool:
                data = [r.data for r in await cluster.published(name) if r.stream == "Out"]
                return bool(data) and data[-1][1] == expected

            await until(there, f"the next row of {name}")


async def test_what_cannot_be_is_refused_and_leaves_nothing(
    cluster_of: Start, tmp_path: Path
) -> None:
    """Other attributes, nothing archived, several units; called off, the app goes on as it was."""
    async with cluster_of(*ALONE, **archived(tmp_path)) as cluster:
        app = await cluster.deploy(OLD.format(name="No"))
        await feed(cluster, app, 0, 30)
        await in_archive(cluster, app)
        before = await cluster.status(app)
        refused = [
            (
                {"text": OLD.format(name="No").replace("v long", "v double")},
                400,
                "other attributes",
            ),
            ({"text": OLD.format(name="Else")}, 400, "nothing of an app 'Else'"),
            ({"text": CUT.format(name="No")}, 409, "several units"),
        ]
        for body, status, why in refused:
            found, answer = await cluster.call(
                "PUT", "coordinator", "/v1/apps", json=body | {"past": {"from_ms": 0}}
            )
            assert (found, why in answer.get("detail", "")) == (status, True), answer
            assert "hint" in answer
        assert (await cluster.status(app))["generation"] == before["generation"]


def is_called_off(fold: PastFold) -> bool:
    """Its processor has heard that something else is wanted."""
    try:
        fold._check()
    except PastAbandonedError:
        return True
    return False


async def called_off(cluster: Cluster, app: str, gate: Gate) -> Any:
    """The answer to calling a past off in its middle: it waits at the gate until nobody wants it
    any more."""
    assert await asyncio.to_thread(gate.reached.wait, GATE_S)
    _, before = await cluster.asked("GET", f"/v1/apps/{app}/past")
    assert before["phase"] in ("waiting", "folding")
    asking = asyncio.create_task(cluster.asked("DELETE", f"/v1/apps/{app}/past"))

    async def unwanted() -> bool:
        there = await cluster.watcher.store.deployments.get(app)
        if there is None:
            return True
        return there.origin.past is None and all(is_called_off(fold) for fold in gate.folds)

    await until(unwanted, f"{app} without a past")
    gate.opened.set()
    status, answer = await asking
    assert status == 200, answer
    return answer


async def test_what_ran_goes_on_when_a_past_is_called_off_in_its_middle(
    cluster_of: Start, tmp_path: Path, gate: Gate
) -> None:
    """Events that come meanwhile are counted once by the old text, and its rows come once."""
    async with cluster_of(*ALONE, **archived(tmp_path)) as cluster:
        old = NEW.format(name="Stays")
        app = await cluster.deploy(old)
        await feed(cluster, app, 0, 120)
        await trimmed(cluster, app)
        answer = await deploy_from(cluster, old.replace("length(50)", "length(60)"))
        assert answer["changed"]
        await feed(cluster, app, 120, 30)
        assert (await called_off(cluster, app, gate))["goes_on"]
        await feed(cluster, app, 150, 30)
        rows = await cluster.published_count(app, 180)

        async def all_rows() -> bool:
            nonlocal rows
            rows = await cluster.published(app)
            return len([row for row in rows if row.stream == "Out"]) == 180

        await until(all_rows, "a row of each event", seen=lambda: len(rows))
        ids = [row.id for row in rows]
        assert ids == sorted(set(ids))
        position, snapshot = await state_of(cluster, app)
        place = Place(str(tmp_path / "archive"))
        entries = await all_records(cluster, app, place)
        assert snapshot == ran_all_the_time(old, entries, position)
        _, past = await cluster.asked("GET", f"/v1/apps/{app}/past")
        assert (past["phase"], past["why"]) == ("failed", "it was called off")
        assert not list((tmp_path / "archive" / "_past").glob("*"))


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    """Between the storing of a state that an app begins with and the claim for it."""
    found, save = Gate(), RevisionLoop.save

    async def held(loop: RevisionLoop, engine: Any, state: Generation) -> Revision | None:
        saved = await save(loop, engine, state)
        if loop._running.past is not None:
            found.reached.set()
            await asyncio.to_thread(found.opened.wait, GATE_S)
        return saved

    monkeypatch.setattr(RevisionLoop, "save", held)
    yield found
    found.opened.set()


async def test_what_ran_goes_on_when_a_past_is_called_off_at_its_end(
    cluster_of: Start, tmp_path: Path, stored: Gate
) -> None:
    """Its state is stored, and the log is not claimed yet: the old text keeps its own state, and
    revisions of it make room for others."""
    async with cluster_of(*ALONE, **archived(tmp_path)) as cluster:
        old = NEW.format(name="Late")
        app = await cluster.deploy(old)
        await feed(cluster, app, 0, 120)
        await trimmed(cluster, app)
        await deploy_from(cluster, old.replace("length(50)", "length(60)"))
        assert await asyncio.to_thread(stored.reached.wait, GATE_S)
        asking = asyncio.create_task(cluster.asked("DELETE", f"/v1/apps/{app}/past"))

        async def unwanted() -> bool:
            there = await cluster.watcher.store.deployments.get(app)
            return there is not None and there.origin.past is None

        await until(unwanted, f"{app} without a past")
        stored.opened.set()
        assert (await asking)[1]["goes_on"]
        await feed(cluster, app, 120, 30)
        await cluster.published_count(app, 150)
        position, snapshot = await state_of(cluster, app)
        entries = await all_records(cluster, app, Place(str(tmp_path / "archive")))
        assert snapshot == ran_all_the_time(old, entries, position)
        lives = {one.life.number for one in await revisions_of(cluster.watcher, app)}
        assert lives == {1}


async def test_nothing_is_left_of_a_new_app_whose_past_is_called_off(
    cluster_of: Start, tmp_path: Path, gate: Gate
) -> None:
    """No logs, no revisions, no tables of the past; the app whose archive it was goes on."""
    async with cluster_of(*ALONE, **archived(tmp_path)) as cluster:
        whose = await cluster.deploy(OLD.format(name="Source"))
        await feed(cluster, whose, 0, 60)
        await trimmed(cluster, whose)
        await deploy_from(cluster, NEW.format(name="Never"), app=whose)
        await cluster.send("Never", "In", {"k": "k0", "v": 1})
        assert await cluster.watcher.bus.logs("Never")
        assert not (await called_off(cluster, "Never", gate))["goes_on"]
        assert await cluster.watcher.store.deployments.get("Never") is None
        assert await cluster.watcher.bus.logs("Never") == []
        assert await cluster.watcher.store.revisions.logs("Never") == []
        assert await cluster.watcher.store.cursors.names("Never") == []
        assert not list((tmp_path / "archive" / "_past").glob("*"))
        await feed(cluster, whose, 60, 3)
        await cluster.published_count(whose, 63)
