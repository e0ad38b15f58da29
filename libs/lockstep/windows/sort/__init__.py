"""sort(n, attribute …) (semantics 7.10)."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.events import AttributeType
from lockstep.siddhiql.catalogue import Argument, Overload, Parameter, SignatureError
from lockstep.siddhiql.catalogue.windows import SIZE, Leaves, Timers, WindowExtension


def _check(arguments: Sequence[Argument]) -> None:
    """Behind the size: attributes, each with an optional 'asc' or 'desc'."""
    previous: Argument | None = None
    for argument in arguments[1:]:
        if argument.is_attribute:
            if argument.type is AttributeType.OBJECT:
                raise SignatureError("objects cannot be sorted")
        elif not (argument.is_constant and argument.type is AttributeType.STRING):
            raise SignatureError("behind the size stand attributes and orders")
        elif argument.value.lower() not in ("asc", "desc"):
            raise SignatureError(f"{argument.value!r} is no order", "write 'asc' or 'desc'")
        elif previous is None or not previous.is_attribute:
            raise SignatureError("an order stands behind an attribute")
        previous = argument
    if previous is None:
        raise SignatureError("at least one attribute is needed", "sort(3, price, 'asc')")


EXTENSIONS = (
    WindowExtension(
        "sort",
        (Overload((SIZE, Parameter("attribute", repeat=True)), check=_check),),
        doc="The n smallest events in the given order.",
        semantics="7.10",
        meaning=f"{__name__}.meaning:SortWindow",
        columns=f"{__name__}.columns:sort",
        examples=("sort(2, i)", "sort(3, d, 'desc', i)"),
        leaves=Leaves.IN_ANY_ORDER,
        timers=Timers.NONE,
    ),
)
