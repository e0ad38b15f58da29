"""Aggregators: what each declares, means, and how it runs in columns (semantics 6)."""
