"""What a state goes on from, where another one of the app stands."""

from __future__ import annotations

import pytest

from lockstep.events import EventsRecord, InputEvent
from lockstep.events.codec import EncodedEntry, encode_record
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.frame import InlineOffload
from lockstep.operators.errors import SnapshotError
from lockstep.plan import Plans
from lockstep_services.processor.state.engine import AppEngine, Engines

TEXT = "define stream S (a int); from S select sum(a) as total insert into T;"


async def folded(up_to: int) -> AppEngine:
    """An engine that has folded so many records of value 1."""
    engines = Engines(Plans(), ReferenceExecutor, max_sends=10)
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


async def test_a_state_that_is_restored_has_stopped_nowhere_yet() -> None:
    """What the one before stopped in front of may be behind it."""
    engine = await folded(2)
    engine.unfoldable = 3
    await engine.restore(*await (await folded(4)).contents())
    assert engine.stopped is None
