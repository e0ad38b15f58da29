"""A text cut into pieces that together are the text: also one that is no valid app."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

_PIECE: Final = re.compile(
    r"""
    (?P<space>\s+)
  | (?P<comment>--[^\n]*|/\*(?s:.*?)(?:\*/|\Z))
  | (?P<word>[A-Za-z_][A-Za-z_0-9]*|`[^`\n]+`)
  | (?P<number>\d+\.\d+(?:[eE][-+]?\d+)?[fFdD]?|\d+(?:[eE][-+]?\d+)?[lLfFdD]?|\.\d+[fFdD]?)
  | (?P<string>\"\"\"(?s:.*?)(?:\"\"\"|\Z)|'[^'\n]*'?|"[^"\n]*"?)
  | (?P<symbol>\.\.\.|->|==|!=|<=|>=|.)
    """,
    re.VERBOSE | re.ASCII,
)
_PAIRS: Final = (("/*", "*/"), ('"""', '"""'), ("'", "'"), ('"', '"'), ("{", "}"))
_SCRIPT_PART: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|[{}]')


class Piece(NamedTuple):
    """`kind`: space, comment, word, number, string, symbol or script (a function's body)."""

    kind: str
    value: str
    start: int

    @property
    def end(self) -> int:
        """The offset behind it."""
        return self.start + len(self.value)

    @property
    def name(self) -> str:
        """A word without its back-quotes."""
        return self.value.strip("`")

    def says(self, *words: str) -> bool:
        """Whether it is one of these words, in any case."""
        return self.kind == "word" and self.value.lower() in words


def is_open(each: Piece) -> bool:
    """Whether what is written behind it becomes a part of it: of a comment up to the end of its
    line, or of what nothing closes."""
    if each.value.startswith("--"):
        return True
    begin, end = next((pair for pair in _PAIRS if each.value.startswith(pair[0])), ("", ""))
    return len(each.value) < len(begin + end) or not each.value.endswith(end)


def pieces(text: str) -> list[Piece]:
    """All of them in order."""
    return list(cut(text))


def cut(text: str) -> Iterator[Piece]:
    """One after the other, for who need not see all of them."""
    position = 0
    while position < len(text):
        for found in _PIECE.finditer(text, position):
            position = found.end()
            value = found[0]
            if value == "{":
                start, position = position - 1, _script_end(text, position - 1)
                yield Piece("script", text[start:position], start)
                break
            yield Piece(found.lastgroup or "symbol", value, position - len(value))


def _script_end(text: str, start: int) -> int:
    depth = 0
    for part in _SCRIPT_PART.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(part.group(), 0)
        if depth == 0 and part.group() == "}":
            return part.end()
    return len(text)


def solid(found: Sequence[Piece]) -> list[Piece]:
    """Without spaces and comments."""
    return [each for each in found if each.kind not in ("space", "comment")]


def statements(found: Iterable[Piece]) -> Iterator[list[Piece]]:
    """Cut behind each `;`, and behind `begin`: what stands in a partition are statements, too."""
    current: list[Piece] = []
    for each in found:
        current.append(each)
        if each.value == ";" or each.says("begin"):
            yield current
            current = []
    if current:
        yield current


class Lines:
    """Offsets as lines and columns, and back."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]
        self._length = len(text)

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column from 1."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def offset(self, line: int, column: int) -> int:
        """The nearest one there is."""
        start = self._starts[min(max(line, 1), len(self._starts)) - 1]
        return min(start + column - 1, self._length)
