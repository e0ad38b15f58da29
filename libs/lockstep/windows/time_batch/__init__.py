"""timeBatch(t …) (semantics 7.4)."""

from lockstep.events import AttributeType
from lockstep.siddhiql.catalogue.windows import (
    PERIOD,
    STREAM_CURRENT,
    TIME,
    Leaves,
    WindowExtension,
    constant,
    sized,
)

EXTENSIONS = (
    WindowExtension(
        "timeBatch",
        (
            sized(PERIOD),
            sized(PERIOD, constant("start.time", *TIME), STREAM_CURRENT),
            sized(PERIOD, constant("stream.current.event", AttributeType.BOOL)),
        ),
        doc="Batches of t by the clock.",
        semantics="7.4",
        meaning=f"{__name__}.meaning:time_batch",
        columns=f"{__name__}.columns:time_batch",
        examples=(
            "timeBatch(20)",
            "timeBatch(20, 0)",
            "timeBatch(20, true)",
            "timeBatch(20, 0, true)",
        ),
        leaves=Leaves.TOGETHER,
        emits_changes=True,
    ),
)
