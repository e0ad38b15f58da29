"""Where the meaning of an aggregator is found: in its declaration, or in an installed extension."""

from __future__ import annotations

from functools import cache
from typing import Final

from lockstep.aggregators.contract import Aggregator, AggregatorFactory
from lockstep.aggregators.installed import guarded_aggregator
from lockstep.functions.plugins import Promised, extended
from lockstep.siddhiql.catalogue.core import default_catalogue

_PROMISED: Final = Promised(
    sorted(Aggregator.__abstractmethods__),
    "its factory takes (arguments) and gives an Aggregator, as EXTENDING.md shows",
    guarded_aggregator,
)


@cache
def aggregators(*, is_siddhi_5_1: bool = False) -> dict[tuple[str, str], AggregatorFactory]:
    """The factories by (namespace or "", name); those of Siddhi 5.1 under @app:compat."""
    own: dict[tuple[str, str], AggregatorFactory] = {}
    for each in default_catalogue().aggregators():
        if each.make is not None:
            make = each.make_of_5_1 if is_siddhi_5_1 else None
            own[each.namespace or "", each.name] = make or each.make
    return extended(own, "AGGREGATORS", _PROMISED)
