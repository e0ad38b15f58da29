"""expression('condition') (semantics 7.14)."""

from __future__ import annotations

from lockstep.events import AttributeType
from lockstep.siddhiql.catalogue import Parameter
from lockstep.siddhiql.catalogue.windows import Leaves, Timers, WindowExtension, attribute, counted

EXTENSIONS = (
    WindowExtension(
        "expression",
        (
            counted(
                Parameter("expression", (AttributeType.STRING,), constant=True, condition=True)
            ),
            counted(attribute("expression", AttributeType.STRING)),
        ),
        doc="The youngest events for which a condition holds.",
        semantics="7.14",
        meaning=f"{__name__}.meaning:ExpressionWindow",
        examples=("expression('count() <= 3')",),
        leaves=Leaves.IN_ANY_ORDER,
        timers=Timers.NONE,
    ),
)
