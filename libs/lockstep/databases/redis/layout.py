"""How the rows of a table lie in Redis: each a hash of texts, at a key made of its primary key.
Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from lockstep.databases.contract import DatabaseError, TableShape
from lockstep.databases.values import is_within
from lockstep.events import AttributeType

_TRUTH: Final = {"true": True, "false": False, "1": True, "0": False}
_GLOB: Final = frozenset("*?[]\\^-")


def key_of(table: str, texts: Sequence[str]) -> str:
    """`table:key`, as the older product wrote it; of several attributes each has its `%` and `:`
    as `%25` and `%3A`, so that no two keys are one."""
    if len(texts) > 1:
        texts = [text.replace("%", "%25").replace(":", "%3A") for text in texts]
    return ":".join((table, *texts))


def key_texts(rest: str, count: int) -> list[str] | None:
    """The texts of which a key was made, from what stands behind the table; None where they would
    not be so many."""
    if count == 1:
        return [rest]
    texts = rest.split(":")
    if len(texts) != count:
        return None
    return [text.replace("%3A", ":").replace("%25", "%") for text in texts]


def pattern_of(table: str) -> str:
    """What the keys of a table fit, and no others but those of a table whose name begins with
    this one's and a colon."""
    return "".join(f"\\{one}" if one in _GLOB else one for one in table) + ":*"


def asked_text(value: Any) -> str:
    """A value of a key as its row has it; floats have many texts, and are not asked for."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def row_of(
    shape: TableShape, key: Mapping[str, Any], fields: Mapping[bytes, bytes], where: str
) -> tuple[Any, ...]:
    """A row, with its key's columns as they are known and the others of the hash; null where it has
    no such field. DatabaseError for a text that is no value of its type."""
    return tuple(
        key[column] if column in key else read(fields.get(column.encode()), column, wanted, where)
        for column, wanted in zip(shape.columns, shape.types, strict=True)
    )


def read(raw: bytes | str | None, column: str, wanted: AttributeType, where: str) -> Any:
    """What a text says. DatabaseError."""
    if raw is None:
        return None
    text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw
    try:
        return _value(text, wanted)
    except (ValueError, KeyError) as error:
        raise DatabaseError(
            f"{column!r} of a row is {text!r}, which is no {wanted.value}",
            where=where,
            hint="declare it as string",
        ) from error


def _value(text: str, wanted: AttributeType) -> Any:
    match wanted:
        case AttributeType.INT | AttributeType.LONG:
            number = int(text)
            if not is_within(number, wanted):
                raise ValueError(text)
            return number
        case AttributeType.FLOAT | AttributeType.DOUBLE:
            found = float(text)
            return math.nan if math.isnan(found) else found  # one NaN is what another one is
        case AttributeType.BOOL:
            return _TRUTH[text.lower()]
    return text
