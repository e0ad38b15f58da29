"""Ids of dead letters: what is written twice is stored once, and nothing else is taken for it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from lockstep.bus import Appended, DeadLetter, LogName, RecordTooLargeError
from lockstep.clock import VirtualClock
from lockstep.events import OutputId, OutputRow
from lockstep.execute.contract import EventFault
from lockstep.leader.protocol import Permit
from lockstep.telemetry import NO_TRACES, Metrics, get_logger
from lockstep_services.processor.publish.publishing import BURY_AT_A_TIME, Publishing
from lockstep_services.processor.replica.leading import Lead
from lockstep_services.processor.state.outbox import Outbox

FAULT = EventFault(1, "In", (), "q", "cannot be folded")
ROW = OutputRow(OutputId(1, 0), "Out", 1, ("x",))


class Letters:
    """A dead stream that remembers ids."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.most = 0
        """So many were under way at a time."""
        self._under_way = 0

    async def append(self, letter: DeadLetter, *, dedup_id: str) -> Appended:
        """Remembered."""
        self._under_way += 1
        self.most = max(self.most, self._under_way)
        is_known = dedup_id in self.ids
        self.ids.append(dedup_id)
        await asyncio.sleep(0)
        self._under_way -= 1
        return Appended(len(self.ids), duplicate=is_known)


class FullLog:
    """An output log that takes no row at all."""

    async def append(self, record: object, *, expected_sequence: int) -> None:
        """Refused."""
        raise RecordTooLargeError(2, 1)


async def ids_of(name: LogName) -> list[str]:
    """Of an event that cannot be folded, and of a row that no record can hold."""
    return (await letters_of(name, (FAULT,))).ids


async def letters_of(
    name: LogName,
    faults: Sequence[EventFault],
    letters: Letters | None = None,
    metrics: Metrics | None = None,
) -> Letters:
    """Of such events, and of a row that no record can hold."""
    letters, outbox, clock = letters or Letters(), Outbox(), VirtualClock(0)
    outbox.add(1, (ROW,), tuple(faults))
    site: Any = SimpleNamespace(
        name=name,
        node="n",
        clock=clock,
        log=get_logger(),
        labels={},
        output=FullLog(),
        world=SimpleNamespace(bus=SimpleNamespace(dead_letters=letters)),
        metrics=metrics or Metrics(),
        traces=NO_TRACES,
    )
    running: Any = SimpleNamespace(
        engine=SimpleNamespace(outbox=outbox, plan=SimpleNamespace(schemas={}))
    )
    passage = SimpleNamespace(traces=(), door_ms=0)
    published: Any = SimpleNamespace(
        to_publish=None, recent=None, rows=None,
        passing=SimpleNamespace(published=lambda _: passage),
    )  # fmt: skip
    trouble: Any = SimpleNamespace(text=None)
    publishing = Publishing(site, running, Lead(), published, trouble)
    await publishing.publish(Permit.of_claim(claimed_epoch=1, accepted_epoch=1, sequence=1))
    return letters


async def test_replicas_of_a_unit_give_a_letter_the_same_id() -> None:
    """Whoever leads next may write it again."""
    first, second = await ids_of(LogName("A", since_ms=7)), await ids_of(LogName("A", since_ms=7))
    assert first == second
    assert len(set(first)) == 2


async def test_logs_that_began_later_give_their_letters_other_ids() -> None:
    """After a purge positions count from 1 again, and the dead stream still knows the ids."""
    before, after = await ids_of(LogName("A", since_ms=7)), await ids_of(LogName("A", since_ms=8))
    assert not set(before) & set(after)


async def test_units_give_their_letters_different_ids() -> None:
    """Each folds the same positions."""
    one, other = await ids_of(LogName("A", "g", 0)), await ids_of(LogName("A", "g", 1))
    assert not set(one) & set(other)


async def test_many_letters_are_written_some_at_a_time() -> None:
    """In order, as rows wait for all of them."""
    many = 2 * BURY_AT_A_TIME + 1
    faults = [EventFault(1, "In", (), "q", f"cannot fold {n}") for n in range(many)]
    letters = await letters_of(LogName("A"), faults)
    assert letters.most == BURY_AT_A_TIME
    assert [int(one.rpartition("/")[2]) for one in letters.ids[:many]] == list(range(many))


async def test_who_leads_next_counts_no_letter_again() -> None:
    """What the one before has stored it has counted, too."""
    letters, metrics, name = Letters(), Metrics(), LogName("A", since_ms=7)
    faults = (FAULT, EventFault(2, "In", (), "q", "cannot be folded"))
    counted = {"app": "A", "stream": "In", "reason": "query"}
    await letters_of(name, faults[:1], letters, metrics)
    assert metrics.value("lockstep_dead_letters_total", **counted) == 1
    await letters_of(name, faults, letters, metrics)
    assert metrics.value("lockstep_dead_letters_total", **counted) == 2
