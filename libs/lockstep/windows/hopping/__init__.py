"""hopping(t, hop) (semantics 7.16)."""

from lockstep.siddhiql.catalogue import Overload
from lockstep.siddhiql.catalogue.windows import TIME, Leaves, WindowExtension, constant

EXTENSIONS = (
    WindowExtension(
        "hopping",
        (
            Overload(
                (
                    constant("window.time", *TIME, positive=True),
                    constant("hop.time", *TIME, positive=True),
                )
            ),
        ),
        doc="Every hop.time the events of the last window.time, as a batch.",
        semantics="7.16",
        meaning=f"{__name__}.meaning:HoppingWindow",
        columns=f"{__name__}.columns:hopping",
        examples=("hopping(40, 20)",),
        leaves=Leaves.TOGETHER,
        formerly=("hoping",),
    ),
)
