"""Java's regular expressions as Python's: patterns, replacements and split.

Understood beyond what both share: `\\p{…}` classes, `\\h \\R \\z \\Z \\e \\cX \\x{…} \\0n`,
`\\Q…\\E`, `(?<name>…)`, `\\k<name>`, flags anywhere, unions and intersections of classes.
What Python cannot do (look-behind of variable length, `\\G`) is refused with a text that says so.
`^` and `$` know `\\n` alone where `(?m)` holds.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache
from itertools import groupby
from string import digits
from typing import Any

from lockstep.functions.linear_regex import Pattern
from lockstep.functions.regex_trees import LAST_LINE_END
from lockstep.operators.errors import EventError
from lockstep.operators.limits import check_size

_LINE_ENDS = r"\n\r\x85\u2028\u2029"
_ESCAPES = {
    "z": r"\Z",
    "R": r"(?:\r\n|[\n\x0b\f\r\x85\u2028\u2029])",
    "e": r"\x1b",
}
_CLASSES = {
    "h": r" \t\xa0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000",
    "v": r"\n\x0b\f\r\x85\u2028\u2029",
}
_POSIX = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": r"\x00-\x7f",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": r"!-/:-@\[-`{-~",
    "Graph": "!-~",
    "Print": " -~",
    "Blank": r" \t",
    "Cntrl": r"\x00-\x1f\x7f",
    "XDigit": "0-9a-fA-F",
    "Space": r" \t\n\x0b\f\r",
    "javaLowerCase": "Ll",
    "javaUpperCase": "Lu",
    "IsAlphabetic": "L",
    "IsLetter": "L",
    "IsDigit": "Nd",
    "IsPunctuation": "P",
    "IsLowercase": "Ll",
    "IsUppercase": "Lu",
}
_LAST_CHARACTER = 0x10FFFF


class RegexError(EventError):
    """A pattern or a replacement that cannot be used."""


@cache
def _runs() -> list[tuple[str, int, int]]:
    """All characters in stretches of one Unicode category: it, the first and behind the last."""
    runs: list[tuple[str, int, int]] = []
    start = 0
    characters = map(chr, range(_LAST_CHARACTER + 1))
    for category, found in groupby(map(unicodedata.category, characters)):
        end = start + sum(1 for _ in found)
        runs.append((category, start, end))
        start = end
    return runs


@cache
def _category(name: str) -> str:
    """The members of a Unicode category (`L`, `Lu`, …) as the inside of a class."""
    ranges: list[list[int]] = []
    for category, start, end in _runs():
        if category.startswith(name):
            if ranges and ranges[-1][1] == start:
                ranges[-1][1] = end
            else:
                ranges.append([start, end])
    return "".join(f"\\U{start:08x}-\\U{end - 1:08x}" for start, end in ranges)


def _property(name: str) -> str:
    """The inside of a class for the name between the braces of `\\p{…}`."""
    name = name.removeprefix("general_category=").removeprefix("gc=")
    known = _POSIX.get(name)
    if known is None:
        known = name.removeprefix("Is")
    elif not (len(known) <= 2 and known.isalpha()):
        return known
    members = _category(known) if re.fullmatch("[A-Z][a-z]?", known) else ""
    if not members:
        raise RegexError(f"there is no character class \\p{{{name}}}")
    return members


class _Translation:
    """One pass over a Java pattern. `end` is written for the end of the last line, where it is
    Java's and not Python's."""

    def __init__(self, pattern: str, end: str | None = None) -> None:
        self._text = pattern
        self._end = end
        self._at = 0
        self._out: list[str] = []
        # For each open group: how many flag groups close with it, and the flags behind it.
        self._open: list[tuple[int, frozenset[str]]] = []
        self._flag_groups = 0
        self._on: frozenset[str] = frozenset()
        """Of the flags that change what is written here: d, m and s."""

    def result(self) -> str:
        """The Python pattern."""
        while self._at < len(self._text):
            self._step()
        return "".join(self._out) + ")" * self._flag_groups

    def _take(self, length: int = 1) -> str:
        taken = self._text[self._at : self._at + length]
        self._at += length
        return taken

    def _until(self, end: str) -> str:
        stop = self._text.find(end, self._at)
        if stop < 0:
            raise RegexError(f"{end!r} is missing in the regular expression {self._text!r}")
        taken = self._text[self._at : stop]
        self._at = stop + len(end)
        return taken

    def _step(self) -> None:
        character = self._take()
        if character == "\\":
            self._out.append(self._escape())
        elif character == "[":
            self._out.append(self._class())
        elif character == "(":
            self._group()
        elif character == ")":
            if self._open:
                self._out.append(")" * self._flag_groups)
                self._flag_groups, self._on = self._open.pop()
            self._out.append(")")
        elif character == "." and "s" not in self._on:
            self._out.append(r"[^\n]" if "d" in self._on else f"[^{_LINE_ENDS}]")
        elif character == "$" and "m" not in self._on:
            self._out.append(self._last_line_end())
        else:
            self._out.append(character)

    def _last_line_end(self) -> str:
        if self._end is not None and "d" not in self._on:
            return self._end
        return "(?-m:$)" if "m" in self._on else "$"

    def _group(self) -> None:
        flags = re.compile(r"\?([a-zA-Z]*)(?:-([a-zA-Z]+))?([:)])").match(self._text, self._at)
        if flags is not None:
            self._at = flags.end()
            self._flags(flags[1], flags[2] or "", is_group=flags[3] == ":")
            return
        self._enter()
        if (
            self._text.startswith("?<", self._at)
            and self._text[self._at + 2 : self._at + 3] not in "=!"
        ):
            self._at += 2
            self._out.append(f"(?P<{self._until('>')}>")
        else:
            self._out.append("(")

    def _flags(self, on: str, off: str, *, is_group: bool) -> None:
        on_behind = (self._on | set(on)) - set(off)
        # Lower-case flags that Python has too; u and U change nothing that can be said there.
        on, off = ("".join(f for f in flags if f in "imsx") for flags in (on, off))
        text = f"(?{on}{'-' + off if off else ''}:"
        if is_group:
            self._enter()
        else:
            self._flag_groups += 1
        self._on = on_behind & {"d", "m", "s"}
        self._out.append(text)

    def _enter(self) -> None:
        self._open.append((self._flag_groups, self._on))
        self._flag_groups = 0

    def _escape(self) -> str:
        character = self._take()
        if character == "Z":
            return self._last_line_end()
        if character == "G":
            raise RegexError("\\G, where the match before ended, cannot be carried over")
        if character in _ESCAPES:
            return _ESCAPES[character]
        if character in _CLASSES:
            return f"[{_CLASSES[character]}]"
        if character in ("H", "V"):
            return f"[^{_CLASSES[character.lower()]}]"
        if character in ("p", "P"):
            return f"[{'^' if character == 'P' else ''}{self._named()}]"
        if character == "Q":
            return re.escape(self._quoted())
        if character == "k":
            self._take()
            return f"(?P={self._until('>')})"
        return self._plain_escape(character)

    def _plain_escape(self, character: str) -> str:
        if character == "x" and self._text.startswith("{", self._at):
            self._take()
            return f"\\U{int(self._until('}'), 16):08x}"
        if character == "c":
            return re.escape(chr(ord(self._take()) ^ 64))
        if character == "0":
            octal = re.compile("[0-3]?[0-7]{1,2}").match(self._text, self._at)
            if octal is None:
                raise RegexError(f"\\0 without digits in {self._text!r}")
            self._at = octal.end()
            return f"\\x{int(octal[0], 8):02x}"
        if character.isalnum() and character in "123456789AbBdDwWsSntrfauxbN":
            return "\\" + character
        if character.isalpha():
            raise RegexError(f"\\{character} is no escape of a regular expression")
        return re.escape(character)

    def _named(self) -> str:
        if self._text.startswith("{", self._at):
            self._take()
            return _property(self._until("}"))
        return _property(self._take())

    def _quoted(self) -> str:
        if "\\E" in self._text[self._at :]:
            return self._until("\\E")
        rest, self._at = self._text[self._at :], len(self._text)
        return rest

    # --- character classes ---------------------------------------------------------------------

    def _class(self) -> str:
        """A class behind its `[`: as one class where Python can say it, else as a group."""
        negated = self._text.startswith("^", self._at)
        if negated:
            self._take()
        parts = [self._operand()]
        while self._text.startswith("&&", self._at):
            self._take(2)
            parts.append(self._operand())
        self._take()  # the closing bracket
        *conditions, last = [_alternatives(plain, nested) for plain, nested in parts]
        if not conditions and not parts[0][1]:
            return f"[{'^' if negated else ''}{parts[0][0]}]"
        text = "".join(f"(?={condition})" for condition in conditions) + last
        return rf"(?:(?!{text})[\s\S])" if negated else f"(?:{text})"

    def _operand(self) -> tuple[str, list[str]]:
        """(inside of a plain class, nested classes) up to `&&` or the closing bracket."""
        plain: list[str] = []
        nested: list[str] = []
        first = True
        while True:
            if self._at >= len(self._text):
                raise RegexError(f"a character class is not closed in {self._text!r}")
            if self._text.startswith("&&", self._at):
                break
            if self._text[self._at] == "]" and not (first and not plain and not nested):
                break
            first = False
            character = self._take()
            if character == "[":
                nested.append(self._class())
            elif character == "\\":
                self._class_escape(plain, nested)
            else:
                plain.append("\\" + character if character in "&~|" else character)
        return "".join(plain), nested

    def _class_escape(self, plain: list[str], nested: list[str]) -> None:
        character = self._take()
        if character in _CLASSES:
            plain.append(_CLASSES[character])
        elif character == "p":
            plain.append(self._named())
        elif character in ("P", "H", "V"):
            inside = self._named() if character == "P" else _CLASSES[character.lower()]
            nested.append(f"[^{inside}]")
        elif character == "Q":
            plain.append(re.escape(self._quoted()))
        elif character == "e":
            plain.append(r"\x1b")
        else:
            plain.append(self._plain_escape(character))


def _alternatives(plain: str, nested: list[str]) -> str:
    choices = ([f"[{plain}]"] if plain else []) + nested
    return choices[0] if len(choices) == 1 else f"(?:{'|'.join(choices)})"


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> Pattern:
    """A Java pattern, compiled; raises RegexError for what is none or cannot be translated."""
    translated = _Translation(pattern).result()
    # Most texts end in no line end: there Python's `$` says the same, and is quicker.
    at_line_end = _Translation(pattern, LAST_LINE_END).result()
    try:
        # In Java \\w, \\d, \\s, \\b and case mean ASCII unless a flag asks for more.
        return Pattern(translated, re.ASCII, at_line_end)
    except (re.error, OverflowError) as error:
        raise RegexError(f"{pattern!r} cannot be used as a regular expression: {error}") from error


@lru_cache(maxsize=1024)
def _replacer(pattern: Pattern, replacement: str) -> Callable[[Any], str]:
    parts = _replacement_parts(pattern, replacement)

    def replace(match: Any) -> str:
        return "".join(part if isinstance(part, str) else match[part[0]] or "" for part in parts)

    return replace


def _replacement_parts(pattern: Pattern, replacement: str) -> list[str | tuple[int]]:
    """Texts and group references (`$1`, `${name}`); a backslash takes what follows as it is."""
    parts: list[str | tuple[int]] = []
    at = 0
    while at < len(replacement):
        character = replacement[at]
        at += 1
        if character not in "\\$":
            parts.append(character)
            continue
        if at >= len(replacement):
            raise RegexError(f"{replacement!r} ends in the middle of a reference")
        if character == "\\":
            parts.append(replacement[at])
            at += 1
            continue
        group, at = _reference(pattern, replacement, at)
        parts.append((group,))
    return parts


def _reference(pattern: Pattern, replacement: str, at: int) -> tuple[int, int]:
    if replacement[at] == "{":
        end = replacement.find("}", at)
        name = replacement[at + 1 : end]
        if end < 0 or name not in pattern.groupindex:
            raise RegexError(f"there is no group {name!r} for the replacement {replacement!r}")
        return pattern.groupindex[name], end + 1
    if replacement[at] not in digits:
        raise RegexError(f"a group is missing behind the $ of {replacement!r}")
    group = int(replacement[at])
    at += 1
    if group > pattern.groups:
        raise RegexError(f"there is no group {group} for the replacement {replacement!r}")
    # As many digits as still name a group.
    while at < len(replacement) and replacement[at] in digits:
        longer = group * 10 + int(replacement[at])
        if longer > pattern.groups:
            break
        group = longer
        at += 1
    return group, at


def replace(pattern: str, text: str, replacement: str, *, count: int = 0) -> str:
    """replaceAll (count 0) or replaceFirst (count 1)."""
    compiled = compile_pattern(pattern)
    pieces: list[str] = []
    start = size = 0
    replaced: Callable[[Any], str] | None = None
    for match in compiled.finditer(text):
        if replaced is None:
            replaced = _replacer(compiled, replacement)
        pieces += (text[start : match.start()], replaced(match))
        start = match.end()
        size += len(pieces[-1])
        check_size(size, "replacing by a regular expression")
        if count and len(pieces) == 2 * count:
            break
    return "".join(pieces) + text[start:]


def split(pattern: str, text: str) -> list[str]:
    """The pieces; empty ones at the end are dropped, and one before a match of no width."""
    pieces: list[str] = []
    start = 0
    for match in compile_pattern(pattern).finditer(text):
        if match.end() == 0 or (match.start() == match.end() == len(text)):
            continue
        pieces.append(text[start : match.start()])
        start = match.end()
    if not pieces:
        return [text]
    pieces.append(text[start:])
    while pieces and not pieces[-1]:
        pieces.pop()
    return pieces
