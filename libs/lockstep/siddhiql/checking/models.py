"""Models that queries share: one of a name is taught by somebody, and all mean the same by it.

Inside a partition each instance has models of its own, which only its queries share.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lockstep.siddhiql.catalogue.models import ModelUse
from lockstep.siddhiql.checked import CheckedPartition, CheckedQuery
from lockstep.siddhiql.models import models_in
from lockstep.siddhiql.typing import positioned


def check_models(execution: Iterable[CheckedQuery | CheckedPartition]) -> None:
    """Refuses what cannot share a model."""
    outside: list[CheckedQuery] = []
    for item in execution:
        if isinstance(item, CheckedPartition):
            _check_scope(item.queries, " in this partition")
        else:
            outside.append(item)
    _check_scope(outside, "")


def _check_scope(queries: Sequence[CheckedQuery], where: str) -> None:
    by_name: dict[str, list[ModelUse]] = {}
    for query in queries:
        for use in models_in(query.query.input):
            by_name.setdefault(use.name, []).append(use)
    for name, uses in by_name.items():
        for use in uses[1:]:
            _check_alike(name, uses[0], use)
        teachers = [use for use in uses if use.declared.teaches]
        if not teachers:
            raise positioned(
                uses[0].call.at,
                f"no query teaches the model {name!r}{where}",
                f"add one with a #{uses[0].call.namespace}:update… of the same model",
            )
        for use in teachers[1:]:
            if use.settings != teachers[0].settings:
                raise positioned(
                    use.call.at,
                    f"the model {name!r} is taught with other settings already",
                    "give all that teach it the same settings",
                )


def _check_alike(name: str, first: ModelUse, use: ModelUse) -> None:
    if use.declared.of != first.declared.of:
        raise positioned(
            use.call.at,
            f"the model {name!r} is {first.declared.of}, and no {use.declared.of.split(' ', 1)[1]}",
            "give one of them another name",
        )
    if use.features != first.features:
        raise positioned(
            use.call.at,
            f"the model {name!r} has {first.features} features, but here are {use.features}",
            "name the same attributes in the same order",
        )
