"""sum and avg: nulls are ignored, results are null when nothing is left (semantics 6)."""

from lockstep.aggregators.sums.meaning import Average, SumOfFloats, SumOfIntegers
from lockstep.siddhiql.catalogue import Parameter
from lockstep.siddhiql.catalogue.aggregators import Kept
from lockstep.siddhiql.catalogue.signatures import (
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    NUMBER,
    aggregator,
    gives,
)

_COLUMNS = f"{__name__}.columns"

EXTENSIONS = (
    aggregator(
        "sum",
        gives(LONG, Parameter("value", (INT, LONG))),
        gives(DOUBLE, Parameter("value", (FLOAT, DOUBLE))),
        doc="integers add up to a long",
        make=lambda arguments: (
            SumOfIntegers() if arguments[0].type in (INT, LONG) else SumOfFloats()
        ),
        columns=_COLUMNS,
        keeps=(Kept.SUM,),
        examples=("sum(d)", "sum(l)"),
    ),
    aggregator(
        "avg",
        gives(DOUBLE, Parameter("value", NUMBER)),
        doc="mean, nulls not counted",
        make=lambda arguments: Average(),
        columns=_COLUMNS,
        keeps=(Kept.SUM, Kept.COUNT),
        examples=("avg(i)",),
    ),
)
