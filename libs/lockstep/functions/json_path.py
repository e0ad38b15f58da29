"""JSONPath: reads, and changes copies of, plain JSON values.

`$`, members (`.a`, `['a']`), positions (`[0]`, `[-1]`), `*`, `..`, slices, lists of either, filters
(`[?(@.price < 10 && @.title)]`) and `.length()`. A path that may match several gives a list. A path
without `$` starts at the root.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from lockstep.functions.java_equality import same
from lockstep.functions.java_regex import compile_pattern
from lockstep.functions.linear_regex import Pattern
from lockstep.operators.errors import EventError


class PathError(EventError):
    """A text that is no path."""


class MissingError(EventError):
    """A path that leads nowhere in this document."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step: its keys (names or positions), or a slice, or a filter; `deep` behind `..`."""

    keys: tuple[str | int, ...] = ()
    slice: slice | None = None
    condition: Callable[[Any, Any], bool] | None = None
    every: bool = False
    deep: bool = False
    length: bool = False

    @property
    def is_definite(self) -> bool:
        """Whether it leads to one place at most."""
        return (len(self.keys) == 1 or self.length) and not self.deep


Reference = tuple[Any, Any]
"""A container and the key of a value in it."""


def _steps_into(value: Any, step: Step, root: Any) -> Iterator[Reference]:
    if step.deep:
        plain = Step(step.keys, step.slice, step.condition, step.every)
        for inner in _descendants(value):
            yield from _steps_into(inner, plain, root)
        return
    if step.every or step.condition is not None:
        for key, member in _members(value):
            if step.condition is None or step.condition(member, root):
                yield value, key
        return
    if step.slice is not None:
        if isinstance(value, list):
            yield from ((value, at) for at in range(*step.slice.indices(len(value))))
        return
    for wanted in step.keys:
        found = _key_in(value, wanted)
        if found is not None:
            yield value, found


def _key_in(value: Any, key: str | int) -> str | int | None:
    if isinstance(value, dict) and isinstance(key, str):
        return key if key in value else None
    if isinstance(value, list) and isinstance(key, int) and -len(value) <= key < len(value):
        return key % len(value)
    return None


def _members(value: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(value, dict):
        return list(value.items())
    return list(enumerate(value)) if isinstance(value, list) else ()


def _descendants(value: Any) -> Iterator[Any]:
    yield value
    for _, member in _members(value):
        yield from _descendants(member)


class Path:
    """A compiled path."""

    def __init__(self, text: str, steps: tuple[Step, ...]) -> None:
        self.text = text
        self._steps = steps
        self.is_definite = all(step.is_definite for step in steps)
        self.keys: tuple[str | int, ...] | None = None
        """Names and positions that lead to its one place; None where it is not that simple."""
        if self.is_definite and not any(step.length for step in steps):
            self.keys = tuple(step.keys[0] for step in steps)

    def references(self, document: Any, root: Any = None) -> list[Reference]:
        """Where the path leads, each as (container, key); none for `$` itself."""
        references: list[Reference] = []
        values = [document]
        definite = True
        for step in self._steps:
            if step.length:
                break
            references = [p for value in values for p in _steps_into(value, step, root or document)]
            definite = definite and step.is_definite
            if not references and definite:
                raise MissingError(f"there is no {self.text} in the document")
            values = [container[key] for container, key in references]
        return references

    def read(self, document: Any, root: Any = None) -> Any:
        """The value, or the list of values of an indefinite path; MissingError where is none."""
        if self.keys is not None:
            return self._followed(document, self.keys)
        references = self.references(document, root)
        if not self._steps or (self._steps[0].length and len(self._steps) == 1):
            values = [document]
        else:
            values = [container[key] for container, key in references]
        if self._steps and self._steps[-1].length:
            values = [len(value) for value in values if isinstance(value, (list, dict, str))]
        if not self.is_definite:
            return values
        if not values:
            raise MissingError(f"there is no {self.text} in the document")
        return values[0]

    def _followed(self, document: Any, keys: tuple[str | int, ...]) -> Any:
        """The one place of a definite path."""
        value = document
        for key in keys:
            found = _key_in(value, key)
            if found is None:
                raise MissingError(f"there is no {self.text} in the document")
            value = value[found]
        return value

    def replaced(self, document: Any, value: Any) -> Any:
        """A copy of the document with the value in all references of the path."""
        if not self._steps:
            return value
        changed = copy.deepcopy(document)
        for container, key in self.references(changed):
            container[key] = value
        return changed

    def changed(self, document: Any, change: Callable[[Any], None]) -> Any:
        """A copy of the document in which the values of the path were changed."""
        copied = copy.deepcopy(document)
        found = self.read(copied)
        for value in [found] if self.is_definite else found:
            change(value)
        return copied


# --- the text of paths -------------------------------------------------------------------------

_NAME = re.compile(r"[^.\[\]()'\"\s*][^.\[\]()\s]*")
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"")
_NUMBER = re.compile(r"-?\d+(?![\d.:])")
_SLICE = re.compile(r"(-?\d+)?:(-?\d+)?(?::(-?\d+))?")


