"""Tables: rows in memory, a list or by key, which queries find and change (semantics 10)."""

from lockstep.operators.tables.actions import TableAction, build_action, make_action
from lockstep.operators.tables.conditions import Match
from lockstep.operators.tables.definition import build_table
from lockstep.operators.tables.find import Finder
from lockstep.operators.tables.hash_index import Row
from lockstep.operators.tables.table import ChangeListener, Table

__all__ = [
    "ChangeListener",
    "Finder",
    "Match",
    "Row",
    "Table",
    "TableAction",
    "build_action",
    "build_table",
    "make_action",
]
