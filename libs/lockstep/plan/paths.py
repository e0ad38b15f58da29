"""The paths by which everything that has state is known, in snapshots too: steps with a slash
between them, first a kind and a name, `query/total/handler_0/window`. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_QUERY_STEP: Final = 3
"""Where the name of a query stands behind a partition."""


def step_of(name: str) -> str:
    """A name as one step: a slash in it begins no other."""
    return name.replace("%", "%25").replace("/", "%2F")


def name_of(step: str) -> str:
    """The name that a step stands for."""
    return step.replace("%2F", "/").replace("%25", "%")


def query_path(name: str) -> str:
    """Of a query, or within its partition's instance."""
    return f"query/{step_of(name)}"


def partition_path(name: str) -> str:
    """Of a partition."""
    return f"partition/{step_of(name)}"


def model_path(name: str) -> str:
    """Of a model that queries share, or of one within a partition's instance."""
    return f"model/{step_of(name)}"


def in_partition(rest: str, names: Mapping[str, str]) -> str:
    """What stands behind the path of a partition, /<key>/query/<name>/…, with the new names of
    queries by their old ones."""
    steps = rest.split("/")
    if len(steps) > _QUERY_STEP and steps[_QUERY_STEP - 1] == "query":
        name = name_of(steps[_QUERY_STEP])
        steps[_QUERY_STEP] = step_of(names.get(name, name))
    return "/".join(steps)


def owner_of(path: str) -> str:
    """The path of the query, partition or definition that an operator belongs to."""
    return "/".join(path.split("/", 2)[:2])
