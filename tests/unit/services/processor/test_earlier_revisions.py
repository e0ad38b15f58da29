"""A revision that the release before stored is gone on from: the file beside this one."""

from __future__ import annotations

from pathlib import Path

from lockstep.events import Event, EventsRecord, InputEvent, LogEntry, OutputId
from lockstep.execute.contract import EventFault
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.execute.sends import SendMemory
from lockstep.frame import InlineOffload
from lockstep.plan import Plans, plan_of
from lockstep_services.processor.revise.revisions import verify
from lockstep_services.processor.state.envelope import unseal

REVISION = (Path(__file__).parent / "first_release" / "revision").read_bytes()


async def test_it_is_verified_and_gone_on_from() -> None:
    """Its window holds three events, and what was held back and remembered is there."""
    await verify(REVISION, Plans(), lambda name: InlineOffload())
    contents = unseal(REVISION)
    assert [(row.id, row.data) for row in contents.rows] == [(OutputId(1, 2), ("k1", 4.0))]
    assert contents.faults == (EventFault(1, "S", (Event(7, ("x", 1.5)),), "q", "why"),)
    sends = SendMemory.restored(contents.sends, default_limit=1)
    assert sends.is_repeated(b"0123456789abcdef", 1)
    executor = ReferenceExecutor(plan_of(contents.text))
    executor.restore(contents.snapshot)
    assert executor.position == 1
    record = EventsRecord("S", 40, ((InputEvent(40, ("k1", 5.0)),),), True)
    (row,) = executor.run_slice([LogEntry(2, record)]).rows
    # The first k1 leaves the window of three as this one comes.
    assert (row.id, row.data) == (OutputId(2, 0), ("k1", 8.0))
