"""A fold of the past keeps its progress: who leads next goes on where the one before was, and rows
are given once."""

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
from lockstep.archive.naming import ORDINAL, OUTPUT, POSITION, Logs
from lockstep.archive.place import Place
from lockstep.archive.reading import InputReader, Span
from lockstep.control import past_key
from lockstep.events import OutputRow
from lockstep.store import Revision
from tests.integration.services.cluster import Cluster, log_of, until
from tests.integration.services.conftest import Start
from tests.integration.services.pasts import (
    ALONE,
    NODES,
    all_records,
    archived,
    deploy_from,
    done,
    feed,
    ran_all_the_time,
    state_of,
    trimmed,
)
from tests.integration.services.test_past import NEW, OLD

GATE_S = 60
OPEN_FOR = 6
"""So many slices go through before the gate is shut."""
OFTEN = {"LOCKSTEP_PROCESSOR__PAST_REVISION_INTERVAL_MS": "1"}


@dataclass
class Gate:
    """Behind some slices of an archive: whoever folds waits there. `begun`: behind which positions
    somebody has begun to read."""

    opened: threading.Event = field(default_factory=threading.Event)
    begun: list[int] = field(default_factory=list)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    """Slices of an archive are small."""
    found, slices = Gate(), InputReader.slices

    def gated(reader: InputReader, span: Span, max_events: int = 9) -> Iterator[list[Restored]]:
        found.begun.append(span.after)
        for number, each in enumerate(slices(reader, span, max_events), 1):
            yield each
            if number >= OPEN_FOR:
                found.opened.wait(GATE_S)

    monkeypatch.setattr(reading.InputReader, "slices", gated)
    yield found
    found.opened.set()


async def progress(cluster: Cluster, app: str) -> list[Revision]:
    """What is kept of its past."""
    name = await log_of(cluster.watcher, app)
    return list(await cluster.watcher.store.revisions.list(*past_key(name)))


async def folds(cluster: Cluster, app: str) -> Any:
    """How far its past is, once some of it is kept."""
    found: Any = None

    async def there() -> Any:
        nonlocal found
        _, found = await cluster.asked("GET", f"/v1/apps/{app}/past")
        return found if found.get("kept_to") else None

    return await until(there, f"progress of {app}", seen=lambda: found)


async def in_tables(cluster: Cluster, app: str, results: str) -> list[tuple[int, int]]:
    """The identities of the rows of Out that were given for the past."""
    since_ms = (await log_of(cluster.watcher, app)).since_ms
    side = SideArchive(Place(results), Logs(app, since_ms), OUTPUT)
    tables = {name.stream: table for name, table in side.tables()}
    rows = [row for batch in tables["Out"].scan() for row in batch.to_pylist()]
    return [(row[POSITION], row[ORDINAL]) for row in rows]


def of_new(rows: list[OutputRow]) -> list[OutputRow]:
    """Rows of Out that the new text gave: one for each event."""
    return [one for one in rows if one.stream == "Out" and len(one.data) == 3]


@pytest.mark.parametrize("output", ["archive", "sinks", "nowhere"])
async def test_the_next_leader_goes_on_where_a_crashed_one_was(
    cluster_of: Start, tmp_path: Path, gate: Gate, output: str
) -> None:
    """It folds less than all, the state is that of all, and each row is given once."""
    async with cluster_of(*NODES, **archived(tmp_path), **OFTEN) as cluster:
        app = await cluster.deploy(OLD.format(name="Long"), replicas=2)
        await feed(cluster, app, 0, 300)
        await trimmed(cluster, app)
        text = NEW.format(name="Long")
        await deploy_from(cluster, text, output=output)
        before = await folds(cluster, app)
        assert before["resumed_from"] == 0
        leader = await cluster.active(app)
        crashing = asyncio.create_task(cluster.crash(leader))
        await until(lambda: asyncio.sleep(0, leader not in cluster.nodes), "a crash")
        gate.opened.set()
        await crashing
        await feed(cluster, app, 300, 30)
        found = await done(cluster, app)
        assert found["phase"] == "done", found
        assert found["resumed_from"] >= before["kept_to"] > 0
        assert 0 < found["events"] - found["resumed_events"] < found["events"]
        # Nothing was read again: the first one began in front of all, the next one where that was.
        assert gate.begun[0] == 0
        assert found["resumed_from"] in gate.begun
        await feed(cluster, app, 330, 30)
        await cluster.settled(app, 1)
        position, snapshot = await state_of(cluster, app)
        entries = await all_records(cluster, app, Place(str(tmp_path / "archive")))
        assert snapshot == ran_all_the_time(text, entries, position)
        expected = 360 if output == "sinks" else 360 - found["events"]
        rows: list[OutputRow] = []

        async def all_rows() -> bool:
            nonlocal rows
            rows = await cluster.published(app)
            return len(of_new(rows)) >= expected

        await until(all_rows, "a row of each event", seen=lambda: len(rows))
        assert len(of_new(rows)) == expected
        ids = [row.id for row in rows]
        assert ids == sorted(set(ids))
        if output == "archive":
            past = await in_tables(cluster, app, found["results"])
            assert len(past) == len(set(past)) == found["events"]
        assert await progress(cluster, app) == []


async def test_progress_of_another_fold_is_not_gone_on_from(
    cluster_of: Start, tmp_path: Path, gate: Gate
) -> None:
    """It goes when a past is called off, and what is left of it never counts."""
    async with cluster_of(*ALONE, **archived(tmp_path), **OFTEN) as cluster:
        app = await cluster.deploy(OLD.format(name="Two"))
        await feed(cluster, app, 0, 120)
        await trimmed(cluster, app)
        text = NEW.format(name="Two")
        await deploy_from(cluster, text.replace("length(50)", "length(60)"))
        await folds(cluster, app)
        kept = await progress(cluster, app)
        assert 1 <= len(kept) <= 2 + 1  # one may be on its way
        revisions = cluster.watcher.store.revisions
        left = [(one, await revisions.load(one.id)) for one in kept if one.verified]
        asking = asyncio.create_task(cluster.asked("DELETE", f"/v1/apps/{app}/past"))

        async def unwanted() -> bool:
            there = await cluster.watcher.store.deployments.get(app)
            return there is not None and there.origin.past is None

        await until(unwanted, f"{app} without a past")
        gate.opened.set()
        status, answer = await asking
        assert status == 200, answer
        assert await progress(cluster, app) == []
        for one, state in left:
            await revisions.save(one, state)
        await deploy_from(cluster, text)
        found = await done(cluster, app)
        assert (found["phase"], found["resumed_from"]) == ("done", 0), found
        position, snapshot = await state_of(cluster, app)
        entries = await all_records(cluster, app, Place(str(tmp_path / "archive")))
        assert snapshot == ran_all_the_time(text, entries, position)

        async def gone() -> bool:
            return not await progress(cluster, app)

        await until(gone, "nothing kept")
