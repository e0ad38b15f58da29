"""min, max, minForever and maxForever: nulls are ignored (semantics 6)."""

from lockstep.aggregators.extremes.meaning import Forever, Maximum, Minimum
from lockstep.siddhiql.catalogue import Parameter
from lockstep.siddhiql.catalogue.aggregators import Kept
from lockstep.siddhiql.catalogue.signatures import NUMBER, aggregator, first_type, gives

_TAKES = gives(first_type, Parameter("value", NUMBER))
_COLUMNS = f"{__name__}.columns"

EXTENSIONS = (
    aggregator(
        "min",
        _TAKES,
        doc="smallest value present",
        make=lambda arguments: Minimum(),
        columns=_COLUMNS,
        keeps=(Kept.LEAST,),
        examples=("min(d)",),
    ),
    aggregator(
        "max",
        _TAKES,
        doc="largest value present",
        make=lambda arguments: Maximum(),
        columns=_COLUMNS,
        keeps=(Kept.GREATEST,),
        examples=("max(l)", "max(f)"),
    ),
    aggregator(
        "minForever",
        _TAKES,
        doc="smallest value ever",
        make=lambda arguments: Forever(min),
        columns=_COLUMNS,
        examples=("minForever(l)",),
    ),
    aggregator(
        "maxForever",
        _TAKES,
        doc="largest value ever",
        make=lambda arguments: Forever(max),
        columns=_COLUMNS,
    ),
)
