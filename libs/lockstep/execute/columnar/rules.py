"""The table of rules: which queries have a columnar form, and what it is. One file per rule."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.aggregations.join_rule import AGGREGATION_JOIN
from lockstep.columns.rule import Rule, Site
from lockstep.execute.columnar.hosted.window_rule import HOSTED_WINDOWS
from lockstep.joins.rule import WINDOW_JOINS
from lockstep.named_windows.rule import NAMED_WINDOWS
from lockstep.patterns.absences.rule import PATTERN_ABSENCES
from lockstep.patterns.chains.rule import PATTERN_CHAINS
from lockstep.patterns.columns.rule import PATTERNS, SEQUENCES
from lockstep.streams.rule import RUNNING, SLIDING_WINDOWS, TUMBLING_WINDOWS
from lockstep.tables.rule import TABLE_JOIN

RULES: Sequence[Rule] = (
    NAMED_WINDOWS,
    RUNNING,
    SLIDING_WINDOWS,
    TUMBLING_WINDOWS,
    TABLE_JOIN,
    AGGREGATION_JOIN,
    WINDOW_JOINS,
    PATTERN_CHAINS,
    PATTERN_ABSENCES,
    PATTERNS,
    SEQUENCES,
    HOSTED_WINDOWS,
)
"""In the order in which they are asked."""

__all__ = ["RULES", "Rule", "Site"]
