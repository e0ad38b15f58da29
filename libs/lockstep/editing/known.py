"""What has a name in a text, and what is wrong with it.

A text with a mistake is read without the annotation or the statement that holds it, and again, so
that one mistake hides neither the others nor the names of all other statements.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from lockstep.editing.leaving_out import Left, makes
from lockstep.editing.pieces import Lines, Piece, pieces, solid, statements
from lockstep.siddhiql import CheckedApp, SiddhiQLError, check

MAX_PROBLEMS: Final = 5
BLIND: Final = 10
"""After so many statements with mistakes nothing more is looked for."""
_NOTHING_LEFT: Final = ("the text is empty", "an app needs at least one definition")
"""What is said of a text whose definitions were all left out; nothing more can be found then."""
_OUTPUTS_END: Final = ("group", "having", "order", "limit", "offset", "output", "insert")


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
    """Names and types; a type is empty where it cannot be told."""

    def line(self) -> str:
        """As it would be defined."""
        within = ", ".join(f"{name} {kind}".rstrip() for name, kind in self.attributes)
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
    lines, problems = Lines(text), list[Problem]()
    left = Left(text)
    for _ in range(BLIND):
        try:
            app = check(left.text)
        except SiddhiQLError as error:
            if left.text != text and error.message.startswith(_NOTHING_LEFT):
                break
            offset = lines.offset(error.line, error.column)
            if not any(f"'{name}'" in error.message for name in left.broken):
                problems.append(_problem(text, error, offset))
            if not left.leave_out(parts, offset):
                break
        else:
            freed = left.freed - {name for part in parts for name in makes(part)}
            return Known(
                {name: one for name, one in _names(app).items() if name not in freed},
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
    """What the statements say by themselves, where the text as a whole cannot be read."""
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
    for part in parts:
        for made in _inserted(solid(part)):
            found.setdefault(made.name, made)
    return found


def _inserted(words: Sequence[Piece]) -> Iterator[Name]:
    """The stream that a query makes, with the names that its selector tells."""
    into = next((at for at, each in enumerate(words) if each.says("into")), None)
    if into is None or into + 1 == len(words) or words[into + 1].kind != "word":
        return
    start = next((at for at, each in enumerate(words) if each.says("select")), into)
    outputs, depth = list[str](), 0
    for before, each in zip(words[start:into], words[start + 1 : into], strict=False):
        depth += {"(": 1, ")": -1}.get(each.value, 0)
        if depth == 0 and (each.value == "," or each.says(*_OUTPUTS_END)):
            outputs += [before.name] if before.kind == "word" else []
            if each.says(*_OUTPUTS_END):
                break
    yield Name(words[into + 1].name, "stream", tuple((name, "") for name in outputs))
