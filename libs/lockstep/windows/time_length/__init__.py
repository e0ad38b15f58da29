"""timeLength(t, n) (semantics 7.5)."""

from lockstep.siddhiql.catalogue.windows import SIZE, SPAN, Leaves, Timers, WindowExtension, sized

EXTENSIONS = (
    WindowExtension(
        "timeLength",
        (sized(SPAN, SIZE),),
        doc="The events of the last t by the clock, n at most.",
        semantics="7.5",
        meaning=f"{__name__}.meaning:TimeLengthWindow",
        columns="lockstep.windows.time.columns:time",
        examples=("timeLength(30, 3)",),
        leaves=Leaves.IN_ORDER,
        timers=Timers.SEEN_WITH_EXPIRED,
        emits_changes=True,
    ),
)
