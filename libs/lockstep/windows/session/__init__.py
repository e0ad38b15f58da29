"""session(gap [, key [, allowed.latency]]) (semantics 7.9)."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.events import AttributeType
from lockstep.siddhiql.catalogue import Argument, Overload, SignatureError
from lockstep.siddhiql.catalogue.windows import (
    TIME,
    Leaves,
    WindowExtension,
    attribute,
    constant,
    not_negative,
)

_GAP = constant("gap", *TIME)


def _check(arguments: Sequence[Argument]) -> None:
    not_negative(arguments)
    if len(arguments) == 3 and arguments[2].value > arguments[0].value:
        raise SignatureError("the allowed latency is longer than the gap", "make it shorter")


EXTENSIONS = (
    WindowExtension(
        "session",
        (
            Overload((_GAP,), check=_check),
            Overload(
                (
                    _GAP,
                    attribute("key", AttributeType.STRING),
                    constant("allowed.latency", AttributeType.LONG, optional=True),
                ),
                check=_check,
            ),
        ),
        doc="Events with gaps below the limit, which leave when the gap is over.",
        semantics="7.9",
        meaning=f"{__name__}.meaning:SessionWindow",
        columns=f"{__name__}.columns:session",
        examples=("session(10, k)", "session(10, k, 5L)"),
        leaves=Leaves.IN_ANY_ORDER,
        key_argument=1,
    ),
)
