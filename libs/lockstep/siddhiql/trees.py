"""Walking syntax trees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any


def below(tree: Any) -> Iterator[Any]:
    """A syntax tree and everything in it."""
    yield tree
    if is_dataclass(tree):
        for field in fields(tree):
            yield from below(getattr(tree, field.name))
    elif isinstance(tree, (tuple, list)):
        for each in tree:
            yield from below(each)
