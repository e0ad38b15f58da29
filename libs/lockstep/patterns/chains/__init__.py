"""Chains of single events behind one every, in columns."""
