"""Incremental aggregations on columns (semantics 17)."""
