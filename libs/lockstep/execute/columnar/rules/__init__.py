"""The table of rules: which queries have a columnar form, and what it is. One file per rule."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.execute.columnar.rules.aggregation_joins import AGGREGATION_JOIN
from lockstep.execute.columnar.rules.contract import Rule, Site
from lockstep.execute.columnar.rules.hosted_windows import HOSTED_WINDOWS
from lockstep.execute.columnar.rules.pattern_absences import PATTERN_ABSENCES
from lockstep.execute.columnar.rules.pattern_chains import PATTERN_CHAINS
from lockstep.execute.columnar.rules.patterns import PATTERNS, SEQUENCES
from lockstep.execute.columnar.rules.running import RUNNING
from lockstep.execute.columnar.rules.sliding_windows import SLIDING_WINDOWS
from lockstep.execute.columnar.rules.table_access import TABLE_JOIN
from lockstep.execute.columnar.rules.tumbling_windows import TUMBLING_WINDOWS
from lockstep.execute.columnar.rules.window_joins import WINDOW_JOINS

RULES: Sequence[Rule] = (
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
