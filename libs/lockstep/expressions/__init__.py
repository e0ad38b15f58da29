"""Expressions: as Python functions of an event, generated from the syntax tree and a scope; and as
functions of columns.

A pattern state's own filter (`scope.preferred` is its slot) reads the candidate event: the slot's
event, or the last one of the slot's list; there `e[last]` is the one collected before it (semantics
12.3).
"""
