"""Tables: rows in memory, a list or by key, which queries find and change (semantics 10)."""

from lockstep.tables.meaning.actions import TableAction, build_action, make_action
from lockstep.tables.meaning.conditions import Match
from lockstep.tables.meaning.definition import build_table
from lockstep.tables.meaning.find import Finder
from lockstep.tables.meaning.hash_index import Row
from lockstep.tables.meaning.table import ChangeListener, Table

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
