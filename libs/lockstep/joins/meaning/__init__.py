"""Joins of streams, windows, tables and aggregations (semantics 9)."""

from lockstep.joins.meaning.build import build_join
from lockstep.joins.meaning.join import JoinInput

__all__ = ["JoinInput", "build_join"]
