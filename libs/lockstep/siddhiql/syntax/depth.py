"""Keeps trees shallow enough for everything behind the parser that walks them recursively."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any

from lockstep.siddhiql import ast
from lockstep.siddhiql.syntax.names import error, place

MAX_DEPTH_NODES = 150
"""How many nodes may be nested in each other."""


@cache
def _children_of(type_: Any) -> tuple[str, ...]:
    if type_.__module__ != ast.__name__ or not hasattr(type_, "__dataclass_fields__"):
        return ()
    return tuple(field.name for field in fields(type_) if field.name != "at")


def check_depth(root: Any) -> None:
    """Raises a SiddhiQLError at the first node that is nested too deeply."""
    stack: list[tuple[Any, int]] = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        if isinstance(node, tuple):
            stack += [(item, depth) for item in node]
            continue
        kind: Any = type(node)
        names = _children_of(kind)
        if not names:
            continue
        if depth > MAX_DEPTH_NODES:
            raise error(
                place(node),
                f"this nests more than {MAX_DEPTH_NODES} levels deep",
                "split it over several queries",
            )
        stack += [(getattr(node, name), depth + 1) for name in names]
