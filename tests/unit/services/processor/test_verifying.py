"""A revision counts when what the store gives back restores to itself, in rows or in columns."""

from __future__ import annotations

import pytest

from lockstep.events import EventsRecord, InputEvent, LogEntry
from lockstep.execute.reference import ReferenceExecutor
from lockstep.frame import InlineOffload
from lockstep.operators.errors import SnapshotError
from services.processor import revisions
from services.processor.envelope import Contents, seal

TEXT = (
    "define stream S (k string, v double);"
    " from S#window.time(1 hour) select k, avg(v) as a group by k insert into Out;"
)


def taken() -> bytes:
    """A snapshot with events in its window."""
    executor = ReferenceExecutor(TEXT)
    events = tuple((InputEvent(at, (f"k{at % 3}", float(at))),) for at in range(1, 50))
    executor.run_slice([LogEntry(1, EventsRecord("S", 50, events, True))])
    return executor.snapshot()


@pytest.mark.parametrize("large_bytes", [0, 1 << 30])
async def test_a_sound_one(large_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In columns and in rows."""
    monkeypatch.setattr(revisions, "LARGE_SNAPSHOT_BYTES", large_bytes)
    payload = seal(Contents(TEXT, taken(), (), ()))
    await revisions.verify(payload, lambda name: InlineOffload())


@pytest.mark.parametrize("large_bytes", [0, 1 << 30])
async def test_a_damaged_one(large_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Never counts."""
    monkeypatch.setattr(revisions, "LARGE_SNAPSHOT_BYTES", large_bytes)
    snapshot = taken()
    payload = seal(Contents(TEXT, snapshot[: len(snapshot) // 2], (), ()))
    with pytest.raises(SnapshotError):
        await revisions.verify(payload, lambda name: InlineOffload())
