"""expressionBatch('condition' …) (semantics 7.15)."""

from lockstep.events import AttributeType
from lockstep.siddhiql.catalogue import Parameter
from lockstep.siddhiql.catalogue.windows import (
    STREAM_CURRENT,
    Leaves,
    Timers,
    attribute,
    sized,
)
from lockstep.windows.shown import ShownWindow

EXTENSIONS = (
    ShownWindow(
        "expressionBatch",
        tuple(
            sized(
                first,
                Parameter("include.triggering.event", (AttributeType.BOOL,), optional=True),
                STREAM_CURRENT,
            )
            for first in (
                Parameter("expression", (AttributeType.STRING,), constant=True, condition=True),
                attribute("expression", AttributeType.STRING),
                attribute("flush", AttributeType.BOOL),
            )
        ),
        doc="Batches of events, each as long as a condition holds.",
        semantics="7.15",
        meaning=f"{__name__}.meaning:ExpressionBatchWindow",
        examples=("expressionBatch('count() <= 3')",),
        leaves=Leaves.IN_ANY_ORDER,
        timers=Timers.NONE,
        leaves_early=True,
    ),
)
