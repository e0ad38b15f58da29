"""frequent(n [, attribute …]) (semantics 7.11)."""

from lockstep.siddhiql.catalogue import Parameter
from lockstep.siddhiql.catalogue.windows import SIZE, Leaves, Timers, sized
from lockstep.windows.shown import ShownWindow

EXTENSIONS = (
    ShownWindow(
        "frequent",
        (sized(SIZE, Parameter("attribute", attribute=True, repeat=True)),),
        doc="The events of the n most frequent keys, sized by Misra and Gries.",
        semantics="7.11",
        meaning=f"{__name__}.meaning:FrequentWindow",
        examples=("frequent(2, k)",),
        leaves=Leaves.IN_ANY_ORDER,
        timers=Timers.NONE,
        latest_of_key=True,
    ),
)
