"""Joins of streams, windows, tables and aggregations (semantics 9)."""

from lockstep.joins.meaning.build import build_join

__all__ = ["build_join"]
