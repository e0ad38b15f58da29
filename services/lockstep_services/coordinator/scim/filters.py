"""Filters of SCIM (RFC 7644, 3.4.2.2), as far as identity providers ask with them: `eq`, `and`,
`or`, brackets. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from lockstep.events.typed import from_json
from lockstep_services.coordinator.scim.errors import ScimError

MAX_CHARACTERS: Final = 2_000
MAX_DEPTH: Final = 20
CASELESS: Final = frozenset({"username", "displayname"})
"""Of these upper and lower case are the same (RFC 7643: caseExact false)."""
_TOKEN: Final = re.compile(
    r'\s*(?:(?P<text>"(?:[^"\\]|\\.)*")|(?P<mark>[()\[\]])|(?P<word>[A-Za-z$][\w.:$-]*))'
)
_CORE: Final = re.compile(r"urn:ietf:params:scim:schemas:core:2\.0:(?:User|Group):", re.IGNORECASE)
_HINT: Final = 'supported are: <attribute> eq "<text>", and, or, brackets'


@dataclass(frozen=True, slots=True)
class Equals:
    """`attribute` in lower case; the values of it hold `value`."""

    attribute: str
    value: str


@dataclass(frozen=True, slots=True)
class Every:
    """All of them hold."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """One of them holds."""

    parts: tuple[Filter, ...]


Filter = Equals | Every | Some
Facts = Mapping[str, Collection[str]]
"""The values of each attribute, its name in lower case."""


def parsed(text: str, attributes: Collection[str]) -> Filter:
    """`attributes`: which there are, in lower case. ScimError invalidFilter for what is no filter,
    and for what is not supported."""
    if len(text) > MAX_CHARACTERS:
        raise _wrong(f"the filter is longer than {MAX_CHARACTERS} characters")
    return _Reader(text, attributes).whole()


def matches(what: Filter, facts: Facts) -> bool:
    """Whether it holds for something with these values."""
    if isinstance(what, Every):
        return all(matches(one, facts) for one in what.parts)
    if isinstance(what, Some):
        return any(matches(one, facts) for one in what.parts)
    found = facts.get(what.attribute, ())
    if what.attribute in CASELESS:
        return what.value.casefold() in {one.casefold() for one in found}
    return what.value in found


def attributes_of(what: Filter) -> frozenset[str]:
    """What it asks about."""
    if isinstance(what, Equals):
        return frozenset({what.attribute})
    return frozenset().union(*map(attributes_of, what.parts))


def plain_name(name: str) -> str:
    """In lower case, without the name of the core schema in front."""
    return _CORE.sub("", name, count=1).lower()


class _Reader:
    def __init__(self, text: str, attributes: Collection[str]) -> None:
        self._tokens = _tokens(text)
        self._attributes = attributes
        self._at = 0

    def whole(self) -> Filter:
        found = self._some(0)
        if self._next():
            raise _wrong(f"nothing is expected from '{self._next()[:40]}' on")
        return found

    def _some(self, depth: int) -> Filter:
        parts = [self._every(depth)]
        while self._take("or"):
            parts.append(self._every(depth))
        return parts[0] if len(parts) == 1 else Some(tuple(parts))

    def _every(self, depth: int) -> Filter:
        parts = [self._one(depth)]
        while self._take("and"):
            parts.append(self._one(depth))
        return parts[0] if len(parts) == 1 else Every(tuple(parts))

    def _one(self, depth: int) -> Filter:
        if depth > MAX_DEPTH:
            raise _wrong(f"brackets are nested deeper than {MAX_DEPTH}")
        if self._take("("):
            found = self._some(depth + 1)
            self._expect(")")
            return found
        name = plain_name(self._next())
        self._at += 1
        if self._take("["):
            return self._inside(name)
        self._expect("eq")
        return self._equals(name)

    def _inside(self, name: str) -> Filter:
        """`members[value eq "x"]`."""
        inner = self._next().lower()
        self._at += 1
        self._expect("eq")
        found = self._equals(f"{name}.{inner}")
        self._expect("]")
        return found

    def _equals(self, name: str) -> Equals:
        if name not in self._attributes:
            known = ", ".join(sorted(self._attributes))
            raise _wrong(f"nothing can be asked about '{name[:40]}' (only about {known})")
        value, self._at = self._next(), self._at + 1
        if value.lower() in ("true", "false") and name == "active":
            return Equals(name, value.lower())
        if not value.startswith('"'):
            raise _wrong(f"'{value[:40]}' is no text in quotation marks")
        try:
            return Equals(name, from_json(value, str))
        except (msgspec.DecodeError, UnicodeError):
            raise _wrong("a text in it is not as JSON has them") from None

    def _next(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self, word: str) -> bool:
        if self._next().lower() != word:
            return False
        self._at += 1
        return True

    def _expect(self, word: str) -> None:
        if not self._take(word):
            raise _wrong(f"'{word}' is expected in the place of '{self._next()[:40]}'")


def _tokens(text: str) -> list[str]:
    found, at = [], 0
    text = text.rstrip()
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise _wrong(f"it cannot be read from '{text[at : at + 40]}' on")
        found.append(token[0].lstrip())
        at = token.end()
    return found


def _wrong(message: str) -> ScimError:
    return ScimError("invalidFilter", f"the filter is not taken: {message}", hint=_HINT)
