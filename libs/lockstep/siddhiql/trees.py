"""Walking syntax trees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any


def below(tree: Any) -> Iterator[Any]:
    """A syntax tree and everything in it, in order of writing: what is above comes first."""
    waiting = [tree]
    while waiting:
        one = waiting.pop()
        yield one
        kind: Any = type(one)
        if kind is tuple or kind is list:
            waiting += one[::-1]
        elif names := _parts(kind):
            waiting += [getattr(one, name) for name in names]


@cache
def _parts(kind: type) -> tuple[str, ...]:
    """The fields of a kind of node, last first; none of what is no node."""
    return tuple(each.name for each in fields(kind))[::-1] if is_dataclass(kind) else ()
