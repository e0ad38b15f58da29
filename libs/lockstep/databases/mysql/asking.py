"""Rows of a MySQL or MariaDB table by the values of some columns, many values at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from lockstep.databases.contract import MAX_ANSWER_ROWS, DatabaseError, TableShape, too_many
from lockstep.databases.datasources import Datasource
from lockstep.databases.mysql.connections import MysqlQuestions, quoted
from lockstep.databases.values import is_within
from lockstep.events import AttributeType

_TINY, _SHORT, _LONG, _FLOAT, _DOUBLE, _LONGLONG, _INT24, _YEAR, _BIT = 1, 2, 3, 4, 5, 8, 9, 13, 16
_DECIMAL, _NEWDECIMAL = 0, 246
_INTS: Final = frozenset({_TINY, _SHORT, _INT24, _LONG, _YEAR})
FITTING: Final[dict[AttributeType, frozenset[int]]] = {
    AttributeType.INT: _INTS,
    AttributeType.LONG: _INTS | {_LONGLONG},
    AttributeType.FLOAT: frozenset({_FLOAT, _TINY, _SHORT}),
    AttributeType.DOUBLE: _INTS | {_FLOAT, _DOUBLE, _DECIMAL, _NEWDECIMAL},
    AttributeType.BOOL: frozenset({_TINY, _BIT}),
}
_CALLED: Final = {
    _TINY: "TINYINT", _SHORT: "SMALLINT", _LONG: "INT", _FLOAT: "FLOAT", _DOUBLE: "DOUBLE",
    _LONGLONG: "BIGINT", _INT24: "MEDIUMINT", _YEAR: "YEAR", _BIT: "BIT", _DECIMAL: "DECIMAL",
    _NEWDECIMAL: "DECIMAL",
}  # fmt: skip


class MysqlAsking:
    """See `Asking`."""

    def __init__(self, datasource: Datasource) -> None:
        self._datasource = datasource
        self._questions = MysqlQuestions(datasource)

    async def rows(
        self, shape: TableShape, equal: Sequence[str], keys: Sequence[tuple[Any, ...]]
    ) -> list[tuple[Any, ...]]:
        """See `Asking`. What the table's collation holds for equal comes too; who asks compares."""
        possible = [key for key in keys if all(map(_is_storable, key))]
        if not possible:
            return []
        values = [value for key in possible for value in key]
        kinds, found = await self._questions.ask(question(shape, equal, len(possible)), values)
        if len(found) > MAX_ANSWER_ROWS:
            raise too_many(len(keys), shape.table)
        where = f"{self._datasource.name}.{shape.table}"
        readers = [
            _reader(where, column, wanted, kind)
            for column, wanted, kind in zip(shape.columns, shape.types, kinds, strict=False)
        ]
        width = len(readers)
        exact = _exact_places(shape)
        rows = []
        for row in found:
            read = [
                None if value is None else reader(value)
                for reader, value in zip(readers, row[:width], strict=True)
            ]
            for place, value in zip(exact, row[width:], strict=True):
                read[place] = value
            rows.append(tuple(read))
        return rows

    async def close(self) -> None:
        """See `Asking`."""
        await self._questions.close()


def question(shape: TableShape, equal: Sequence[str], count: int) -> str:
    """Quoted names alone; the values are parameters, key by key. The columns as they are, which
    tells their types, then the exact values of floats: the server rounds them when it tells them.
    """
    columns = [_selected(*one) for one in zip(shape.columns, shape.types, strict=True)]
    columns += [f"t.{_name(shape.columns[place])} + 0E0" for place in _exact_places(shape)]
    if len(equal) == 1:
        same = f"t.{_name(equal[0])} IN ({', '.join(['%s'] * count)})"
    else:
        one = " AND ".join(f"t.{_name(column)} = %s" for column in equal)
        same = " OR ".join([f"({one})"] * count)
    return (
        f"SELECT {', '.join(columns)} FROM {_name(shape.table)} AS t"  # noqa: S608
        f" WHERE {same} LIMIT {MAX_ANSWER_ROWS + 1}"
    )


def _name(name: str) -> str:
    """As an identifier in a statement with parameters."""
    return quoted(name).replace("%", "%%")


def _exact_places(shape: TableShape) -> list[int]:
    kinds = (AttributeType.FLOAT, AttributeType.DOUBLE)
    return [place for place, kind in enumerate(shape.types) if kind in kinds]


def _selected(column: str, wanted: AttributeType) -> str:
    name = f"t.{_name(column)}"
    return f"CAST({name} AS CHAR)" if wanted is AttributeType.STRING else name


def _is_storable(value: Any) -> bool:
    """Its numbers are finite."""
    return not isinstance(value, float) or math.isfinite(value)


def _reader(where: str, column: str, wanted: AttributeType, kind: int) -> Callable[[Any], Any]:
    """How a value is read. DatabaseError when the column cannot be such an attribute without
    loss."""
    if wanted is AttributeType.STRING:
        return _text
    if kind not in FITTING[wanted]:
        others = [one.value for one, kinds in FITTING.items() if kind in kinds]
        raise DatabaseError(
            f"column {column!r} is {_CALLED.get(kind, 'no number')}, which is no {wanted.value}",
            where=where,
            hint=f"declare it as {' or '.join([*others, 'string'])}",
        )
    if wanted is AttributeType.BOOL:
        return _truth
    if wanted in (AttributeType.FLOAT, AttributeType.DOUBLE):
        return float

    def whole(value: Any) -> int:
        if not is_within(value, wanted):
            raise DatabaseError(
                f"column {column!r} has {value}, which is no {wanted.value}",
                where=where,
                hint="declare it as a larger type, or as string",
            )
        return int(value)

    return whole


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _truth(value: Any) -> bool:
    return any(value) if isinstance(value, bytes) else bool(value)
