"""timeBatch(t …) (semantics 7.4)."""

from __future__ import annotations

from lockstep.events import AttributeType
from lockstep.siddhiql.catalogue.windows import (
    PERIOD,
    STREAM_CURRENT,
    TIME,
    Leaves,
    WindowExtension,
    constant,
    counted,
)

EXTENSIONS = (
    WindowExtension(
        "timeBatch",
        (
            counted(PERIOD),
            counted(PERIOD, constant("start.time", *TIME), STREAM_CURRENT),
            counted(PERIOD, constant("stream.current.event", AttributeType.BOOL)),
        ),
        doc="Batches of t by the clock.",
        semantics="7.4",
        meaning=f"{__name__}.meaning:time_batch",
        columns=f"{__name__}.columns:time_batch",
        examples=("timeBatch(20)", "timeBatch(20, 0)"),
        leaves=Leaves.TOGETHER,
        emits_changes=True,
    ),
)