class _Reader:
    """Takes a path's text apart."""

    def __init__(self, text: str, at: int = 0) -> None:
        self.text = text
        self.at = at

    def see(self, token: str) -> bool:
        """Whether the token comes next; then it is taken."""
        found = self.text.startswith(token, self.at)
        if found:
            self.at += len(token)
        return found

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """What the pattern matches here; taken."""
        match = pattern.match(self.text, self.at)
        if match is not None and match.end() > self.at:
            self.at = match.end()
            return match
        return None

    def blanks(self) -> None:
        """Skips blanks."""
        while self.text.startswith(" ", self.at):
            self.at += 1

    def fail(self) -> PathError:
        """The error of this place."""
        what = f"{self.text!r} is no path: column {self.at + 1}"
        return PathError(what, hint="a path is written like $.orders[0].id")


def _read_steps(reader: _Reader) -> tuple[Step, ...]:
    steps: list[Step] = []
    while True:
        if reader.see(".."):
            steps.append(_child(reader, deep=True))
        elif reader.see("."):
            steps.append(_child(reader, deep=False))
        elif reader.text.startswith("[", reader.at):
            steps.append(_bracket(reader, deep=False))
        else:
            return tuple(steps)


def _child(reader: _Reader, *, deep: bool) -> Step:
    if reader.see("*"):
        return Step(every=True, deep=deep)
    if reader.text.startswith("[", reader.at):
        return _bracket(reader, deep=deep)
    name = reader.take(_NAME)
    if name is None:
        raise reader.fail()
    if reader.see("()"):
        if name[0] in ("length", "size"):
            return Step(length=True)
        raise reader.fail()
    return Step((name[0],), deep=deep)


def _bracket(reader: _Reader, *, deep: bool) -> Step:
    reader.see("[")
    reader.blanks()
    if reader.see("*"):
        step = Step(every=True, deep=deep)
    elif reader.see("?("):
        condition = _either(reader)
        reader.blanks()
        if not reader.see(")"):
            raise reader.fail()
        step = Step(condition=condition, deep=deep)
    else:
        step = _keys(reader, deep)
    reader.blanks()
    if not reader.see("]"):
        raise reader.fail()
    return step


def _keys(reader: _Reader, deep: bool) -> Step:
    part = reader.take(_SLICE)
    if part is not None:
        numbers = [None if bound is None else int(bound) for bound in part.groups()]
        return Step(slice=slice(*numbers), deep=deep)
    keys: list[str | int] = []
    while True:
        reader.blanks()
        quoted = reader.take(_QUOTED)
        number = None if quoted is not None else reader.take(_NUMBER)
        if quoted is not None:
            keys.append(_unquoted(quoted))
        elif number is not None:
            keys.append(int(number[0]))
        else:
            raise reader.fail()
        reader.blanks()
        if not reader.see(","):
            return Step(tuple(keys), deep=deep)


def _unquoted(match: re.Match[str]) -> str:
    inside = match[1] if match[1] is not None else match[2]
    return re.sub(r"\\(.)", r"\1", inside)


# --- filters -----------------------------------------------------------------------------------

Condition = Callable[[Any, Any], bool]
Operand = Callable[[Any, Any], Any]

