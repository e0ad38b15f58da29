"""Incremental aggregations over seconds to years (semantics 17)."""

from lockstep.aggregations.meaning.aggregation import Aggregation, build_aggregation
from lockstep.aggregations.meaning.find import FoundInAggregation

__all__ = ["Aggregation", "FoundInAggregation", "build_aggregation"]
