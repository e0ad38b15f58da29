"""Files that others have replaced: they go, and what tells of them goes, too."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from lockstep.archive import tables
from lockstep.archive.place import Place
from lockstep.archive.tables import HOUR_MS, Table

NAMED_FOR = "delta.deletedFileRetentionDuration"
TARGET_BYTES = 1_000_000


def _append(table: Table, first: int, count: int) -> None:
    for number in range(first, first + count):
        table.append(pa.table({"day": ["2026-01-01"], "n": [number]}), "test", number)


def _named_for(table: Table) -> str | None:
    there = table.opened()
    assert there is not None
    return there.metadata().configuration.get(NAMED_FOR)


def test_a_table_names_replaced_files_an_hour_longer_than_they_are_kept(tmp_path: Path) -> None:
    """Tables of earlier releases, too; what says so already is not told again."""
    table = Table(Place(str(tmp_path)), "one")
    _append(table, 1, 1)
    assert _named_for(table) is None
    table.sweep(24 * HOUR_MS)
    assert _named_for(table) == "interval 25 hours"
    before = table.version()
    table.sweep(24 * HOUR_MS)
    assert table.version() == before
    table.sweep(2 * HOUR_MS)
    assert _named_for(table) == "interval 3 hours"


@pytest.mark.parametrize("strays", [False, True])
def test_what_a_sweep_goes_through_does_not_grow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, strays: bool
) -> None:
    """However long the table has been there: it forgets what it named, and loses no row."""
    monkeypatch.setattr(tables, "NAMED_LONGER_HOURS", 0)
    monkeypatch.setitem(tables.CONFIGURATION, "delta.checkpointInterval", "10")
    table = Table(Place(str(tmp_path)), "one")
    gone: list[int] = []
    swept: list[int] = []
    for first in range(1, 25, 4):
        _append(table, first, 4)
        gone.append(table.compact(TARGET_BYTES))
        swept.append(table.sweep(0, strays=strays))
    assert swept[0] == gone[0] == 4
    assert max(swept) < 10 + 5 < sum(gone), "no more than what came since a checkpoint, and one"
    assert table.sizes()[0] == 24
    assert len(list(tmp_path.glob("one/day=*/*.parquet"))) == len(table.files()) == 1
