"""Rewrite rules: each takes a checked query and gives an equal one that is cheaper, or the same
object.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lockstep.plan.rules.constant_folding import fold_constants
from lockstep.plan.rules.filter_merging import merge_filters
from lockstep.siddhiql.checked import CheckedQuery


@dataclass(frozen=True, slots=True)
class Rule:
    """A named rewrite; `rewrite` returns its argument itself when it changed nothing."""

    name: str
    rewrite: Callable[[CheckedQuery], CheckedQuery]


RULES = (Rule("fold constants", fold_constants), Rule("merge adjacent filters", merge_filters))

__all__ = ["RULES", "Rule"]
