"""lengthHopping(n, hop) (extensions 1.4)."""

from lockstep.events import AttributeType
from lockstep.siddhiql.catalogue import Overload
from lockstep.siddhiql.catalogue.windows import Leaves, Timers, WindowExtension, constant

EXTENSIONS = (
    WindowExtension(
        "lengthHopping",
        (
            Overload(
                (
                    constant("window.length", AttributeType.INT, positive=True),
                    constant("hop.length", AttributeType.INT, positive=True),
                )
            ),
        ),
        doc="Every hop.length events the last window.length of them, as a batch.",
        semantics="extensions 1.4",
        meaning=f"{__name__}.meaning:LengthHoppingWindow",
        examples=("lengthHopping(3, 2)", "lengthHopping(2, 3)"),
        leaves=Leaves.TOGETHER,
        timers=Timers.NONE,
        emits_changes=True,
    ),
)
