"""What Python's parser makes of a regular expression: how many steps it may take, and how RE2
writes it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from re import _constants as op  # isort: skip
from re import _parser  # isort: skip

Tree = Sequence[tuple[Any, Any]]

_ASCII_CLASSES: Final = {
    op.CATEGORY_DIGIT: "0-9",
    op.CATEGORY_SPACE: r" \t\n\r\f\x0b",
    op.CATEGORY_WORD: "0-9A-Z_a-z",
}
_NEGATED: Final = {
    op.CATEGORY_NOT_DIGIT: r"\D",
    op.CATEGORY_NOT_SPACE: r"\x00-\x08\x0e-\x1f!-\x{10ffff}",
    op.CATEGORY_NOT_WORD: r"\W",
}
_REPEATS: Final = (op.MAX_REPEAT, op.MIN_REPEAT)
_ATOMIC: Final = (op.ASSERT, op.ASSERT_NOT)
_SINGLE: Final = (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN)

LAST_LINE_END: Final = r"(?=(?:\r\n|(?<!\r)\n|[\r\x85\u2028\u2029])?\Z)"
"""Java's `$`: the end, or in front of a line end that is the end."""

_LAST_LINE_END: Final = repr(_parser.parse(LAST_LINE_END, 0)[0])


class Unsupported(Exception):
    """RE2 has no such thing."""


class Cost(NamedTuple):
    """Ways through a pattern and the steps of all of them, at most, when it is tried at one place;
    and whether it can only match at the beginning of a text."""

    ways: float
    steps: float
    is_anchored: bool = False


def parsed(pattern: str, flags: int) -> Tree:
    """The tree of a pattern."""
    tree: Tree = _parser.parse(pattern, flags)
    return tree


# --- steps ---------------------------------------------------------------------------------------


def costs(tree: Tree, length: int) -> Cost:
    """Of a pattern on a text of that length."""
    try:
        ways, steps = _sequence(tree, length)
    except OverflowError:
        ways = steps = float("inf")
    return Cost(ways, steps, _is_anchored(tree))


def _sequence(tree: Tree, length: int) -> tuple[float, float]:
    ways, steps = 1.0, 1.0
    for code, argument in tree:
        own_ways, own_steps = _node(code, argument, length)
        steps += ways * own_steps
        ways *= own_ways
    return ways, steps


def _node(code: Any, argument: Any, length: int) -> tuple[float, float]:
    if code is op.BRANCH:
        parts = [_sequence(each, length) for each in argument[1]]
        return sum(each[0] for each in parts), sum(each[1] for each in parts)
    if code is op.SUBPATTERN:
        return _sequence(argument[3], length)
    if code in _ATOMIC:
        return 1.0, _sequence(argument[1], length)[1]
    if code is op.ATOMIC_GROUP:
        return 1.0, _sequence(argument, length)[1]
    if code is op.POSSESSIVE_REPEAT:
        return 1.0, _repeated(argument, length)[1]
    if code in _REPEATS:
        return _repeated(argument, length)
    if code is op.GROUPREF_EXISTS:
        parts = [_sequence(each, length) for each in argument[1:] if each is not None]
        return sum(each[0] for each in parts) + 1, sum(each[1] for each in parts) + 1
    return 1.0, float(length) if code is op.GROUPREF else 1.0


def _repeated(argument: Any, length: int) -> tuple[float, float]:
    least, most, body = argument
    # What takes at least one character can be repeated as often as there are characters. What may
    # be empty is repeated `least` times, too, where no character is left.
    times = length + int(least) if _width(body) == 0 else length
    if int(most) != int(op.MAXREPEAT):
        times = min(int(most), times)
    ways, steps = _sequence(body, length)
    if ways <= 1.0:
        return float(max(times - least, 0) + 1), steps * (times + 1)
    total = 1.0
    for _ in range(times):
        total *= ways
        if total > 1e12:
            return float("inf"), float("inf")
    return total * 2, steps * total * 2


def _is_anchored(tree: Tree) -> bool:
    for code, argument in tree:
        if code is op.AT:
            return argument in (op.AT_BEGINNING, op.AT_BEGINNING_STRING)
        if code is not op.SUBPATTERN:
            return False
        # A flag of the group may give ^ another meaning.
        return not argument[1] and _is_anchored(argument[3])
    return False


def may_be_empty(tree: Tree) -> bool:
    """Whether something is repeated that may be empty: what its groups have then differs between
    engines."""
    for code, argument in tree:
        if code in _REPEATS and int(argument[1]) > 1:
            body: Any = argument[2]
            if _width(body) == 0 or may_be_empty(body):
                return True
        elif any(may_be_empty(each) for each in _inside(code, argument)):
            return True
    return False


def _inside(code: Any, argument: Any) -> Sequence[Tree]:
    if code is op.BRANCH:
        branches: Sequence[Tree] = argument[1]
        return branches
    if code is op.SUBPATTERN:
        return [argument[3]]
    return [argument[2]] if code in _REPEATS else []


def _width(tree: Any) -> int:
    least: int = tree.getwidth()[0]
    return least


# --- as RE2 writes it ----------------------------------------------------------------------------


