"""The windows of the extrema pack, which let through the event with the largest or smallest value
(extensions 18)."""

from __future__ import annotations

from lockstep.siddhiql.catalogue import Overload, Parameter
from lockstep.siddhiql.catalogue.signatures import NUMBER, STRING
from lockstep.siddhiql.catalogue.windows import (
    TIME,
    Leaves,
    Timers,
    WindowExtension,
    attribute,
    constant,
)

_ATTRIBUTE = attribute("attribute", *NUMBER, STRING)
_FORMS = {
    "ByLength": ("sliding:by_length", "sliding.window.length"),
    "ByTime": ("sliding:by_time", "time.window.length"),
    "bytime": ("sliding:by_time", "time.window.length"),
    "ByLengthBatch": ("batches:by_length_batch", "batch.length"),
    "ByTimeBatch": ("batches:by_time_batch", "time.batch.length"),
    "bytimebatch": ("batches:by_time_batch", "time.batch.length"),
}
"""What makes each, and its size. The older product has those by time in small letters, and its
pages and apps in both."""


def _declared(extreme: str, form: str) -> WindowExtension:
    made, size = _FORMS[form]
    by_time = "time" in size
    batch = made.startswith("batches")
    forms: list[tuple[Parameter, ...]] = [(_ATTRIBUTE, constant(size, *TIME, positive=True))]
    if by_time and batch:
        forms.append((*forms[0], constant("start.time", *TIME)))
    return WindowExtension(
        f"{extreme}{form}",
        tuple(map(Overload, forms)),
        "extrema",
        semantics="extensions 18",
        meaning=f"{__name__}.{made}_of_{extreme}",
        examples=(f"extrema:{extreme}{form}(d, {20 if by_time else 2})",),
        leaves=Leaves.TOGETHER if batch else Leaves.IN_ANY_ORDER,
        timers=Timers.SEEN if by_time else Timers.NONE,
    )


EXTENSIONS = tuple(_declared(extreme, form) for extreme in ("max", "min") for form in _FORMS)
