"""Incremental aggregations over seconds to years (semantics 17)."""

from lockstep.operators.aggregations.aggregation import Aggregation, build_aggregation
from lockstep.operators.aggregations.find import FoundInAggregation

__all__ = ["Aggregation", "FoundInAggregation", "build_aggregation"]
