"""Joins of streams, windows, tables and aggregations (semantics 9)."""

from lockstep.operators.joins.build import build_join
from lockstep.operators.joins.join import JoinInput

__all__ = ["JoinInput", "build_join"]
