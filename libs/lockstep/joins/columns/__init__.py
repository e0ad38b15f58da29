"""Joins of two windows, in columns."""