_ABSENT = object()
_COMPARE = re.compile(r"==|!=|<=|>=|=~|<|>|(?:in|nin|contains)\b")
_LITERAL = re.compile(r"(true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_SLASHED = re.compile(r"/((?:[^/\\]|\\.)*)/([a-z]*)")


def _either(reader: _Reader) -> Condition:
    choices = [_both(reader)]
    while True:
        reader.blanks()
        if not reader.see("||"):
            return lambda value, root: any(choice(value, root) for choice in choices)
        choices.append(_both(reader))


def _both(reader: _Reader) -> Condition:
    parts = [_single(reader)]
    while True:
        reader.blanks()
        if not reader.see("&&"):
            return lambda value, root: all(part(value, root) for part in parts)
        parts.append(_single(reader))


def _single(reader: _Reader) -> Condition:
    reader.blanks()
    if reader.see("!"):
        negated = _single(reader)
        return lambda value, root: not negated(value, root)
    if reader.see("("):
        inner = _either(reader)
        reader.blanks()
        if not reader.see(")"):
            raise reader.fail()
        return inner
    left = _operand(reader)
    reader.blanks()
    operator = reader.take(_COMPARE)
    if operator is None:
        return lambda value, root: left(value, root) is not _ABSENT
    reader.blanks()
    right = _operand(reader)
    compare = _COMPARERS[operator[0]]
    return lambda value, root: compare(left(value, root), right(value, root))


def _operand(reader: _Reader) -> Operand:
    for start in ("@", "$"):
        if reader.see(start):
            path = Path(reader.text, _read_steps(reader))
            return _path_operand(path, from_root=start == "$")
    quoted = reader.take(_QUOTED)
    if quoted is not None:
        text = _unquoted(quoted)
        return lambda value, root: text
    literal = reader.take(_LITERAL)
    if literal is not None:
        constant = _literal(literal)
        return lambda value, root: constant
    slashed = reader.take(_SLASHED)
    if slashed is not None:
        pattern = compile_pattern(f"(?{slashed[2]}:{slashed[1]})" if slashed[2] else slashed[1])
        return lambda value, root: pattern
    if reader.see("["):
        return _list_operand(reader)
    raise reader.fail()


def _list_operand(reader: _Reader) -> Operand:
    items: list[Operand] = []
    while True:
        reader.blanks()
        if reader.see("]"):
            return lambda value, root: [item(value, root) for item in items]
        items.append(_operand(reader))
        reader.blanks()
        reader.see(",")


def _path_operand(path: Path, *, from_root: bool) -> Operand:
    def read(value: Any, root: Any) -> Any:
        try:
            return path.read(root if from_root else value, root)
        except MissingError:
            return _ABSENT

    return read


def _literal(match: re.Match[str]) -> Any:
    words = {"true": True, "false": False, "null": None}
    if match[1] is not None:
        return words[match[1]]
    return float(match[0]) if re.search("[.eE]", match[0]) else int(match[0])


def _equal(left: Any, right: Any) -> bool:
    if _is_number(left) and _is_number(right):
        return bool(left == right)
    return same(left, right)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def ordered(left: Any, right: Any) -> bool:
        comparable = (_is_number(left) and _is_number(right)) or (
            isinstance(left, str) and isinstance(right, str)
        )
        return comparable and compare(left, right)

    return ordered


def _contains(left: Any, right: Any) -> bool:
    if isinstance(left, str):
        return isinstance(right, str) and right in left
    return isinstance(left, list) and any(_equal(item, right) for item in left)


def _is_in(left: Any, right: list[Any]) -> bool:
    return any(_equal(left, item) for item in right)


_COMPARERS: dict[str, Callable[[Any, Any], bool]] = {
    "==": _equal,
    "!=": lambda left, right: not _equal(left, right),
    "<": _ordered(lambda left, right: left < right),
    "<=": _ordered(lambda left, right: left <= right),
    ">": _ordered(lambda left, right: left > right),
    ">=": _ordered(lambda left, right: left >= right),
    "=~": lambda left, right: (
        isinstance(left, str) and isinstance(right, Pattern) and right.fits(left)
    ),
    "in": lambda left, right: isinstance(right, list) and _is_in(left, right),
    "nin": lambda left, right: isinstance(right, list) and not _is_in(left, right),
    "contains": _contains,
}


@lru_cache(maxsize=2048)
def compile_path(text: str) -> Path:
    """The path of a text; raises PathError."""
    whole = text.strip()
    if not whole.startswith("$"):
        whole = f"${whole}" if whole.startswith("[") else f"$.{whole}"
    reader = _Reader(whole, 1)
    steps = _read_steps(reader)
    if reader.at != len(whole):
        raise reader.fail()
    return Path(text, steps)
