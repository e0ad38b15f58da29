"""externalTime(attribute, t) (semantics 7.7)."""

from lockstep.events import AttributeType
from lockstep.siddhiql.catalogue.windows import (
    SPAN,
    Leaves,
    Reach,
    Timers,
    WindowExtension,
    attribute,
    sized,
)

EXTENSIONS = (
    WindowExtension(
        "externalTime",
        (sized(attribute("timestamp", AttributeType.LONG), SPAN),),
        doc="The events of the last t, where an attribute is the clock.",
        semantics="7.7",
        meaning=f"{__name__}.meaning:ExternalTimeWindow",
        columns=f"{__name__}.columns:external_time",
        examples=("externalTime(l, 30)",),
        leaves=Leaves.IN_ORDER,
        timers=Timers.NONE,
        emits_changes=True,
        reach=Reach.ATTRIBUTE,
    ),
)
