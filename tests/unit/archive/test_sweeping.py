"""Files that others have replaced: they go, and what tells of them goes, too."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest

from lockstep.archive import tables
from lockstep.archive.place import Place
from lockstep.archive.tables import HOUR_MS, Table

KEPT_FOR = ("delta.deletedFileRetentionDuration", "delta.logRetentionDuration")
SUMMED_UP = "delta.checkpointInterval"
TARGET_BYTES = 1_000_000


def _append(table: Table, first: int, count: int) -> None:
    for number in range(first, first + count):
        table.append(pa.table({"day": ["2026-01-01"], "n": [number]}), "test", number)


def _kept_for(table: Table) -> list[str | None]:
    there = table.opened()
    assert there is not None
    return [there.metadata().configuration.get(name) for name in KEPT_FOR]


def _commits(folder: Path) -> list[Path]:
    return sorted(folder.glob("one/_delta_log/*.json"))


def test_a_table_remembers_an_hour_longer_than_replaced_files_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables of earlier releases, too; what says so already is not told again."""
    monkeypatch.setitem(tables.CONFIGURATION, SUMMED_UP, "100")
    table = Table(Place(str(tmp_path)), "one")
    _append(table, 1, 1)
    assert _kept_for(table) == [None, "interval 7 days"]
    monkeypatch.setitem(tables.CONFIGURATION, SUMMED_UP, "20")
    table.sweep(24 * HOUR_MS)
    assert _kept_for(table) == ["interval 25 hours"] * 2
    there = table.opened()
    assert there is not None
    assert there.metadata().configuration[SUMMED_UP] == "20"
    before = table.version()
    table.sweep(24 * HOUR_MS)
    assert table.version() == before
    table.sweep(2 * HOUR_MS)
    assert _kept_for(table) == ["interval 3 hours"] * 2


def test_commits_over_age_go_and_what_they_brought_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever opens a table goes through the names of all its commits."""
    monkeypatch.setitem(tables.CONFIGURATION, SUMMED_UP, "10")
    table = Table(Place(str(tmp_path)), "one")
    _append(table, 1, 23)
    table.sweep(2 * HOUR_MS)
    for each in _commits(tmp_path)[:15]:
        os.utime(each, times=(each.stat().st_mtime - 4 * 3_600,) * 2)
    _append(table, 24, 10)
    first = int(_commits(tmp_path)[0].stem)
    assert first >= 9, "a checkpoint stands at 10, and commits behind it are not over age"
    assert table.sizes()[0] == 33
    assert table.reached("test") == 33


@pytest.mark.parametrize("strays", [False, True])
def test_what_a_sweep_goes_through_does_not_grow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, strays: bool
) -> None:
    """However long the table has been there: it forgets what it named, and loses no row."""
    monkeypatch.setattr(tables, "KEPT_LONGER_HOURS", 0)
    monkeypatch.setitem(tables.CONFIGURATION, SUMMED_UP, "10")
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
