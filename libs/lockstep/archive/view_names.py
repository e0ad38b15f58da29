"""What a query calls the views over the archive, and which of them it names. Pure.

Several things may want the same name: streams of several apps, streams whose names differ in case
alone, where that does not count, a stream that is called as another one's side. Then nothing has
it. So no query gets rows of another stream than its author means.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

_WORD: Final = re.compile(r"\w+")

Thing = TypeVar("Thing")
Fold = Callable[[str], str]
"""Names that it makes equal are the same name to who asks."""


@dataclass(frozen=True, slots=True)
class Claim(Generic[Thing]):
    """`what` wants to be called `name`. `source`: what it is, in words that nothing else has."""

    name: str
    what: Thing
    source: str


def by_name(
    claims: Iterable[Claim[Thing]], fold: Fold = str.casefold
) -> dict[str, list[Claim[Thing]]]:
    """Who wants each name, by the folded name; a source counts once."""
    found: dict[str, dict[str, Claim[Thing]]] = {}
    for one in claims:
        found.setdefault(fold(one.name), {}).setdefault(one.source, one)
    return {name: list(sources.values()) for name, sources in found.items()}


def named_in(sql: str, names: Iterable[str]) -> list[str]:
    """Those that a query may name: that are a word of it, in whatever case. A word may be something
    else, too: a column, a part of a text."""
    text = sql.casefold()
    words = set(_WORD.findall(text))
    found = []
    for name in names:
        folded = name.casefold()
        if folded in words or (not _WORD.fullmatch(folded) and folded in text):
            found.append(name)
    return found


def told(name: str, several: Sequence[Claim[Thing]], wanted: Mapping[str, list[Claim[Thing]]]) -> (
    tuple[str, str]
):  # fmt: skip
    """Why nobody has a name, and how to ask instead."""
    sources = [one.source for one in several]
    message = f"'{name}' may be {', or '.join(sources)}"
    names: dict[str, str] = {}
    for claims in wanted.values():
        if len(claims) == 1:
            names.setdefault(claims[0].source, claims[0].name)
    if all(one in names for one in sources):
        return message, f"ask for {' or '.join(names[one] for one in sources)}"
    hint = "Python tells streams apart, by `stream(app, stream)`; scripts' tables need other names"
    return message, hint
