"""JSON as people write it by hand: names and words without quotes, single quotes, spare commas.

Used where the strict reading fails and the original parsers were lenient (`json:`, `map:`).
"""

from __future__ import annotations

import re
from typing import Any

from lockstep.events.objects import LEVELS_MAX

_BLANK = re.compile(r"\s*")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")
_WORD = re.compile(r"[^,:{}\[\]]+")
_VALUE_WORD = re.compile(r"[^,{}\[\]]+")
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_CONSTANTS = {"true": True, "false": False, "null": None}


class LenientReader:
    """Reads one text; ValueError for what is not even leniently JSON."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def read(self) -> Any:
        """The whole text's value, which must be an object or an array."""
        self._skip()
        if self._peek() not in ("{", "["):
            raise ValueError("neither an object nor an array")
        value = self._value(0)
        self._skip()
        if self._at != len(self._text):
            raise ValueError(f"something stands behind the value at {self._at}")
        return value

    def _skip(self) -> None:
        blank = _BLANK.match(self._text, self._at)
        assert blank is not None
        self._at = blank.end()

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _expect(self, character: str) -> None:
        self._skip()
        if self._peek() != character:
            raise ValueError(f"{character!r} is missing at {self._at}")
        self._at += 1

    def _value(self, depth: int) -> Any:
        if depth > LEVELS_MAX:
            raise ValueError(f"more than {LEVELS_MAX} levels")
        self._skip()
        character = self._peek()
        if character == "{":
            return self._object(depth)
        if character == "[":
            return self._array(depth)
        if character in ('"', "'"):
            return self._quoted()
        return _scalar(self._word(_VALUE_WORD))

    def _object(self, depth: int) -> dict[str, Any]:
        self._at += 1
        members: dict[str, Any] = {}
        while True:
            self._skip()
            if self._peek() == ",":
                self._at += 1
            elif self._peek() == "}":
                self._at += 1
                return members
            else:
                name = self._quoted() if self._peek() in ('"', "'") else self._word(_WORD)
                self._expect(":")
                members[name] = self._value(depth + 1)
                self._end_of_item("}")

    def _array(self, depth: int) -> list[Any]:
        self._at += 1
        items: list[Any] = []
        while True:
            self._skip()
            if self._peek() == ",":
                self._at += 1
            elif self._peek() == "]":
                self._at += 1
                return items
            else:
                items.append(self._value(depth + 1))
                self._end_of_item("]")

    def _end_of_item(self, closing: str) -> None:
        self._skip()
        if self._peek() not in (",", closing):
            raise ValueError(f"{closing!r} is missing at {self._at}")

    def _word(self, form: re.Pattern[str]) -> str:
        word = form.match(self._text, self._at)
        if word is None or not word[0].strip():
            raise ValueError(f"a value is missing at {self._at}")
        self._at = word.end()
        return word[0].strip()

    def _quoted(self) -> str:
        quote = self._peek()
        self._at += 1
        parts: list[str] = []
        while self._at < len(self._text):
            character = self._text[self._at]
            self._at += 1
            if character == quote:
                return "".join(parts)
            parts.append(self._escape() if character == "\\" else character)
        raise ValueError("a text is not closed")

    def _escape(self) -> str:
        character = self._peek()
        self._at += 1
        if character != "u":
            return _ESCAPES.get(character, character)
        digits = self._text[self._at : self._at + 4]
        self._at += 4
        return chr(int(digits, 16))


def _scalar(word: str) -> Any:
    if word in _CONSTANTS:
        return _CONSTANTS[word]
    number = _NUMBER.fullmatch(word)
    if number is None:
        return word
    return float(word) if number[1] or number[2] else int(word)
