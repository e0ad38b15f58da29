"""time(t) (semantics 7.3)."""

from __future__ import annotations

from lockstep.siddhiql.catalogue.windows import (
    SPAN,
    Leaves,
    Reach,
    Timers,
    WindowExtension,
    counted,
)

EXTENSIONS = (
    WindowExtension(
        "time",
        (counted(SPAN),),
        doc="The events of the last t by the clock.",
        semantics="7.3",
        meaning=f"{__name__}.meaning:TimeWindow",
        columns=f"{__name__}.columns:time",
        examples=("time(30)",),
        leaves=Leaves.IN_ORDER,
        timers=Timers.SEEN_WITH_EXPIRED,
        emits_changes=True,
        reach=Reach.CLOCK,
    ),
)
