"""Rows of a fold of the past, as tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from lockstep.archive.keeping import SideArchive
from lockstep.archive.naming import OUTPUT, POSITION, Logs
from lockstep.archive.place import Place
from lockstep.events.outputs import OutputColumns
from lockstep.history import results
from lockstep.history.results import ResultTables

LOGS = Logs("A", 0)


def _rows(first: int, last: int, stream: str = "Out") -> OutputColumns:
    positions = np.arange(first, last + 1, dtype=np.int64)
    batch = pa.RecordBatch.from_pydict({"n": pa.array(positions)})
    ordinals = np.zeros(len(positions), np.int64)
    return OutputColumns(stream, positions, ordinals, positions * 1_000, batch)


def _positions(place: Place) -> list[int]:
    found: list[int] = []
    for _, table in SideArchive(place, LOGS, OUTPUT).tables():
        for batch in table.scan():
            found += batch.column(POSITION).to_pylist()
    return sorted(found)


@pytest.mark.parametrize("flush_bytes", [1, 100, 1 << 20])
def test_what_is_folded_again_and_cut_otherwise_is_there_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flush_bytes: int
) -> None:
    """The first fold ends early, and the second begins anew."""
    monkeypatch.setattr(results, "FLUSH_BYTES", flush_bytes)
    place = Place(str(tmp_path))
    for cuts in ([(1, 10), (11, 30)], [(1, 7), (8, 25), (26, 60)]):
        tables = ResultTables(place, LOGS, "one")
        for first, last in cuts:
            tables.take([_rows(first, last)], last)
        tables.flush()
    assert _positions(place) == list(range(1, 61))


def test_writers_do_not_count_for_one_another(tmp_path: Path) -> None:
    """Tasks of a back-test write rows of the same positions to the same table."""
    place = Place(str(tmp_path))
    for writer in ("east", "west"):
        tables = ResultTables(place, LOGS, writer)
        tables.take([_rows(1, 3)], 3)
        tables.flush()
    assert _positions(place) == [1, 1, 2, 2, 3, 3]
