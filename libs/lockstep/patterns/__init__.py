"""Patterns and sequences (semantics 12 and 13)."""
