"""Incremental aggregations (semantics 17)."""
