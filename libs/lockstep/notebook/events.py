"""Events that a cell is tried with: a CSV or Parquet file, or a variable of the notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pa_parquet

from lockstep.events.characters import is_whole
from lockstep.notebook.errors import CellError
from lockstep.simulating import Columns, SimulationError, csv_table
from lockstep.simulating.values import csv_has_column, fitted, in_order, time_ms

MAX_EVENTS: Final = 1_000_000
"""That one cell takes in."""
TIMESTAMP: Final = "_timestamp"
_BITS: Final = {"int": 32, "long": 64}


@dataclass(frozen=True, slots=True)
class Given:
    """Rows in the order of a stream's attributes; of each its time, where there are times."""

    rows: Sequence[Sequence[Any]]
    times_ms: Sequence[int] | None


def events_of(source: Any, columns: Columns, time_column: str) -> Given:
    """Of a path, a list of mappings or sequences, a DataFrame or an Arrow table; CellError."""
    try:
        if isinstance(source, str | Path):
            return _file(Path(source), columns, time_column)
        if isinstance(source, pa.RecordBatch):
            source = pa.Table.from_batches([source])
        if isinstance(source, pa.Table):
            return _mappings(_plain(source), columns, time_column)
        if hasattr(source, "to_dict") and hasattr(source, "columns"):
            return _mappings(_plain(pa.Table.from_pandas(source)), columns, time_column)
        if isinstance(source, Sequence) and all(isinstance(one, Mapping) for one in source):
            return _mappings(source, columns, time_column)
        if isinstance(source, Sequence) and all(isinstance(one, list | tuple) for one in source):
            return _sequences(source, columns)
    except SimulationError as error:
        raise CellError(f"events: {error.where}: {error.message}", hint=error.hint) from None
    except pa.ArrowException as error:
        raise CellError(f"events: {error}") from None
    raise CellError(
        f"events: a {type(source).__name__} holds none",
        hint="a list of dicts, a DataFrame, a pyarrow.Table, or a .csv or .parquet file",
    )


def _file(path: Path, columns: Columns, time_column: str) -> Given:
    try:
        if path.suffix.lower() == ".parquet":
            return _mappings(_plain(pa_parquet.read_table(path)), columns, time_column)
        written = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise CellError(
            f"events: {path} cannot be read: {why}", hint="--events names a file or a variable"
        ) from None
    times = time_column or (TIMESTAMP if csv_has_column(written, TIMESTAMP) else "")
    rows, times_ms = csv_table(written, columns, max_rows=MAX_EVENTS, time_column=times)
    held = [[_held(value, *one) for value, one in zip(row, columns, strict=True)] for row in rows]
    return Given(held, times_ms)


def _plain(table: pa.Table) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def _mappings(source: Sequence[Mapping[str, Any]], columns: Columns, time_column: str) -> Given:
    _check_count(len(source))
    if not source:
        return Given([], None)
    times = time_column or (TIMESTAMP if TIMESTAMP in source[0] else "")
    wanted = [*(name for name, _ in columns), *([times] if times else [])]
    for number, one in enumerate(source, 1):
        if missing := [name for name in wanted if name not in one]:
            raise CellError(
                f"events: number {number} has no {', '.join(missing)}",
                hint=f"it has {', '.join(map(str, one))}",
            )
    rows = [[_value(one[name], name, kind) for name, kind in columns] for one in source]
    if not times:
        return Given(rows, None)
    return Given(*in_order(rows, [_time(one[times], times) for one in source]))


def _sequences(source: Sequence[Sequence[Any]], columns: Columns) -> Given:
    _check_count(len(source))
    for number, one in enumerate(source, 1):
        if len(one) != len(columns):
            raise CellError(
                f"events: number {number} has {len(one)} values, expected {len(columns)}",
                hint=", ".join(name for name, _ in columns),
            )
    return Given(
        [
            [_value(value, *column) for value, column in zip(one, columns, strict=True)]
            for one in source
        ],
        None,
    )


def _value(value: Any, name: str, kind: str) -> Any:
    """What is not a number is no value: that is how DataFrames say null."""
    if value is None or (isinstance(value, float) and value != value):
        return None
    return _held(fitted(value, name, kind), name, kind)


def _held(value: Any, name: str, kind: str) -> Any:
    """The value, if an event can hold it."""
    bits = _BITS.get(kind, 0)
    if bits and isinstance(value, int) and not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise CellError(f"events: {name}: {value} does not fit into an {kind}")
    if isinstance(value, str) and not is_whole(value):
        raise CellError(f"events: {name}: half a character is no text")
    return value


def _time(value: Any, name: str) -> int:
    if hasattr(value, "isoformat"):
        return time_ms(value.isoformat(), name)
    return time_ms(value, name)


def _check_count(count: int) -> None:
    if count > MAX_EVENTS:
        raise CellError(f"events: {count}, and {MAX_EVENTS} fit in a cell")
