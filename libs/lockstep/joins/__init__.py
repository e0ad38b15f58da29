"""Joins of windows, tables and aggregations (semantics 9)."""
