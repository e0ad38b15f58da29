"""On-demand writes that wait for their outcome: told, refused when too many, timed out."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from lockstep.clock import VirtualClock
from lockstep.events import InputRecord, UnavailableError, WriteRecord
from lockstep.execute.contract import WriteOutcome
from lockstep_services.processor.answer.writing import Writes
from lockstep_services.processor.replica.site import Site


class Log:
    """Keeps what is appended."""

    def __init__(self) -> None:
        self.records: list[InputRecord] = []

    async def append(self, record: InputRecord, *, dedup_id: str | None = None) -> None:
        self.records.append(record)
        assert dedup_id is None, "the fold knows repetitions, the carrier's window ends"


def writes(
    clock: VirtualClock | None = None, *, max_waiting_writes: int = 10
) -> tuple[Writes, Log]:
    """Writes of a replica that has a log and a clock, and nothing else."""
    processor = SimpleNamespace(max_waiting_writes=max_waiting_writes, write_timeout_ms=1000)
    log = Log()
    site: Any = SimpleNamespace(
        settings=SimpleNamespace(processor=processor),
        clock=clock or VirtualClock(start_ms=17),
        input=log,
    )
    return Writes(cast(Site, site)), log


async def test_everybody_who_waits_for_a_request_is_told() -> None:
    """Two callers with one id: two records, one outcome; others go on waiting."""
    made, log = writes()
    first, again, other = (
        asyncio.create_task(made.write("delete T on true", name)) for name in ("a", "a", "b")
    )
    await asyncio.sleep(0)
    outcome = WriteOutcome(5, "a", 2)
    made.folded([outcome, WriteOutcome(6, "of another replica's caller", 1)])
    assert await first == await again == outcome
    assert not other.done()
    made.folded([WriteOutcome(7, "b", 0)])
    assert (await other).position == 7
    expected = [WriteRecord("delete T on true", name, 17) for name in ("a", "a", "b")]
    assert log.records == expected


async def test_too_many_are_refused_and_nothing_is_appended() -> None:
    """The limit counts callers; whoever is answered makes room."""
    made, log = writes(max_waiting_writes=1)
    waiting = asyncio.create_task(made.write("delete T on true", "a"))
    await asyncio.sleep(0)
    with pytest.raises(UnavailableError, match="waiting already") as refused:
        await made.write("delete T on true", "b")
    assert refused.value.retryable
    assert len(log.records) == 1
    made.folded([WriteOutcome(1, "a", 0)])
    await waiting
    waiting = asyncio.create_task(made.write("delete T on true", "b"))
    await asyncio.sleep(0)
    made.folded([WriteOutcome(2, "b", 0)])
    assert (await waiting).request_id == "b"


async def test_a_write_that_is_not_applied_in_time_can_be_asked_for_again() -> None:
    """The error says so; a late outcome is nobody's."""
    clock = VirtualClock()
    made, _ = writes(clock)
    waiting = asyncio.create_task(made.write("delete T on true", "a"))
    await clock.advance_ms(999)
    assert not waiting.done()
    await clock.advance_ms(1)
    with pytest.raises(UnavailableError, match="not applied yet") as late:
        await waiting
    assert "same request id" in (late.value.hint or "")
    made.folded([WriteOutcome(1, "a", 0)])
