"""Patterns and sequences of any shape, in columns."""
