"""batch([n]) (semantics 7.12)."""

from lockstep.siddhiql.catalogue.windows import SIZE, Leaves, Timers, WindowExtension, sized

EXTENSIONS = (
    WindowExtension(
        "batch",
        (sized(), sized(SIZE)),
        doc="Each arriving chunk is a batch.",
        semantics="7.12",
        meaning=f"{__name__}.meaning:BatchWindow",
        examples=("batch()",),
        leaves=Leaves.TOGETHER,
        timers=Timers.NONE,
        emits_changes=True,
    ),
)
