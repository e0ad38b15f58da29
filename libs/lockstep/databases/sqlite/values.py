"""Columns of SQLite as attributes. Any column may hold any value there, so each value is looked at.
Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from lockstep.databases.contract import DatabaseError, TableShape
from lockstep.databases.values import is_within
from lockstep.events import AttributeType


def quoted(name: str) -> str:
    """A name as an identifier, whatever is in it. In double quotes SQLite would take one that it
    does not know for a text."""
    return f"`{name.replace('`', '``')}`"


def selected(shape: TableShape, alias: str) -> str:
    """How a query gives the columns that are wanted."""
    found = []
    for column, wanted in zip(shape.columns, shape.types, strict=True):
        name = f"{alias}.{quoted(column)}"
        found.append(f"CAST({name} AS TEXT)" if wanted is AttributeType.STRING else name)
    return ", ".join(found)


def read_rows(
    rows: Iterable[tuple[Any, ...]], shape: TableShape, where: str
) -> list[tuple[Any, ...]]:
    """Rows as attributes hold them. DatabaseError for a value that is none of its type."""
    readers = [
        _reader(column, wanted, where)
        for column, wanted in zip(shape.columns, shape.types, strict=True)
    ]
    return [
        tuple(
            None if value is None else read(value) for read, value in zip(readers, row, strict=True)
        )
        for row in rows
    ]


def _reader(column: str, wanted: AttributeType, where: str) -> Callable[[Any], Any]:
    def refused(value: Any) -> DatabaseError:
        kind = "bytes" if isinstance(value, bytes) else type(value).__name__
        return DatabaseError(
            f"column {column!r} holds the {kind} {value!r}, which is no {wanted.value}",
            where=where,
            hint="declare it as string, or as a larger type",
        )

    def whole(value: Any) -> int:
        if not isinstance(value, int) or not is_within(value, wanted):
            raise refused(value)
        return value

    def number(value: Any) -> float:
        if not isinstance(value, int | float):
            raise refused(value)
        return float(value)

    def truth(value: Any) -> bool:
        if value not in (0, 1):
            raise refused(value)
        return bool(value)

    match wanted:
        case AttributeType.INT | AttributeType.LONG:
            return whole
        case AttributeType.FLOAT | AttributeType.DOUBLE:
            return number
        case AttributeType.BOOL:
            return truth
    return str
