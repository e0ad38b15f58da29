"""Syntax trees as text: parsing what is printed gives an equal tree."""

from lockstep.siddhiql.printing.apps import print_app, print_node
from lockstep.siddhiql.printing.expressions import print_expression

__all__ = ["print_app", "print_expression", "print_node"]
