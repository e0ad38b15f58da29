"""What stands at a place: what it is, where it is defined, where else it stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lockstep.editing.known import Known
from lockstep.editing.pieces import Lines, Piece, pieces, solid
from lockstep.editing.signatures import named, signature


@dataclass(frozen=True, slots=True)
class Place:
    """A part of a line; columns from 1, the end is behind it."""

    line: int
    column: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Hover:
    """What to say of the word at a place."""

    text: str
    place: Place


def hover(text: str, offset: int, found: Known) -> Hover | None:
    """What the word there is; None where there is nothing to say."""
    words = solid(pieces(text))
    at = _at(words, offset)
    if at is None:
        return None
    word, place = words[at], _place(Lines(text), words[at])
    if word.name in found.names and not _is_call(words, at):
        return Hover(found.names[word.name].line(), place)
    if word.name in found.functions:
        return Hover(
            f"{word.name}(…) → {found.functions[word.name]}, a function of this app", place
        )
    name = word.value
    if at > 1 and words[at - 1].value == ":":
        name = f"{words[at - 2].value}:{name}"
    told = [f"{signature(each)}\n{each.doc}".strip() for each in named(name)]
    if told and _is_call(words, at):
        return Hover("\n\n".join(told), place)
    return _attribute(word, place, found)


def _attribute(word: Piece, place: Place, found: Known) -> Hover | None:
    lines = [
        f"{word.name} {kind}, of {source.kind} {source.name}"
        for source in found.names.values()
        for name, kind in source.attributes
        if name == word.name
    ]
    return Hover("\n".join(lines), place) if lines else None


def definition(text: str, offset: int) -> Place | None:
    """Where the name there is defined; of a stream that only queries make, the first of them."""
    words = solid(pieces(text))
    at = _at(words, offset)
    if at is None:
        return None
    name = words[at].name
    makers = [
        number
        for number, each in enumerate(words)
        if each.name == name and each.kind == "word" and _is_made(words, number)
    ]
    defined = [number for number in makers if not words[number - 1].says("into")]
    return _place(Lines(text), words[(defined or makers)[0]]) if makers else None


def occurrences(text: str, offset: int, found: Known) -> list[Place]:
    """Everywhere the name there stands, for renaming; none for what is no name of this app, as
    an attribute: its name may stand for others, too."""
    words = solid(pieces(text))
    at = _at(words, offset)
    if at is None:
        return []
    name = words[at].name
    if (name not in found.names and name not in found.functions) or _is_builtin(words, at):
        return []
    lines = Lines(text)
    return [
        _place(lines, each)
        for number, each in enumerate(words)
        if each.kind == "word" and each.name == name and not _is_builtin(words, number)
    ]


def _is_made(words: Sequence[Piece], at: int) -> bool:
    return at > 0 and (words[at - 1].says("into") or (at > 1 and words[at - 2].says("define")))


def _is_builtin(words: Sequence[Piece], at: int) -> bool:
    """A window, or something of a namespace, that happens to be called so."""
    return at > 0 and words[at - 1].value in (":", ".", "@")


def _is_call(words: Sequence[Piece], at: int) -> bool:
    return at + 1 < len(words) and words[at + 1].value == "("


def _at(words: Sequence[Piece], offset: int) -> int | None:
    for number, each in enumerate(words):
        if each.kind == "word" and each.start <= offset <= each.end:
            return number
    return None


def _place(lines: Lines, word: Piece) -> Place:
    line, column = lines.place(word.start)
    return Place(line, column, column + len(word.value))
