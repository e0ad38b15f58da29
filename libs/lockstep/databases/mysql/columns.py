"""Columns of MySQL and MariaDB as attributes of a copy: which fit, how a query gives them, and how
the binary log tells them, so that both are the same value. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from lockstep.databases.contract import DatabaseError
from lockstep.databases.mysql.connections import quoted
from lockstep.databases.values import is_within
from lockstep.events import AttributeType

_TYPE: Final = re.compile(r"(\w+)(?:\((.*)\))?((?: unsigned| zerofill)*)$", re.DOTALL)
_SMALL: Final = frozenset({"tinyint", "smallint"})
_INTS: Final = _SMALL | {"mediumint", "int"}
_WHOLE: Final = _INTS | {"bigint"}
_TEXTS: Final = frozenset({"char", "varchar", "tinytext", "text", "mediumtext", "longtext"})
_BYTES: Final = frozenset(
    {"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"}
)  # fmt: skip
_TIMES: Final = frozenset({"datetime", "timestamp"})
FITTING: Final[dict[AttributeType, frozenset[str]]] = {
    AttributeType.INT: _INTS | {"year"},
    AttributeType.LONG: _WHOLE | {"year"},
    AttributeType.FLOAT: _SMALL | {"float"},
    AttributeType.DOUBLE: _INTS | {"float", "double", "decimal"},
    AttributeType.BOOL: frozenset({"tinyint", "bit"}),
    AttributeType.STRING: _WHOLE | _TEXTS | _BYTES | _TIMES | {"enum", "decimal", "year", "date"},
}
_CHARSETS: Final = frozenset({"utf8mb4", "utf8mb3", "utf8", "ascii", "latin1"})
"""Of which the log's bytes become the same text here and in the server."""
_YEAR_NONE: Final = 1900
"""As which the log's reader gives the year 0000."""
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - as the log's reader gives '0000-00-00'
_SECONDS: Final = 19
"""Of a time's text what stands before the fraction."""


class UnlikeError(ValueError):
    """A value that the column cannot have as it is now."""


@dataclass(frozen=True, slots=True)
class Field:
    """A wanted column. `selected`: how a query asks for it; `loaded` and `told`: what becomes of
    the query's and of the log's value, which is not None. None of them may hold no value."""

    name: str
    selected: str
    loaded: Callable[[Any], Any]
    told: Callable[[Any], Any]


def field_of(
    table: str, name: str, type_: str, charset: str | None, wanted: AttributeType
) -> Field:
    """Of a column as SHOW FULL COLUMNS tells it. DatabaseError when it cannot be such an attribute
    without loss."""
    found = _TYPE.fullmatch(type_.lower())
    kind, size, rest = found.groups() if found else (type_, None, "")
    if kind not in FITTING[wanted] or (wanted is AttributeType.STRING and "zerofill" in rest):
        others = [one.value for one, kinds in FITTING.items() if kind in kinds and one != wanted]
        raise DatabaseError(
            f"column {name!r} of {table!r} is {type_}, which is no {wanted.value} in a copy",
            hint=f"declare it as {' or '.join(others)}" if others else "use mode='lookup'",
        )
    if kind in _TEXTS or kind == "enum":
        _check_charset(table, name, kind, charset or "")
    column = quoted(name)
    if wanted is not AttributeType.STRING:
        return _number(table, name, column, kind, wanted)
    if kind in _BYTES:
        # The log leaves the zeros at the end out.
        width = int(size or 1) if kind == "binary" else 0
        return Field(name, f"LOWER(HEX({column}))", str, lambda value: _hex(value, width))
    if kind in _TIMES or kind == "date":
        digits = int(size or 0)
        tell = _day if kind == "date" else lambda value: _time(value, kind, digits)
        return Field(name, f"CAST({column} AS CHAR)", _possible, tell)
    read = {"decimal": _decimal, "year": _year_text}.get(kind, str if kind in _WHOLE else _text)
    return Field(name, column, read, read)


def _check_charset(table: str, name: str, kind: str, charset: str) -> None:
    fit = _CHARSETS - {"latin1"} if kind == "enum" else _CHARSETS
    if charset not in fit:
        raise DatabaseError(
            f"column {name!r} of {table!r} has the character set {charset}, which a copy cannot"
            " read in the binary log",
            hint=f"ALTER TABLE {table} CONVERT TO CHARACTER SET utf8mb4, or use mode='lookup'",
        )


def _number(table: str, name: str, column: str, kind: str, wanted: AttributeType) -> Field:
    if wanted is AttributeType.BOOL:
        return Field(name, column, lambda v: any(v) if isinstance(v, bytes) else bool(v), _truth)
    if wanted in (AttributeType.FLOAT, AttributeType.DOUBLE):
        # The server rounds floats when it tells them.
        return Field(name, f"{column} + 0E0", float, lambda value: float(_is(value, _NUMBERS)))

    def whole(value: Any) -> int:
        number = _year(value) if kind == "year" else int(_is(value, int))
        if not is_within(number, wanted):
            raise DatabaseError(
                f"column {name!r} of {table!r} has {value}, which is no {wanted.value}",
                hint="declare it as a larger type, or as string",
            )
        return number

    return Field(name, column, whole, whole)


_NUMBERS: Final = (int, float, Decimal)


def _is(value: Any, kind: Any) -> Any:
    if not isinstance(value, kind):
        raise UnlikeError(type(value).__name__)
    return value


def _truth(value: Any) -> bool:
    """Bits are told as a text of them."""
    return "1" in value if isinstance(value, str) else bool(_is(value, int))


def _text(value: Any) -> str:
    return str(_is(value, str))


def _decimal(value: Any) -> str:
    return format(_is(value, Decimal), "f")


def _year(value: Any) -> int:
    number = int(_is(value, int))
    return 0 if number == _YEAR_NONE else number


def _year_text(value: Any) -> str:
    return f"{_year(value):04d}"


def _hex(value: Any, width: int) -> str:
    return str(_is(value, bytes).ljust(width, b"\0").hex())


def _day(value: Any) -> str:
    return str(_is(value, date).isoformat())


def _time(value: Any, kind: str, digits: int) -> str | None:
    moment = _is(value, datetime)
    if kind == "timestamp" and moment - _EPOCH < timedelta(seconds=1):
        return None
    text = str(moment.isoformat(" ", "microseconds"))
    return text[: _SECONDS + 1 + digits] if digits else text[:_SECONDS]


def _possible(text: str) -> str | None:
    """A day that is none, as '0000-00-00', has no value: the log cannot tell it."""
    try:
        datetime.fromisoformat(text[:_SECONDS])
    except ValueError:
        return None
    return text
