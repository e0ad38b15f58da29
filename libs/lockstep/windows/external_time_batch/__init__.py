"""externalTimeBatch(attribute, t …) (semantics 7.8)."""

from lockstep.events import AttributeType
from lockstep.siddhiql.catalogue.windows import (
    PERIOD,
    TIME,
    Leaves,
    WindowExtension,
    attribute,
    constant,
    sized,
)

_TIMESTAMP = attribute("timestamp", AttributeType.LONG)
_MORE = (
    constant("timeout", *TIME, optional=True),
    constant("replace.with.batchtime", AttributeType.BOOL, optional=True),
)

EXTENSIONS = (
    WindowExtension(
        "externalTimeBatch",
        (
            sized(_TIMESTAMP, PERIOD),
            sized(_TIMESTAMP, PERIOD, constant("start.time", *TIME), *_MORE),
            sized(_TIMESTAMP, PERIOD, attribute("start.time", AttributeType.LONG), *_MORE),
        ),
        doc="Batches of t, where an attribute is the clock.",
        semantics="7.8",
        meaning=f"{__name__}.meaning:external_time_batch",
        columns=f"{__name__}.columns:external_time_batch",
        examples=(
            "externalTimeBatch(t, 20)",
            "externalTimeBatch(t, 20, 0, 30)",
            "externalTimeBatch(t, 20, t, 30, true)",
        ),
        leaves=Leaves.TOGETHER,
        timeout_argument=3,
        emits_changes=True,
    ),
)
