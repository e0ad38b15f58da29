"""The tables of a stream as one view, also where its attributes had other types. Pure.

Numbers become the wider type. Where types have nothing in common, as text and truth, each kind has
a column of its own, called `attribute__kind`, and none has the plain name: all rows are there, and
nobody takes one type for the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from lockstep.archive.naming import OWN_COLUMNS
from lockstep.archive.view_names import Fold

_KINDS: Final = {
    "number": ("int", "bigint", "smallint", "tinyint", "float", "double", "decimal", "halffloat"),
    "string": ("string", "large_string", "string_view", "varchar", "char"),
    "bool": ("bool", "boolean"),
    "object": ("binary", "large_binary", "fixed_size_binary"),
    "time": ("timestamp", "timestamp_ntz", "date"),
    "list": ("list", "array", "large_list"),
}
"""By how Arrow and Spark call a type, without what stands behind its name."""
_KIND_OF: Final = {word: kind for kind, words in _KINDS.items() for word in words}
_SAID: Final = {
    "int32": "int", "int64": "long", "bigint": "long", "boolean": "bool", "binary": "object",
}  # fmt: skip
_ONLY_NULLS: Final = "n"


@dataclass(frozen=True)
class Shape:
    """One table: the last part of its path, and the types of its columns as the engine calls them.
    `made_ms`, `holds`: when it was made, and whether a column has any value; asked where it counts.
    """

    name: str
    columns: Mapping[str, str]
    made_ms: Callable[[], int] = field(repr=False)
    holds: Callable[[str], bool] = field(repr=False)

    def is_void(self, column: str) -> bool:
        """Whether it has nothing but nulls, and so is text only because a table has no such
        type."""
        if kind_of(self.columns[column]) != "string":
            return False
        codes, dash, _ = self.name.partition("-")
        attributes = [one for one in self.columns if one not in OWN_COLUMNS]
        at = attributes.index(column) if column in attributes else len(codes)
        if dash and at < len(codes):
            return codes[at] == _ONLY_NULLS
        return not self.holds(column)


@dataclass(frozen=True, slots=True)
class Clash:
    """An attribute whose types have nothing in common."""

    column: str
    called: Sequence[str]
    """What stands there instead, the oldest first."""
    types: Sequence[tuple[str, int]]
    """Each with the time since when there are such rows, the oldest first."""

    def told(self, stream: str) -> tuple[str, str]:
        """Why there is no such column, and how to ask instead."""
        said = " and ".join(f"{kind} since {_time(since_ms)}" for kind, since_ms in self.types)
        message = f"{stream} has no '{self.column}' of one type: it was archived as {said}"
        return message, f"ask for {' or '.join(self.called)}: each has the rows of its type"


@dataclass(frozen=True, slots=True)
class Layout:
    """What the columns of each table are called in the view; those that are left out are null. No
    two types that have nothing in common bear one name."""

    names: Sequence[Mapping[str, str]]
    clashes: Sequence[Clash] = ()


def kind_of(kind: str) -> str:
    """Types of the same kind have something in common."""
    word = kind.partition("[")[0].partition("<")[0].partition("(")[0]
    return _KIND_OF.get(word) or _KIND_OF.get(word.rstrip("0123456789")) or word


def layout_of(shapes: Sequence[Shape], fold: Fold) -> Layout:
    """Of the tables of a view."""
    names: list[dict[str, str]] = [{} for _ in shapes]
    clashes: list[Clash] = []
    everywhere = _standing(shapes, fold)
    taken = set(everywhere)
    for standing in everywhere.values():
        column = standing[0][1]
        kinds = _kinds(shapes, standing)
        if len(kinds) > 1:
            full = [(at, own) for at, own in standing if not shapes[at].is_void(own)]
            kinds = _kinds(shapes, full)
        called = dict.fromkeys(kinds, column)
        if len(kinds) > 1:
            called = {kind: _free(f"{column}__{kind}", taken, fold) for kind in kinds}
            clashes.append(_clash(shapes, column, called, kinds))
        for kind, places in kinds.items():
            for at, own in places:
                names[at][own] = called[kind]
    return Layout(names, clashes)


def _standing(shapes: Sequence[Shape], fold: Fold) -> dict[str, list[tuple[int, str]]]:
    """Where each column stands, by its folded name: in which shapes, and as they call it."""
    found: dict[str, list[tuple[int, str]]] = {}
    for at, shape in enumerate(shapes):
        for own in shape.columns:
            found.setdefault(fold(own), []).append((at, own))
    return found


def _kinds(
    shapes: Sequence[Shape], standing: Iterable[tuple[int, str]]
) -> dict[str, list[tuple[int, str]]]:
    found: dict[str, list[tuple[int, str]]] = {}
    for at, own in standing:
        found.setdefault(kind_of(shapes[at].columns[own]), []).append((at, own))
    return found


def _free(name: str, taken: set[str], fold: Fold) -> str:
    chosen, number = name, 2
    while fold(chosen) in taken:
        chosen, number = f"{name}_{number}", number + 1
    taken.add(fold(chosen))
    return chosen


def _clash(
    shapes: Sequence[Shape],
    column: str,
    called: Mapping[str, str],
    kinds: Mapping[str, Sequence[tuple[int, str]]],
) -> Clash:
    since: dict[tuple[str, str], int] = {}
    for kind, places in kinds.items():
        for at, own in places:
            word, made_ms = shapes[at].columns[own], shapes[at].made_ms()
            one = (kind, _SAID.get(word, word))
            since[one] = min(made_ms, since.get(one, made_ms))
    types = sorted(since.items(), key=lambda one: (one[1], one[0]))
    names = dict.fromkeys(called[kind] for (kind, _), _ in types)
    return Clash(column, list(names), [(said, made_ms) for (_, said), made_ms in types])


def _time(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms // 1_000, UTC).isoformat().replace("+00:00", "Z")
