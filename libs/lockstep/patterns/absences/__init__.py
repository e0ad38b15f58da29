"""Chains that end with an absence, in columns."""
