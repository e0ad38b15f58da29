"""delay(t) (semantics 7.6)."""

from __future__ import annotations

from lockstep.siddhiql.catalogue.windows import SPAN, Leaves, WindowExtension, counted

EXTENSIONS = (
    WindowExtension(
        "delay",
        (counted(SPAN),),
        doc="Events come out t later, as current events of that time.",
        semantics="7.6",
        meaning=f"{__name__}.meaning:DelayWindow",
        examples=("delay(30)",),
        leaves=Leaves.IN_ANY_ORDER,
    ),
)
