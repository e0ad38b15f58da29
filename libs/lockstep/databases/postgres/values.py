"""Columns of PostgreSQL as attributes: which fit, how a query gives them, how a change's text is
read. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from lockstep.databases.contract import DatabaseError
from lockstep.events import AttributeType

_BOOL, _INT8, _INT2, _INT4, _FLOAT4, _FLOAT8, _CHAR, _NUMERIC = 16, 20, 21, 23, 700, 701, 1042, 1700

FITTING: Final[dict[AttributeType, frozenset[int]]] = {
    AttributeType.INT: frozenset({_INT2, _INT4}),
    AttributeType.LONG: frozenset({_INT2, _INT4, _INT8}),
    AttributeType.FLOAT: frozenset({_FLOAT4, _INT2}),
    AttributeType.DOUBLE: frozenset({_FLOAT4, _FLOAT8, _NUMERIC, _INT2, _INT4}),
    AttributeType.BOOL: frozenset({_BOOL}),
}
CASTS: Final = {
    AttributeType.STRING: "text",
    AttributeType.INT: "int4",
    AttributeType.LONG: "int8",
    AttributeType.FLOAT: "float4",
    AttributeType.DOUBLE: "float8",
    AttributeType.BOOL: "bool",
}
_READERS: Final[dict[AttributeType, Callable[[str], Any]]] = {
    AttributeType.STRING: str,
    AttributeType.INT: int,
    AttributeType.LONG: int,
    AttributeType.FLOAT: float,
    AttributeType.DOUBLE: float,
    AttributeType.BOOL: lambda text: text == "t",
}


def quoted(name: str) -> str:
    """A name as an SQL identifier; a dot separates schema and table."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in name.split("."))


def check_fit(table: str, column: str, wanted: AttributeType, number: int, called: str) -> None:
    """DatabaseError when a column cannot be such an attribute without loss."""
    if wanted is AttributeType.STRING or number in FITTING[wanted]:
        return
    others = [kind.value for kind, numbers in FITTING.items() if number in numbers]
    raise DatabaseError(
        f"column {column!r} of {table!r} is {called}, which is no {wanted.value}",
        hint=f"declare it as {' or '.join([*others, 'string'])}",
    )


def selected(column: str, wanted: AttributeType) -> str:
    """How a query gives the column."""
    return f"{quoted(column)}::{CASTS[wanted]}"


def reader_of(wanted: AttributeType, number: int) -> Callable[[str], Any]:
    """How the text of a change is read, so that it is what a query gives."""
    if wanted is AttributeType.STRING and number == _BOOL:
        return lambda text: "true" if text == "t" else "false"
    if wanted is AttributeType.STRING and number == _CHAR:
        return lambda text: text.rstrip(" ")
    return _READERS[wanted]
