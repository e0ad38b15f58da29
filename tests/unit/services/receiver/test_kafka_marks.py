"""By what records are known behind an update of an earlier release."""

from __future__ import annotations

from lockstep.clock import VirtualClock
from lockstep_services.receiver.kafka_marks import (
    ASK_AGAIN_MS,
    NOTE,
    SWITCH_AFTER_MS,
    Marks,
    Reached,
)
from lockstep_services.receiver.offsets import Place

GOOD, BAD = ("t", 0), ("t", 1)


async def test_a_partition_that_tells_no_end_holds_up_no_other() -> None:
    """It is asked once a minute, and not before it matters; the other one changes over."""
    clock = VirtualClock()
    marks, asked, ends = Marks(clock), list[Place](), dict[Place, int | None]()

    def end_of(place: Place) -> int | None:
        asked.append(place)
        return ends[place]

    marks.assigned([Reached(GOOD, 5), Reached(BAD, 5), Reached(("t", 2), 5, NOTE)])
    ends |= {GOOD: 5, BAD: None}
    assert marks.due(end_of) == []
    assert asked == []
    await clock.advance_ms(SWITCH_AFTER_MS)
    due = [marks.due(end_of), marks.due(end_of)]
    assert due == [[Reached(GOOD, 5, NOTE)]] * 2
    assert asked == [GOOD, BAD]
    marks.noted(due[0])
    assert (marks.of(GOOD, 5, 7), marks.of(BAD, 5, 7)) == ("5@7", "5")
    assert marks.to_commit(BAD, 6) == Reached(BAD, 6)
    await clock.advance_ms(ASK_AGAIN_MS)
    ends[BAD] = 6
    assert marks.due(end_of) == [Reached(BAD, 6, NOTE)]
