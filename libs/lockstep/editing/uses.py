"""Where the names of an app stand: as a source, a target, a definition, in front of an attribute.

An attribute, an alias, a window or a function of a pack may be called as a stream is, and is
another thing. A text that is no valid app has such places, too: they are told by the words around.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from enum import Enum
from typing import Final, NamedTuple

from lockstep.editing.known import Known
from lockstep.editing.pieces import Piece, pieces, solid, statements

_BEFORE_SOURCES: Final = ("from", "join", "every", "not", "and", "or")
_AFTER_SIGNS: Final = ("->", "(", "=")
_ENDS: Final = (
    "select", "on", "per", "group", "having", "order", "limit", "offset", "insert", "update",
    "delete", "return", "output", "aggregate", "set",
)  # fmt: skip
"""Behind them stand expressions: a name alone is an attribute there."""


class Kind(Enum):
    """What a place names."""

    SOURCE = "source"
    """A stream, table, window, trigger or aggregation."""
    FUNCTION = "function"


class Use(NamedTuple):
    """A place that names something of the app."""

    kind: Kind
    word: Piece


def uses(text: str, found: Known) -> Iterator[Use]:
    """All of them in order."""
    attributes = {name for source in found.names.values() for name, _ in source.attributes}
    for part in statements(pieces(text)):
        yield from _Statement(solid(part), found.functions, attributes).uses()


class _Statement:
    """Goes through the words of one statement."""

    def __init__(
        self, words: Sequence[Piece], functions: Collection[str], attributes: Collection[str]
    ) -> None:
        self._words = words
        self._functions = functions
        self._attributes = attributes
        self._open: list[bool] = []
        """The open brackets: whether an expression stands in each."""
        self._is_input = False
        self._is_within = False
        self._aliases: set[str] = set()

    def uses(self) -> list[Use]:
        """Those of the statement; what an alias of the same name stands for is none."""
        found, qualifiers = list[Use](), set[Piece]()
        for at, each in enumerate(self._words):
            if each.kind == "word":
                kind = self._kind(at)
                if kind is None and self._is_qualifier(at):
                    kind = Kind.SOURCE
                    qualifiers.add(each)
                if kind is not None:
                    found.append(Use(kind, each))
                else:
                    self._go_on(at)
            elif each.value in ("(", "["):
                is_group = each.value == "(" and self._begins_source(at - 1)
                self._open.append(not is_group)
            elif each.value in (")", "]") and self._open:
                self._open.pop()
        return [
            use for use in found if use.word not in qualifiers or use.word.name not in self._aliases
        ]

    def _kind(self, at: int) -> Kind | None:
        """What the word there names; None where that is nothing, or not for sure."""
        word, before = self._words[at], at - 1
        if self._value(before) in (".", ":", "@", "#"):
            return None
        before -= self._value(before) == "!"
        if before > 0 and self._words[before - 1].says("define"):
            is_function = self._words[before].says("function")
            return Kind.FUNCTION if is_function else Kind.SOURCE
        if self._says(before, "into", "update", "delete", "of", "in"):
            return None if word.says("or") else Kind.SOURCE
        if self._value(at + 1) == "(" and word.name in self._functions:
            return Kind.FUNCTION
        is_reference = self._value(at + 1) == "="
        if self._begins_source(before) and not is_reference and not word.says(*_BEFORE_SOURCES):
            return Kind.SOURCE
        if word.says("from"):
            self._is_input, self._is_within = True, False
        return None

    def _begins_source(self, before: int) -> bool:
        """Whether a source may stand behind that word."""
        if not self._is_input or any(self._open):
            return False
        if self._value(before) == ",":
            return not self._is_within
        return self._says(before, *_BEFORE_SOURCES) or self._value(before) in _AFTER_SIGNS

    def _is_qualifier(self, at: int) -> bool:
        """`Room.celsius`, `Room[last].celsius`, `Room is null`."""
        if self._value(at - 1) in (".", ":", "@", "#", "!"):
            return False
        if self._value(at + 1) == ".":
            return True
        is_expression = not self._is_input or any(self._open)
        is_asked = self._says(at + 1, "is") and self._words[at].name not in self._attributes
        return is_expression and (is_asked or self._value(at + 1) == "[")

    def _go_on(self, at: int) -> None:
        """What a word that names nothing says of those behind it."""
        word = self._words[at]
        if not self._is_input or any(self._open):
            return
        if self._says(at - 1, "as") or self._value(at + 1) == "=":
            self._aliases.add(word.name)
        elif word.says("within"):
            self._is_within = True
        elif word.says(*_ENDS):
            self._is_input = False

    def _value(self, at: int) -> str:
        return self._words[at].value if 0 <= at < len(self._words) else ""

    def _says(self, at: int, *words: str) -> bool:
        return 0 <= at < len(self._words) and self._words[at].says(*words)
