"""expression('condition') (semantics 7.14)."""

from lockstep.events import AttributeType
from lockstep.siddhiql.catalogue import Parameter
from lockstep.siddhiql.catalogue.windows import Leaves, Timers, attribute, sized
from lockstep.windows.shown import ShownWindow

EXTENSIONS = (
    ShownWindow(
        "expression",
        (
            sized(Parameter("expression", (AttributeType.STRING,), constant=True, condition=True)),
            sized(attribute("expression", AttributeType.STRING)),
        ),
        doc="The youngest events for which a condition holds.",
        semantics="7.14",
        meaning=f"{__name__}.meaning:ExpressionWindow",
        examples=("expression('count() <= 3')",),
        leaves=Leaves.IN_ANY_ORDER,
        timers=Timers.NONE,
        leaves_early=True,
    ),
)
