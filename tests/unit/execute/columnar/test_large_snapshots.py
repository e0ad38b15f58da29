"""Snapshots whose windows are written in several stretches restore to what they were taken from."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep.events import EventsRecord, InputEvent, LogEntry
from lockstep.execute.columnar import ColumnarExecutor
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.operators.state import Pieces
from lockstep.plan import build
from lockstep.siddhiql import check

TEXT = """
@app:name('Large') @app:playback
define stream S (k string, v double, n long);
from S#window.time(1 sec) select k, sum(n) as total, max(v) as most, min(n) as least
group by k insert into Sliding;
from S#window.length(40) select k, v, count() as c insert into Lengths;
from S#window.timeBatch(300) select k, avg(v) as mean group by k insert into Batches;
partition with (k of S) begin
from S#window.time(2 sec) select k, sum(n) as total, max(n) as most insert into Keyed;
end;
"""


def entries(first: int, count: int) -> list[LogEntry]:
    """Events of a few keys, with nulls, ten milliseconds apart."""
    made = []
    for i in range(first, first + count):
        values = (f"k{i * 7 % 5}", None if i % 11 == 0 else i * 37 % 101 / 4, i * 31 % 97)
        event = InputEvent(10 * i, values)
        made.append(LogEntry(i, EventsRecord("S", 10 * i, ((event,),), has_timestamps=True)))
    return made


def rows(result: Any) -> list[Any]:
    """With identities."""
    return [(row.id, row.stream, row.timestamp_ms, row.data) for row in result.rows]


@pytest.mark.parametrize("stretch", [1, 7, 64])
def test_going_on_from_a_snapshot_in_stretches(
    stretch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In columns or by the reference, whatever a stretch holds; and it restores to itself."""
    monkeypatch.setattr("lockstep.operators.packed.DRAWN_ROWS", stretch)
    monkeypatch.setattr("lockstep.operators.packed.LARGE_ROWS", 2)
    plan = build(check(TEXT))
    folded = ColumnarExecutor(plan)
    folded.run_slice(entries(1, 250))
    snapshot = folded.snapshot()
    expected = rows(folded.run_slice(entries(251, 150)))
    assert expected
    for again in (ColumnarExecutor(plan), ReferenceExecutor(plan)):
        again.restore(memoryview(snapshot))
        assert rows(again.run_slice(entries(251, 150))) == expected
    same = ColumnarExecutor(plan)
    same.restore(snapshot)
    pieces = Pieces()
    same.write_snapshot(pieces)
    assert pieces.joined() == snapshot
