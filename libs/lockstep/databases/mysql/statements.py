"""What a statement that stands in the binary log as a text does to a table. Pure.

Rows that change stand there as rows. As texts come the ends of transactions, and what changes whole
tables: TRUNCATE, ALTER and their like.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Final

_TOKEN: Final = re.compile(
    r"\s+|/\*M?!\d*|\*/|/\*.*?\*/|--(?=\s)[^\n]*|\#[^\n]*"
    r"|`(?P<quoted>(?:[^`]|``)*)`|'(?:[^'\\]|\\.|'')*'"
    r'|"(?P<double>(?:[^"\\]|\\.|"")*)"|(?P<word>[\w$]+)|(?P<mark>.)',
    re.DOTALL,
)
"""What only some servers run is a part of the statement; other comments are not."""
_HEAD_CHARACTERS: Final = 400
_HEAD: Final = 5
_REMAKING: Final = frozenset(
    {"DROP", "MODIFY", "CHANGE", "CONVERT", "RENAME", "PARTITION", "IMPORT", "DISCARD", "COALESCE"}
    | {"REORGANIZE", "EXCHANGE", "TRUNCATE", "FOREIGN", "REFERENCES", "SYSTEM", "ENGINE"}
)
"""What an ALTER TABLE may say that does more than add a column or an index."""
_HARMLESS: Final = frozenset(
    {
        "GRANT",
        "REVOKE",
        "ANALYZE",
        "OPTIMIZE",
        "REPAIR",
        "FLUSH",
        "SET",
        "COMMENT",
        "RESET",
        "CHECK",
    }
)
_BEGINNINGS: Final = frozenset({"BEGIN", "START", "SAVEPOINT", "RELEASE"})


class Effect(Enum):
    """On the table, or on the transaction that is under way."""

    NOTHING = "nothing"
    COMMITTED = "committed"
    UNDONE = "undone"
    DOUBTFUL = "doubtful"
    """A part of the transaction is undone, and which one is not told."""
    EMPTIED = "emptied"
    REMADE = "remade"
    """It may be another table now: its rows have to be read again."""


class _Word(str):
    """An identifier in quotes: it is no keyword."""


def effect_of(text: str, schema: str, table: tuple[str, str]) -> Effect:
    """`schema`: where the statement ran; `table`: the wanted one's schema and name."""
    head = [one for one in _tokens(text[:_HEAD_CHARACTERS]) if one.strip()]
    keywords = [_keyword(one) for one in head]
    if not keywords or keywords[0] in _BEGINNINGS:
        return Effect.NOTHING
    control = _control(keywords)
    if control is not None:
        return control
    if keywords[0] == "DROP" and keywords[1:2] in (["DATABASE"], ["SCHEMA"]):
        is_ours = any(one.lower() == table[0].lower() for one in head)
        return Effect.REMADE if is_ours else Effect.NOTHING
    lower, name = text.lower(), table[1].lower()
    is_named = name in lower or name.replace("`", "``") in lower
    if not is_named or not _names(text, schema, table):
        return Effect.NOTHING
    return _of_table(keywords, text)


def _control(keywords: Sequence[str]) -> Effect | None:
    """Of a transaction."""
    match keywords:
        case ["XA", "COMMIT", *_]:
            return Effect.REMADE
        case ["XA", "ROLLBACK", *_]:
            return Effect.UNDONE
        case ["XA", *_]:
            return Effect.NOTHING
        case ["COMMIT", *_]:
            return Effect.COMMITTED
        case ["ROLLBACK", *rest]:
            return Effect.DOUBTFUL if "TO" in rest else Effect.UNDONE
    return None


def _names(text: str, schema: str, table: tuple[str, str]) -> bool:
    """Whether it says the table's name, and not only that of one in another database."""
    wanted = table[0].lower(), table[1].lower()
    before, last = "", ""
    for token in (one for one in _tokens(text) if one.strip()):
        if token.lower() == wanted[1]:
            where = before if last == "." else schema
            if where.lower() == wanted[0]:
                return True
        before, last = last, token
    return False


def _of_table(keywords: Sequence[str], text: str) -> Effect:
    """The statement names the table."""
    if keywords[:2] == ["SET", "STATEMENT"]:  # … FOR another one
        return Effect.REMADE
    is_harmless = keywords[0] in _HARMLESS or "TEMPORARY" in keywords[:_HEAD]
    if keywords[0] in ("CREATE", "DROP"):
        is_harmless = is_harmless or not {"TABLE", "TABLES"} & set(keywords[1:4])
    if keywords[0] == "ALTER":
        is_table = "TABLE" in keywords[:_HEAD]
        said = {_keyword(one) for one in _tokens(text)}
        is_harmless = not is_table or not said & _REMAKING
    if is_harmless:
        return Effect.NOTHING
    return Effect.EMPTIED if keywords[0] == "TRUNCATE" else Effect.REMADE


def _tokens(text: str) -> Iterator[str]:
    """Words, names and marks; no comments, no texts in single quotes."""
    for found in _TOKEN.finditer(text):
        kind = found.lastgroup
        if kind == "quoted":
            yield _Word(found["quoted"].replace("``", "`"))
        elif kind == "double":
            yield _Word(found["double"].replace('""', '"'))
        elif kind is not None:
            yield found[kind]


def _keyword(token: str) -> str:
    return "" if isinstance(token, _Word) else token.upper()
