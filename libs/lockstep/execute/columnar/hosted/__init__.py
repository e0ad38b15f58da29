"""Queries that have no columnar form, run by the reference's operators in the midst of those that
have."""
