"""What stands at a place: what it is, where it is defined, where else it stands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from lockstep.editing.known import Known
from lockstep.editing.pieces import Lines, Piece, pieces, solid
from lockstep.editing.signatures import named, signature
from lockstep.editing.uses import Kind, Use, uses
from lockstep.siddhiql.printing.names import identifier
from lockstep.siddhiql.printing.names import name as quoted

_STRICT: Final = ("trigger", "aggregation")


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
    named = list(uses(text, found))
    there = _use(named, offset, found)
    if there is None:
        return []
    lines = Lines(text)
    return [
        _place(lines, use.word)
        for use in named
        if use.kind is there.kind and use.word.name == there.word.name
    ]


def refusal(text: str, offset: int, new_name: str, found: Known) -> str | None:
    """Why what stands there cannot be renamed so; None where it can."""
    there = _use(uses(text, found), offset, found)
    if there is None:
        return "nothing there can be renamed"
    name = new_name.strip("`")
    is_quoted = new_name == f"`{name}`" and "`" not in name and name.isprintable() and name != ""
    if not is_quoted and _written(there, new_name, found) != new_name:
        return (
            f"{new_name!r} is no name: letters, digits and _, and no word of the language; "
            "any other in `back-quotes`"
        )
    if name != there.word.name and (name in found.names or name in found.functions):
        return f"{name!r} is taken: something in this app is called so"
    return None


def _use(named: Iterable[Use], offset: int, found: Known) -> Use | None:
    """The name of the app that stands there."""
    there = next((use for use in named if use.word.start <= offset <= use.word.end), None)
    if there is None:
        return None
    known = found.functions if there.kind is Kind.FUNCTION else found.names
    return there if there.word.name in known else None


def _written(use: Use, name: str, found: Known) -> str:
    """The name as it must stand there: some take the words of the language for names."""
    is_strict = use.kind is Kind.FUNCTION or found.names[use.word.name].kind in _STRICT
    return identifier(name) if is_strict else quoted(name)


def _is_made(words: Sequence[Piece], at: int) -> bool:
    return at > 0 and (words[at - 1].says("into") or (at > 1 and words[at - 2].says("define")))


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
