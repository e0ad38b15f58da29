"""lossyFrequent(support [, error [, attribute …]]) (semantics 7.11)."""

from lockstep.events import AttributeType
from lockstep.siddhiql.catalogue import Parameter
from lockstep.siddhiql.catalogue.windows import Leaves, Timers, constant, sized
from lockstep.windows.shown import ShownWindow

_SUPPORT = constant("support", AttributeType.DOUBLE, positive=True)

EXTENSIONS = (
    ShownWindow(
        "lossyFrequent",
        (
            sized(_SUPPORT),
            sized(
                _SUPPORT,
                constant("error", AttributeType.DOUBLE, positive=True),
                Parameter("attribute", attribute=True, repeat=True),
            ),
        ),
        doc="The events of frequent keys, sized with an error.",
        semantics="7.11",
        meaning=f"{__name__}.meaning:LossyFrequentWindow",
        examples=("lossyFrequent(0.3, 0.1, k)",),
        leaves=Leaves.IN_ANY_ORDER,
        timers=Timers.NONE,
        latest_of_key=True,
    ),
)
