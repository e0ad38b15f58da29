"""What a table that is there already takes for the same: by its columns' collations, and by its
unique indexes. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Final

from lockstep.databases.mysql.connections import quoted
from lockstep.events import AttributeType, StreamSchema

EXACT_COLLATIONS: Final = ("utf8mb4_nopad_bin", "utf8mb4_0900_bin")
"""MariaDB's and MySQL's: they tell all texts apart, also those that differ in blanks at the end.
Other binary ones do not."""
_TEXTS: Final = (AttributeType.STRING, AttributeType.OBJECT)
_LITERAL: Final = r"'(?:[^'\\]|''|\\.)*'"
_REST: Final = re.compile(
    r"(?: CHARACTER SET \w+)?(?: COLLATE \w+)?"
    rf"((?: NOT NULL)?(?: DEFAULT (?:NULL|{_LITERAL}))?(?: COMMENT {_LITERAL})?),?"
)
"""What SHOW CREATE TABLE tells of a column behind its type, if that is all there is to it: a
default that is an expression, for one, is more."""


@dataclass(frozen=True, slots=True)
class Column:
    """Of a table that is there, as SHOW FULL COLUMNS tells it. `collation`: None for no text."""

    name: str
    kind: str
    collation: str | None
    is_counted: bool

    @property
    def cuts_blanks(self) -> bool:
        """A text loses its blanks at the end."""
        return self.kind.startswith("char")

    @property
    def is_vague(self) -> bool:
        """Whether two texts may be one here."""
        if self.collation is None or self.collation == "binary":
            return False
        is_exact = self.collation in EXACT_COLLATIONS or self.collation.endswith("_nopad_bin")
        return self.cuts_blanks or not is_exact

    def wanted(self, collation: str) -> str:
        """What tells all texts apart."""
        kind = f"var{self.kind}" if self.cuts_blanks else self.kind
        return f"{quoted(self.name)} {kind} COLLATE {collation}"

    def mending(self, collation: str, created: str) -> str | None:
        """What makes it so, as a part of ALTER TABLE. That sets all anew, so what the column has
        is repeated as the server told it (`created`). None if that is more than is known here."""
        begin = f"  {quoted(self.name)} {self.kind}"
        for line in created.split("\n"):
            if line.startswith(begin) and (found := _REST.fullmatch(line.removeprefix(begin))):
                return f"MODIFY {self.wanted(collation)}{found[1]}"
        return None


@dataclass(frozen=True, slots=True)
class Index:
    """A unique one. `columns`: in lower case; `whole`: those of which it takes the whole value."""

    columns: Set[str]
    whole: Set[str]


def columns_of(rows: Iterable[Sequence[Any]]) -> dict[str, Column]:
    """What SHOW FULL COLUMNS gives, by the names in lower case."""
    return {
        str(name).lower(): Column(
            str(name), str(kind), collation, "auto_increment" in str(extra).lower()
        )
        for name, kind, collation, _, _, _, extra, *_ in rows
    }


def indexes_of(rows: Iterable[Sequence[Any]]) -> list[Index]:
    """What SHOW INDEX gives of unique ones: a row for each of their columns."""
    found: dict[str, Index] = {}
    for _, _, index, _, column, _, _, length, *_ in rows:
        one = found.setdefault(index, Index(set(), set()))
        found[index] = Index(
            one.columns | {str(column).lower()},
            one.whole if length else one.whole | {str(column).lower()},
        )
    return list(found.values())


def vague_columns(schema: StreamSchema, columns: Mapping[str, Column]) -> dict[str, Column]:
    """Those of text attributes, by the attributes' names."""
    found = {one.name: columns.get(one.name.lower()) for one in schema.attributes}
    texts = [one.name for one in schema.attributes if one.type in _TEXTS]
    return {name: one for name in texts if (one := found[name]) is not None and one.is_vague}


def may_clash(
    schema: StreamSchema, key: Set[str], indexes: Sequence[Index], columns: Mapping[str, Column]
) -> bool:
    """Whether a unique index may refuse a row whose key, in lower case, is new. Not so the key's
    own one, nor one of a number that the server counts."""
    written = {name.lower() for name in schema.names}
    counted = {name for name, one in columns.items() if one.is_counted} - written
    return any(not key <= one.whole and not counted & one.columns for one in indexes)
