"""The archive at the coordinator's door: what takes long there holds up nothing else."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from lockstep.archive.events_in import rows_of
from lockstep.archive.keeping import SideArchive
from lockstep.archive.listing import Listed, listed
from lockstep.archive.naming import INPUT, Logs
from lockstep.archive.place import Place
from lockstep.archive.tables import Table
from lockstep.events import TickRecord
from lockstep.events.codec import EncodedEntry, encode_record
from lockstep_services.coordinator import archive_routes
from tests.unit.services.suite import CLUSTER, bearer, running

ROOT = bearer(CLUSTER)
TEXT = "@app:name('A') define stream In (n int); from In select n insert into Out;"
LIST = "/v1/apps/A/archive"


async def test_a_list_that_takes_long_holds_up_no_deployment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does it let the same person ask for another."""
    begun, go_on = threading.Event(), threading.Event()

    def slow(place: Place, app: str | None = None) -> Iterator[Listed]:
        begun.set()
        go_on.wait()
        return listed(place, app)

    monkeypatch.setattr(archive_routes, "listed", slow)
    async with running("coordinator", LOCKSTEP_ARCHIVE__FOLDER=str(tmp_path)) as (doors, _):
        body = {"name": "ann", "grants": [{"role": "view"}]}
        _, made = await doors.ask(ROOT, "POST", "/v1/tokens", body)
        viewer = bearer(made["token"])
        asking = asyncio.create_task(doors.ask(viewer, "GET", LIST))
        try:
            assert await asyncio.to_thread(begun.wait, 30)
            status, answer = await doors.ask(ROOT, "PUT", "/v1/apps", {"text": TEXT})
            assert status in (200, 201), answer
            assert (await doors.ask(viewer, "GET", LIST))[0] == 429
        finally:
            go_on.set()
        assert await asking == (200, {"app": "A", "tables": []})


def test_a_list_opens_each_table_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each opening reads the table's log."""
    place = Place(str(tmp_path))
    entry = EncodedEntry(1, encode_record(TickRecord(1_700_000_000_000)))
    SideArchive(place, Logs("A", 7), INPUT).write(rows_of([entry]))
    (tmp_path / "A/7/input/S/i-1").mkdir(parents=True)
    opened: list[str] = []
    plain = Table.opened

    def noted(table: Table, version: int | None = None) -> object:
        opened.append(table.path)
        return plain(table, version)

    monkeypatch.setattr(Table, "opened", noted)
    (found,) = listed(place, "A")
    assert (found.stream, found.rows, found.first, found.last) == ("", 1, 1, 1)
    assert sorted(opened) == ["A/7/input/S/i-1", "A/7/input/records", "A/7/output/records"]
