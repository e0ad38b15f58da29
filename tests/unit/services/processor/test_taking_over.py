"""What a state goes on from, where another one of the app stands, and when it is due next."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lockstep.events import EventsRecord, InputEvent, OutputId
from lockstep.events.codec import EncodedEntry, encode_record
from lockstep.execute.columnar.executor import ColumnarExecutor
from lockstep.execute.contract import Executor
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.frame import InlineOffload
from lockstep.operators.errors import SnapshotError
from lockstep.plan import AppPlan, Plans
from lockstep_services.processor.revise.past import held_alone
from lockstep_services.processor.revise.past_rows import SinkRows
from lockstep_services.processor.state.engine import AppEngine, Engines

TEXT = "define stream S (a int); from S select sum(a) as total insert into T;"


async def folded(up_to: int) -> AppEngine:
    """An engine that has folded so many records of value 1."""
    engines = Engines(Plans(), lambda plan, _: ReferenceExecutor(plan), max_sends=10)
    engine = await engines.make(TEXT, "v", InlineOffload(), origin=0)
    await engine.fold([one(position) for position in range(1, up_to + 1)])
    return engine


def one(position: int) -> EncodedEntry:
    """A record of value 1."""
    record = EventsRecord("S", position, ((InputEvent(position, (1,)),),), True)
    return EncodedEntry(position, encode_record(record))


async def test_an_earlier_state_goes_on_behind_the_present_one() -> None:
    """What came between is folded no more."""
    old = await folded(4)
    _, contents = await (await folded(2)).contents()
    begun = await old.successor(TEXT, "v", InlineOffload())
    assert await begun.take_over(old, contents) == ()
    await begun.fold([one(5)])
    assert [(row.id.position, row.data) for row in begun.outbox.rows()] == [(5, (3,))]


async def test_a_state_of_what_is_still_to_come_is_refused() -> None:
    """Nobody would publish what the present one has not folded of it."""
    old = await folded(2)
    _, contents = await (await folded(4)).contents()
    begun = await old.successor(TEXT, "v", InlineOffload())
    with pytest.raises(SnapshotError, match="up to 4, the app to 2"):
        await begun.take_over(old, contents)


TIMED = (
    "define stream S (a int); from S#window.timeBatch(4 sec) select sum(a) as total insert into T;"
)


@pytest.mark.parametrize("make", [ReferenceExecutor, ColumnarExecutor])
async def test_a_state_that_is_restored_knows_when_its_next_timer_is_due(
    make: Callable[[AppPlan], Executor],
) -> None:
    """Nothing may come that would tell. The same for a state of another text, which goes over."""
    engines = Engines(Plans(), lambda plan, _: make(plan), max_sends=10)
    engine = await engines.make(TIMED, "v", InlineOffload(), origin=0)
    await engine.fold([one(1)])
    assert engine.next_due_ms == 4_001
    position, contents = await engine.contents()
    again = await engines.make(TIMED, "v", InlineOffload(), origin=0)
    await again.restore(position, contents)
    assert (again.position, again.next_due_ms, again.outbox.is_empty) == (1, 4_001, True)
    text = TIMED + " from S[a > 5] select a insert into U;"
    upgraded = await engine.successor(text, "w", InlineOffload())
    await upgraded.take_over(engine, contents)
    assert (upgraded.position, upgraded.next_due_ms) == (1, 4_001)
    empty = await engines.make(TIMED, "v", InlineOffload(), origin=7)
    await again.restore(*await empty.contents())
    due_ms: int | None = again.next_due_ms
    assert (again.position, due_ms, again.has_started) == (7, None, False)


async def test_rows_of_a_past_are_not_settled_before_they_are_published() -> None:
    """A standby that hears what is settled would drop them, and so would the leader itself."""
    old, past, rows = await folded(1), await folded(5), SinkRows(100)
    await rows.take(past.outbox.rows(), 5)
    await past.go_on_as(old, same_log=False)
    past.outbox = held_alone(past.position, rows.at(past.position, None))
    assert (past.position, len(past.outbox), past.outbox.settled) == (1, 5, 0)
    standby = await folded(1)
    await standby.restore(*await past.contents())
    for each in (standby, past):
        each.outbox.published(OutputId(1, 1), settled=past.outbox.settled)
    assert (len(standby.outbox), len(past.outbox)) == (3, 3)
    past.outbox.published(OutputId(1, 4))
    assert (len(past.outbox), past.outbox.settled) == (0, 1)


async def test_a_state_that_is_restored_has_stopped_nowhere_yet() -> None:
    """What the one before stopped in front of may be behind it."""
    engine = await folded(2)
    engine.unfoldable = 3
    await engine.restore(*await (await folded(4)).contents())
    assert engine.stopped is None
