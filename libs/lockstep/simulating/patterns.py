"""Texts that match a pattern: regular expressions read backwards. Pure but for the randomness.

Two kinds are read. A plain pattern knows `[a-z]` and `\\d` alone, everything else in it stands for
itself. A regular expression knows groups, alternatives and repetitions, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from lockstep.clock import Randomness
from lockstep.simulating.errors import SimulationError

MAX_TEXT_CHARACTERS: Final = 4_096
MAX_MEMBERS: Final = 1_024
MAX_DEPTH: Final = 20
OPEN_END: Final = 8
"""So many times more often than they must be do `*`, `+` and `{n,}` repeat at most."""
DIGITS: Final = "0123456789"
LETTERS: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
PRINTABLE: Final = "".join(map(chr, range(32, 127)))
CLASSES: Final = {"d": DIGITS, "w": LETTERS + DIGITS + "_", "s": " "}
SPECIAL: Final = {"n": "\n", "t": "\t", "r": "\r"}
UNKNOWN: Final = "bBAZDWSpPkxu0123456789"
_TIMES: Final = re.compile(r"\d{1,9}", re.ASCII)
Draw = Callable[[Randomness], str]


@dataclass(frozen=True, slots=True)
class Pattern:
    """Draws texts that are never longer than `longest` characters. `members`: of a pattern that is
    one character of these."""

    draw: Draw
    longest: int
    members: str = ""


def one_of(choices: Sequence[str], randomness: Randomness) -> str:
    """Each as likely as any other."""
    return choices[min(int(randomness.fraction() * len(choices)), len(choices) - 1)]


def between(low: int, high: int, randomness: Randomness) -> int:
    """Both included, each as likely as any other."""
    return low + min(int(randomness.fraction() * (high - low + 1)), high - low)


def pattern_of(written: str, *, plain: bool) -> Pattern:
    """SimulationError says what of it cannot be drawn."""
    reader = _Reader(written, plain)
    found = reader.alternatives()
    if reader.rest:
        raise reader.refused(f"{reader.rest[0]!r} closes nothing")
    return found


class _Reader:
    """Reads a pattern from left to right."""

    def __init__(self, written: str, plain: bool) -> None:
        self._written = written
        self._plain = plain
        self._at = 0
        self._depth = 0

    @property
    def rest(self) -> str:
        """What is not read yet."""
        return self._written[self._at :]

    def refused(self, message: str) -> SimulationError:
        """An error that names the place."""
        return SimulationError(
            f"character {self._at + 1}: {message}",
            where=f"pattern {self._written[:60]!r}",
        )

    def alternatives(self) -> Pattern:
        """`a|b`."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self.refused(f"more than {MAX_DEPTH} groups within one another")
        branches = [self._sequence()]
        while self._takes("|"):
            branches.append(self._sequence())
        self._depth -= 1
        if len(branches) == 1:
            return branches[0]

        def draw(randomness: Randomness) -> str:
            chosen = branches[between(0, len(branches) - 1, randomness)]
            return chosen.draw(randomness)

        return Pattern(draw, max(one.longest for one in branches))

    def _sequence(self) -> Pattern:
        parts: list[Pattern] = []
        longest = 0
        while self.rest and (self._plain or self.rest[0] not in "|)"):
            parts.append(self._repeated(self._piece()))
            longest += parts[-1].longest
            if longest > MAX_TEXT_CHARACTERS:
                raise self.refused(f"its texts can have more than {MAX_TEXT_CHARACTERS} characters")
        return Pattern(lambda randomness: "".join(one.draw(randomness) for one in parts), longest)

    def _piece(self) -> Pattern:
        each = self._next()
        if each == "[" and (not self._plain or "]" in self.rest):
            return _chosen(self._members())
        if each == "\\":
            return self._escaped()
        if self._plain:
            return _chosen(each)
        if each == "(":
            return self._group()
        if each == ".":
            return _chosen(PRINTABLE)
        if each in "^$":
            return Pattern(lambda _: "", 0)
        if each in "*+?{":
            raise self.refused(f"{each!r} has nothing to repeat: write \\{each} for the character")
        return _chosen(each)

    def _group(self) -> Pattern:
        if self._takes("?") and not self._takes(":"):
            raise self.refused("of groups with a question mark there is (?:…) alone")
        inner = self.alternatives()
        if not self._takes(")"):
            raise self.refused("a group is not closed")
        return inner

    def _escaped(self) -> Pattern:
        each = self._next() if self.rest else "\\"
        if self._plain:
            return _chosen(DIGITS if each == "d" else each)
        if each in UNKNOWN:
            raise self.refused(f"\\{each} is not known here")
        return _chosen(CLASSES.get(each) or SPECIAL.get(each, each))

    def _members(self) -> str:
        """Of a class: `a-c9` → `abc9`."""
        is_not = not self._plain and self._takes("^")
        found: list[str] = []
        while not found or not self._takes("]"):
            if not self.rest:
                raise self.refused("a class is not closed")
            found += self._member()
            if len(found) > MAX_MEMBERS:
                raise self.refused(f"a class has more than {MAX_MEMBERS} characters")
        if not is_not:
            return "".join(found)
        left = "".join(one for one in PRINTABLE if one not in found)
        if not left:
            raise self.refused("a class leaves no character")
        return left

    def _member(self) -> str:
        each = self._next()
        if each == "\\" and self.rest:
            each = self._next()
            if each in CLASSES:
                return CLASSES[each]
            each = SPECIAL.get(each, each)
        if not (self.rest.startswith("-") and self.rest[1:2] not in ("", "]")):
            return each
        self._next()
        last = self._next()
        if last == "\\" and self.rest:
            last = self._next()
        if not 0 <= ord(last) - ord(each) <= MAX_MEMBERS:
            raise self.refused(f"{each}-{last} is no range")
        return "".join(map(chr, range(ord(each), ord(last) + 1)))

    def _repeated(self, piece: Pattern) -> Pattern:
        least, most = self._times()
        if (least, most) == (1, 1) or not piece.longest:
            return piece

        def draw(randomness: Randomness) -> str:
            count = between(least, most, randomness)
            if piece.members:
                return _many_of(piece.members, count, randomness)
            return "".join([piece.draw(randomness) for _ in range(count)])

        return Pattern(draw, piece.longest * most)

    def _times(self) -> tuple[int, int]:
        if self._plain:
            return 1, 1
        found = (1, 1)
        if self._takes("?"):
            return 0, 1
        if self._takes("*"):
            found = (0, OPEN_END)
        elif self._takes("+"):
            found = (1, 1 + OPEN_END)
        elif self._takes("{"):
            found = self._counted()
        else:
            return found
        self._takes("?")
        return found

    def _counted(self) -> tuple[int, int]:
        inside, closing, _ = self.rest.partition("}")
        low, comma, high = inside.partition(",")
        if not closing or not _TIMES.fullmatch(low) or not (high == "" or _TIMES.fullmatch(high)):
            raise self.refused("a number of times is {2}, {2,4} or {2,}")
        self._at += len(inside) + 1
        least = min(int(low), MAX_TEXT_CHARACTERS)
        most = least if not comma else least + OPEN_END if not high else int(high)
        if most < least or most > MAX_TEXT_CHARACTERS:
            raise self.refused(f"{{{inside}}} is no number of times")
        return least, most

    def _next(self) -> str:
        each = self._written[self._at]
        self._at += 1
        return each

    def _takes(self, wanted: str) -> bool:
        if self._plain and wanted in "|()?*+{":
            return False
        is_there = self.rest.startswith(wanted)
        self._at += is_there
        return is_there


def _chosen(members: str) -> Pattern:
    return Pattern(lambda randomness: one_of(members, randomness), 1, members)


def _many_of(members: str, count: int, randomness: Randomness) -> str:
    """As `one_of` would give one after the other, without a call for each."""
    size, last, fraction = len(members), len(members) - 1, randomness.fraction
    return "".join([members[min(int(fraction() * size), last)] for _ in range(count)])
