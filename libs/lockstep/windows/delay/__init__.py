"""delay(t) (semantics 7.6)."""

from lockstep.siddhiql.catalogue.windows import SPAN, Leaves, sized
from lockstep.windows.shown import ShownWindow

EXTENSIONS = (
    ShownWindow(
        "delay",
        (sized(SPAN),),
        doc="Events come out t later, as current events of that time.",
        semantics="7.6",
        meaning=f"{__name__}.meaning:DelayWindow",
        examples=("delay(30)",),
        leaves=Leaves.IN_ANY_ORDER,
        passes_on=True,
    ),
)
