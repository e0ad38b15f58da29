"""cron('expression') (semantics 7.13)."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.events import AttributeType
from lockstep.siddhiql.catalogue import Argument, Overload, SignatureError
from lockstep.siddhiql.catalogue.windows import Leaves, WindowExtension, constant
from lockstep.siddhiql.cron import check_cron


def _check(arguments: Sequence[Argument]) -> None:
    problem = check_cron(arguments[0].value)
    if problem is not None:
        raise SignatureError(
            f"{arguments[0].value!r} {problem}", "seconds come first: '0 0/5 * * * ?'"
        )


EXTENSIONS = (
    WindowExtension(
        "cron",
        (Overload((constant("expression", AttributeType.STRING),), check=_check),),
        doc="Batches at the ticks of a cron expression, on the wall clock.",
        semantics="7.13",
        meaning=f"{__name__}.meaning:CronWindow",
        examples=("cron('*/1 * * * * ?')",),
        leaves=Leaves.IN_ANY_ORDER,
    ),
)
