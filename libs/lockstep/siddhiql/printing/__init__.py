"""Syntax trees as text: parsing what is printed gives an equal tree."""

from lockstep.siddhiql.printing.apps import print_app, print_node

__all__ = ["print_app", "print_node"]