class Written(NamedTuple):
    """A pattern for RE2. `markers`: which of its groups are none of the pattern's and stand where
    a match ends that reads on to the end of the text."""

    text: str
    markers: tuple[int, ...]


def written(tree: Tree, flags: int) -> Written:
    """For texts that end in no line end. Unsupported."""
    return _Writer(r"\z", r"\z").all(tree, flags)


def written_at_line_end(tree: Tree, flags: int, *, is_pair: bool) -> Written:
    """For texts that end in a line end; `is_pair`: in `\\r\\n`. What ends in `$` reads the line end
    behind a marker: it has no look-ahead. Unsupported, also where `$` stands before the end."""
    java = r"(?:\r\n)?\z" if is_pair else r"[\n\r\x{85}\x{2028}\x{2029}]?\z"
    return _Writer(java, r"\n?\z").all(tree, flags)


class _Writer:
    """`java_end`, `python_end`: what `$` is, as Java and as Python has it."""

    def __init__(self, java_end: str, python_end: str) -> None:
        self._java_end = java_end
        self._python_end = python_end
        self._groups = 0
        self._markers: list[int] = []

    def all(self, tree: Tree, flags: int) -> Written:
        """The whole pattern."""
        return Written(self._sequence(tree, flags, is_last=True), tuple(self._markers))

    def _sequence(self, tree: Tree, flags: int, *, is_last: bool) -> str:
        last = len(tree) - 1
        return "".join(
            self._one(code, argument, flags, is_last=is_last and at == last)
            for at, (code, argument) in enumerate(tree)
        )

    def _one(self, code: Any, argument: Any, flags: int, *, is_last: bool) -> str:
        if code in _SINGLE:
            return _single(code, argument, flags)
        if code is op.BRANCH:
            branches = (self._sequence(each, flags, is_last=is_last) for each in argument[1])
            return f"(?:{'|'.join(branches)})"
        if code is op.SUBPATTERN:
            group, added, taken, body = argument
            self._groups += group is not None
            text = self._sequence(body, (flags | added) & ~taken, is_last=is_last)
            return f"(?:{text})" if group is None else f"({text})"
        if code in _REPEATS:
            least, most, body = argument
            text = self._sequence(body, flags, is_last=is_last and int(most) == 1)
            end = "" if int(most) == int(op.MAXREPEAT) else str(int(most))
            lazy = "?" if code is op.MIN_REPEAT else ""
            return f"(?:{text}){{{least},{end}}}{lazy}"
        if code is op.AT and (argument is not op.AT_END or flags & re.MULTILINE):
            return self._at(argument, is_multiline=bool(flags & re.MULTILINE))
        if code is op.AT:
            return self._last_line_end(self._python_end, is_last=is_last)
        if repr((code, argument)) == _LAST_LINE_END:
            return self._last_line_end(self._java_end, is_last=is_last)
        raise Unsupported(str(code))

    def _last_line_end(self, end: str, *, is_last: bool) -> str:
        if end == r"\z":
            return end
        if not is_last:
            raise Unsupported("$ before the end")
        self._groups += 1
        self._markers.append(self._groups)
        return f"(){end}"

    @staticmethod
    def _at(place: Any, *, is_multiline: bool) -> str:
        known = {
            op.AT_BEGINNING: "(?m:^)" if is_multiline else r"\A",
            op.AT_BEGINNING_STRING: r"\A",
            op.AT_END: "(?m:$)",
            op.AT_END_STRING: r"\z",
            op.AT_BOUNDARY: r"\b",
            op.AT_NON_BOUNDARY: r"\B",
        }
        if place not in known:
            raise Unsupported(str(place))
        return known[place]


def _single(code: Any, argument: Any, flags: int) -> str:
    folds = bool(flags & re.IGNORECASE)
    if code is op.ANY:
        return r"[\x00-\x{10ffff}]" if flags & re.DOTALL else r"[^\n]"
    if code is op.LITERAL:
        return f"[{_range(argument, argument, folds)}]"
    if code is op.NOT_LITERAL:
        return f"[^{_range(argument, argument, folds)}]"
    negates = argument[0][0] is op.NEGATE
    kept = [each for each in argument if each[0] is not op.NEGATE]
    members = "".join(_member(code, inside, folds) for code, inside in kept)
    return f"[{'^' if negates else ''}{members}]"


def _member(code: Any, argument: Any, folds: bool) -> str:
    if code is op.LITERAL:
        return _range(argument, argument, folds)
    if code is op.RANGE:
        first, last = argument
        return _range(first, last, folds)
    known = _ASCII_CLASSES.get(argument) or _NEGATED.get(argument)
    if known is None:
        raise Unsupported(str(argument))
    return known


def _range(first: int, last: int, folds: bool) -> str:
    text = f"\\x{{{first:x}}}-\\x{{{last:x}}}"
    if folds:
        # `re.ASCII` knows the case of these letters alone.
        for low, high, other in ((65, 90, 32), (97, 122, -32)):
            begin, end = max(first, low), min(last, high)
            if begin <= end:
                text += f"\\x{{{begin + other:x}}}-\\x{{{end + other:x}}}"
    if last >= 0xD800 and first <= 0xDFFF:
        raise Unsupported("half a character")
    return text
