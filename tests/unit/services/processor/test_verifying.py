"""A revision counts when what the store gives back restores to itself, in rows or in columns."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep.events import EventsRecord, InputEvent, LogEntry
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.frame import InlineOffload
from lockstep.operators.errors import SnapshotError
from lockstep.plan import Plans, plan_of
from lockstep_services.processor.revise import revisions
from lockstep_services.processor.state.envelope import Contents, seal

TEXT = (
    "define stream S (k string, v double);"
    " from S#window.time(1 hour) select k, avg(v) as a group by k insert into Out;"
)


def taken() -> bytes:
    """A snapshot with events in its window."""
    executor = ReferenceExecutor(plan_of(TEXT))
    events = tuple((InputEvent(at, (f"k{at % 3}", float(at))),) for at in range(1, 50))
    executor.run_slice([LogEntry(1, EventsRecord("S", 50, events, True))])
    return executor.snapshot()


@pytest.mark.parametrize("large_bytes", [0, 1 << 30])
async def test_a_sound_one(large_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In columns and in rows."""
    monkeypatch.setattr(revisions, "LARGE_SNAPSHOT_BYTES", large_bytes)
    payload = seal(Contents(TEXT, taken(), (), ()))
    await revisions.verify(payload, Plans(), lambda name: InlineOffload())


@pytest.mark.parametrize("large_bytes", [0, 1 << 30])
async def test_a_damaged_one(large_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Never counts."""
    monkeypatch.setattr(revisions, "LARGE_SNAPSHOT_BYTES", large_bytes)
    snapshot = taken()
    payload = seal(Contents(TEXT, snapshot[: len(snapshot) // 2], (), ()))
    with pytest.raises(SnapshotError):
        await revisions.verify(payload, Plans(), lambda name: InlineOffload())


@pytest.mark.parametrize(
    "pieces", [[b"abc", b"", b"def"], [memoryview(b"abcdef")], [b"abcdef", b""]]
)
def test_what_is_written_is_compared_as_it_comes(pieces: list[bytes]) -> None:
    """However it is cut."""
    compared = revisions.Compared(b"abcdef")
    for piece in pieces:
        compared.write(piece)
    assert compared.is_same


@pytest.mark.parametrize(
    "pieces", [[], [b"abc"], [b"abd", b"def"], [b"abcdef", b"g"], [b"abcdefg"]]
)
def test_any_difference_is_seen(pieces: list[bytes]) -> None:
    """Too short, other, too long."""
    compared = revisions.Compared(b"abcdef")
    for piece in pieces:
        compared.write(piece)
    assert not compared.is_same


async def test_a_large_one_that_is_not_what_it_restores_to_in_columns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The reference's rows become columns: what those write then has to restore to itself."""
    monkeypatch.setattr(revisions, "LARGE_SNAPSHOT_BYTES", 0)
    compared: list[bool] = []
    restores_to = revisions._restores_to

    def watched(*arguments: Any, **named: Any) -> bool:
        compared.append(restores_to(*arguments, **named))
        return compared[-1]

    monkeypatch.setattr(revisions, "_restores_to", watched)
    payload = seal(Contents(TEXT, taken(), (), ()))
    await revisions.verify(payload, Plans(), lambda name: InlineOffload())
    assert compared == [False, True]
    monkeypatch.setattr(revisions, "_restores_to", lambda *_, **__: False)
    with pytest.raises(revisions.UnverifiedError):
        await revisions.verify(payload, Plans(), lambda name: InlineOffload())
