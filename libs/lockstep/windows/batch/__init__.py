"""batch([n]) (semantics 7.12)."""

from __future__ import annotations

from lockstep.siddhiql.catalogue.windows import SIZE, Leaves, Timers, WindowExtension, counted

EXTENSIONS = (
    WindowExtension(
        "batch",
        (counted(), counted(SIZE)),
        doc="Each arriving chunk is a batch.",
        semantics="7.12",
        meaning=f"{__name__}.meaning:BatchWindow",
        examples=("batch()",),
        leaves=Leaves.TOGETHER,
        timers=Timers.NONE,
        emits_changes=True,
    ),
)
