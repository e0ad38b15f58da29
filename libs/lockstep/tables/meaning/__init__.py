"""Tables: rows in memory, a list or by key, which queries find and change (semantics 10)."""

from lockstep.tables.meaning.actions import build_action, make_action
from lockstep.tables.meaning.conditions import Match, SomeFailedError
from lockstep.tables.meaning.definition import build_table
from lockstep.tables.meaning.table import Table

__all__ = [
    "Match",
    "SomeFailedError",
    "Table",
    "build_action",
    "build_table",
    "make_action",
]
