"""length(n) (semantics 7.1)."""

from lockstep.siddhiql.catalogue.windows import SIZE, Leaves, Reach, Timers, WindowExtension, sized

EXTENSIONS = (
    WindowExtension(
        "length",
        (sized(SIZE),),
        doc="The last n events.",
        semantics="7.1",
        meaning=f"{__name__}.meaning:LengthWindow",
        columns=f"{__name__}.columns:length",
        examples=("length(3)",),
        leaves=Leaves.IN_ORDER,
        hosted=False,  # a RESET stands behind each event of length(0)
        timers=Timers.NONE,
        emits_changes=True,
        reach=Reach.EVENTS,
    ),
)
