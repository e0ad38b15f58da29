"""stdDev: population standard deviation; null when nothing is left (semantics 6)."""

from lockstep.aggregators.deviation.meaning import DeviationOfFloats, DeviationOfIntegers
from lockstep.siddhiql.catalogue import Parameter
from lockstep.siddhiql.catalogue.signatures import DOUBLE, INT, LONG, NUMBER, aggregator, gives

EXTENSIONS = (
    aggregator(
        "stdDev",
        gives(DOUBLE, Parameter("value", NUMBER)),
        doc="population standard deviation",
        make=lambda arguments: (
            DeviationOfIntegers() if arguments[0].type in (INT, LONG) else DeviationOfFloats()
        ),
        columns=f"{__name__}.columns",
        examples=("stdDev(d)", "stdDev(l)"),
    ),
)
