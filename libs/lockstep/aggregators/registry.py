"""The aggregators by (namespace or "", name); a factory builds one for its call's arguments."""

from __future__ import annotations

from lockstep.aggregators import collections, counts, extremes, numbers, percentile, texts
from lockstep.aggregators.contract import Aggregator, AggregatorFactory
from lockstep.functions.plugins import extended

_OWN: dict[tuple[str, str], AggregatorFactory] = {
    ("", "sum"): numbers.build_sum,
    ("", "avg"): numbers.build_average,
    ("", "stdDev"): numbers.build_deviation,
    ("", "count"): counts.build_count,
    ("", "distinctCount"): counts.build_distinct_count,
    ("", "and"): counts.build_and,
    ("", "or"): counts.build_or,
    ("", "unionSet"): counts.build_union_set,
    ("", "min"): extremes.build_min,
    ("", "max"): extremes.build_max,
    ("", "minForever"): extremes.build_min_forever,
    ("", "maxForever"): extremes.build_max_forever,
    ("str", "groupConcat"): texts.build_group_concat,
    ("json", "group"): collections.build_json_group,
    ("json", "groupAsObject"): collections.build_json_group_as_object,
    ("list", "collect"): collections.build_list_collect,
    ("list", "merge"): collections.build_list_merge,
    ("map", "collect"): collections.build_map_collect,
    ("map", "merge"): collections.build_map_merge,
    ("math", "percentile"): percentile.build_percentile,
}

AGGREGATORS = extended(_OWN, "AGGREGATORS")
"""Ours, and those of installed extensions."""

AGGREGATORS_OF_5_1: dict[tuple[str, str], AggregatorFactory] = {
    ("str", "groupConcat"): texts.build_old_group_concat
}
"""Those that @app:compat('siddhi-5.1') puts in the place of ours."""

__all__ = ["AGGREGATORS", "AGGREGATORS_OF_5_1", "Aggregator", "AggregatorFactory"]
