"""What has a name in a text, and what is wrong with it.

A text with a mistake is read without the statement that holds it, and again, so that one mistake
hides neither the others nor the names of all other statements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from lockstep.editing.pieces import Lines, Piece, pieces, solid, statements
from lockstep.siddhiql import CheckedApp, SiddhiQLError, check

MAX_PROBLEMS: Final = 5
BLIND: Final = 10
"""After so many statements with mistakes nothing more is looked for."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A mistake, the part of the text it stands in, and what to do."""

    message: str
    hint: str | None
    line: int
    column: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Name:
    """Something with a schema: `kind` is stream, table, window, trigger or aggregation."""

    name: str
    kind: str
    attributes: tuple[tuple[str, str], ...]

    def line(self) -> str:
        """As it would be defined."""
        within = ", ".join(f"{name} {kind}" for name, kind in self.attributes)
        return f"{self.kind} {self.name} ({within})"


@dataclass(frozen=True, slots=True)
class Known:
    """Of one text. `app` is None unless all of it is valid."""

    names: Mapping[str, Name]
    functions: Mapping[str, str]
    problems: Sequence[Problem]
    app: CheckedApp | None = field(repr=False, default=None)


def known(text: str) -> Known:
    """Names and problems; takes as long as checking the text, once more for each mistake."""
    parts = [part for part in statements(pieces(text)) if solid(part)]
    lines, broken, problems = Lines(text), list[str](), list[Problem]()
    left = text
    for _ in range(BLIND):
        try:
            app = check(left)
        except SiddhiQLError as error:
            offset = lines.offset(error.line, error.column)
            if not any(f"'{name}'" in error.message for name in broken):
                problems.append(_problem(text, error, offset))
            part = _holding(parts, offset)
            blank = _blanked(left, part)
            if blank == left:
                break
            broken += _makes(part)
            left = blank
        else:
            return Known(
                _names(app),
                {name: one.returns.value for name, one in app.functions.items()},
                problems[:MAX_PROBLEMS],
                None if problems else app,
            )
    return Known(_written(parts), {}, problems[:MAX_PROBLEMS])


def outline(text: str) -> Known:
    """Names and problems alone: what goes from one process to another."""
    return replace(known(text), app=None)


def at_sight(text: str) -> Known:
    """What the definitions say by themselves; takes no longer than cutting the text up."""
    return Known(_written([part for part in statements(pieces(text)) if solid(part)]), {}, ())


def _problem(text: str, error: SiddhiQLError, offset: int) -> Problem:
    end = offset
    while end < len(text) and (text[end].isalnum() or text[end] == "_"):
        end += 1
    width = max(1, end - offset)
    return Problem(error.message, error.hint, error.line, error.column, error.column + width)


def _holding(parts: Sequence[Sequence[Piece]], offset: int) -> Sequence[Piece]:
    """The statement at an offset: the last one that begins before it."""
    found: Sequence[Piece] = ()
    for part in parts:
        if solid(part)[0].start > offset:
            break
        found = part
    return found or (parts[0] if parts else ())


def _blanked(text: str, part: Sequence[Piece]) -> str:
    """Without the statement; everything else stays where it is."""
    if not part:
        return text
    start, end = part[0].start, part[-1].end
    blank = "".join(each if each == "\n" else " " for each in text[start:end])
    return text[:start] + blank + text[end:]


def _makes(part: Sequence[Piece]) -> list[str]:
    """The names that a statement brings into the app."""
    words = solid(part)
    found = []
    for number, each in enumerate(words[:-1]):
        behind = words[number + 1 :]
        if each.says("define") and len(behind) > 1:
            found.append(behind[1].name)
        elif each.says("into") and behind[0].kind == "word":
            found.append(behind[0].name)
    return found


def _names(app: CheckedApp) -> dict[str, Name]:
    kinds: dict[str, Mapping[str, object]] = {
        "table": app.tables,
        "window": app.windows,
        "trigger": app.triggers,
        "aggregation": app.aggregations,
    }
    found = {}
    for name, schema in app.schemas.items():
        kind = next((kind for kind, names in kinds.items() if name in names), "stream")
        attributes = tuple((one.name, str(one.type.value)) for one in schema.attributes)
        found[name] = Name(name, kind, attributes)
    return found


def _written(parts: Sequence[Sequence[Piece]]) -> dict[str, Name]:
    """What the definitions say by themselves, where the text as a whole cannot be read."""
    found = {}
    for part in parts:
        words = [each for each in solid(part) if each.kind in ("word", "symbol")]
        start = next((at for at, each in enumerate(words) if each.says("define")), None)
        if start is None or len(words) < start + 4:
            continue
        kind, name, rest = words[start + 1], words[start + 2], words[start + 3 :]
        inside = [each.name for each in rest if each.kind == "word"]
        pairs = tuple(zip(inside[::2], inside[1::2], strict=False))
        if kind.says("stream", "table", "window"):
            found[name.name] = Name(name.name, kind.value.lower(), pairs)
    return found
