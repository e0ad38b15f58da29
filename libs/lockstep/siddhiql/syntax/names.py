"""Small values that builders pass to each other on the way from tokens to the tree."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from lark import Token

from lockstep.siddhiql.ast import NOWHERE, Location
from lockstep.siddhiql.errors import SiddhiQLError

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier without its back-quotes; `prefix` is '#', '!' or ''."""

    text: str
    at: Location
    prefix: str = ""

    @property
    def full(self) -> str:
        """The name with its prefix."""
        return self.prefix + self.text


def place(node: Any) -> Location:
    """Where a token or a node begins."""
    if isinstance(node, Token):
        return Location(node.line or 1, node.column or 1)
    found = getattr(node, "at", NOWHERE)
    return found if isinstance(found, Location) else NOWHERE


def first(children: Iterable[Any], wanted: type[_T] | tuple[type[_T], ...]) -> _T | None:
    """The first child of a type, or None."""
    for child in children:
        if isinstance(child, wanted):
            return child
    return None


def every(children: Iterable[Any], wanted: type[_T] | tuple[type[_T], ...]) -> tuple[_T, ...]:
    """All children of a type, in order."""
    return tuple(child for child in children if isinstance(child, wanted))


def has(children: Iterable[Any], terminal: str) -> bool:
    """Whether a token of that terminal stands among the children."""
    return any(isinstance(child, Token) and child.type == terminal for child in children)


def error(at: Location, message: str, hint: str | None = None) -> SiddhiQLError:
    """A SiddhiQLError at a place, to be raised."""
    return SiddhiQLError(message, line=at.line, column=at.column, hint=hint)
