"""Walking syntax trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from operator import attrgetter
from typing import Any

from lockstep.siddhiql.ast import Location


def below(tree: Any) -> Iterator[Any]:
    """A syntax tree and everything in it, in order of writing: what is above comes first. Of a
    location not line and column."""
    waiting = [tree]
    while waiting:
        one = waiting.pop()
        yield one
        kind: Any = type(one)
        if kind is tuple or kind is list:
            waiting += one[::-1]
        elif inside := _inside(kind):
            waiting += inside(one)


@cache
def _inside(kind: type) -> Callable[[Any], tuple[Any, ...]] | None:
    """Gives the fields of a node, last first; None for what is no node."""
    if not is_dataclass(kind) or kind is Location:
        return None
    names = [each.name for each in fields(kind)][::-1]
    match names:
        case []:
            return None
        case [name]:
            return lambda one: (getattr(one, name),)
    return attrgetter(*names)
