"""Incremental aggregations over seconds to years (semantics 17)."""

from lockstep.aggregations.meaning.aggregation import build_aggregation
from lockstep.aggregations.meaning.find import FoundInAggregation

__all__ = ["FoundInAggregation", "build_aggregation"]
