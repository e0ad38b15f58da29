"""lengthBatch(n …) (semantics 7.2)."""

from lockstep.siddhiql.catalogue.windows import (
    SIZE,
    STREAM_CURRENT,
    Leaves,
    Timers,
    WindowExtension,
    sized,
)

EXTENSIONS = (
    WindowExtension(
        "lengthBatch",
        (sized(SIZE, STREAM_CURRENT),),
        doc="Batches of n events.",
        semantics="7.2",
        meaning=f"{__name__}.meaning:length_batch",
        columns=f"{__name__}.columns:length_batch",
        examples=("lengthBatch(2)", "lengthBatch(2, true)", "lengthBatch(0)"),
        leaves=Leaves.TOGETHER,
        timers=Timers.NONE,
        emits_changes=True,
    ),
)
