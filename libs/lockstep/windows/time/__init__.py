"""time(t) (semantics 7.3)."""

from lockstep.siddhiql.catalogue.windows import SPAN, Leaves, Reach, Timers, WindowExtension, sized

EXTENSIONS = (
    WindowExtension(
        "time",
        (sized(SPAN),),
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
