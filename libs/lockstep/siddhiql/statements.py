"""SQL that an app holds: its marks for values, its kind, and the attributes that it gives. Pure."""

from __future__ import annotations

import re
from typing import Final

from lockstep.events import AttributeType

CHANGING: Final = ("insert", "update", "delete", "replace", "merge")
ASKING: Final = ("select", "with", "values")
GIVEN_TYPES: Final = tuple(one.value for one in AttributeType if one is not AttributeType.OBJECT)

_PART: Final = re.compile(
    r"'(?:[^']|'')*' | \"(?:[^\"]|\"\")*\" | `[^`]*` | --[^\n]* | /\*.*?\*/ | (?P<mark>\?)",
    re.VERBOSE | re.DOTALL,
)
_BLANK: Final = re.compile(r"(?:\s | --[^\n]*(?:\n|$) | /\*.*?\*/ | \()*", re.VERBOSE | re.DOTALL)
_ATTRIBUTE: Final = re.compile(rf"\s*(\w+)\s+({'|'.join(GIVEN_TYPES)})\s*", re.I | re.ASCII)


def pieces(sql: str) -> list[str]:
    """The text around its marks `?`: one more than there are marks. Those in texts, names and
    comments are none."""
    found, start = [], 0
    for part in _PART.finditer(sql):
        if part.group("mark"):
            found.append(sql[start : part.start()])
            start = part.end()
    return [*found, sql[start:]]


def first_word(sql: str) -> str:
    """In small letters; behind comments and brackets."""
    blank = _BLANK.match(sql)
    word = re.match(r"\w*", sql[blank.end() if blank else 0 :], re.ASCII)
    return word.group().lower() if word else ""


def given_attributes(text: str) -> tuple[tuple[str, AttributeType], ...] | None:
    """Those of `name type, name type`; None where it is no such list."""
    found: dict[str, AttributeType] = {}
    for one in text.split(","):
        match = _ATTRIBUTE.fullmatch(one)
        if match is None or match[1] in found:
            return None
        found[match[1]] = AttributeType(match[2].lower())
    return tuple(found.items())
