"""Values of events as people write them: in fields, in CSV, and as a database gives them. Pure."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from lockstep.simulating.errors import SimulationError

WHOLE: Final = ("int", "long")
REAL: Final = ("float", "double")
SHOWN_CHARACTERS: Final = 60
UNITS_MS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION: Final = re.compile(r"(\d{1,9})(ms|s|m|h|d)")
Columns = Sequence[Sequence[str]]
"""Name and type of each attribute, in the stream's order."""
Rows = list[list[Any]]


def read(value: Any, name: str, kind: str) -> Any:
    """What a person wrote, as a value of that type; SimulationError says which attribute."""
    written = str(value if value is not None else "").strip()
    try:
        if kind == "string":
            return str(value if value is not None else "")
        if written in ("", "null"):
            return None
        if kind in WHOLE:
            return int(written)
        if kind in REAL:
            return _finite(float(written))
        if kind == "bool":
            return {"true": True, "false": False}[written.lower()]
        return json.loads(written)
    except (ValueError, KeyError):
        shown = written[:SHOWN_CHARACTERS]
        raise SimulationError(f"{shown!r} is no {kind}", where=name) from None


def _finite(value: float) -> float:
    """JSON has no other numbers."""
    if not math.isfinite(value):
        raise ValueError(value)
    return value


def fitted(value: Any, name: str, kind: str) -> Any:
    """What a database or JSON gave, as a value of that type; nothing stays nothing."""
    if value is None:
        return None
    if kind == "string" and isinstance(value, bool | list | dict):
        return json.dumps(value)
    if kind == "object":
        return value
    if kind in WHOLE and isinstance(value, float) and value.is_integer():
        return int(value)
    return read(value, name, kind)


def row_of(values: Sequence[Any], columns: Columns) -> list[Any]:
    """A row of what a person wrote; SimulationError."""
    return [read(value, name, kind) for value, (name, kind) in zip(values, columns, strict=True)]


def csv_rows(written: str, columns: Columns, *, max_rows: int) -> Rows:
    """The rows of a CSV; a first line of attribute names says which column is which."""
    return csv_table(written, columns, max_rows=max_rows)[0]


def csv_table(
    written: str, columns: Columns, *, max_rows: int, time_column: str = ""
) -> tuple[Rows, list[int] | None]:
    """Rows, and the time of each in epoch ms where a column has it. Rows with times come in the
    order of their times. SimulationError names the line."""
    lines = _lines(written)
    names = [name for name, _ in columns]
    order, at_time, first = list(range(len(columns))), -1, 1
    head = [one.strip() for one in lines[0]] if lines else []
    if head and set(head) >= {*names, *([time_column] if time_column else [])}:
        order = [head.index(name) for name in names]
        at_time = head.index(time_column) if time_column else -1
        lines, first = lines[1:], 2
    elif time_column:
        raise SimulationError(
            f"its first line does not name {time_column!r} and all attributes", where="CSV",
            hint=", ".join([time_column, *names]),
        )  # fmt: skip
    if len(lines) > max_rows:
        raise SimulationError(f"{len(lines)} lines: {max_rows} fit", where="CSV")
    rows, times = [], []
    for number, line in enumerate(lines, first):
        if len(line) <= max([*order, at_time], default=0):
            raise SimulationError(
                f"{len(line)} values, expected {len(columns)}", where=f"line {number}"
            )
        try:
            rows.append(row_of([line[at] for at in order], columns))
            if at_time >= 0:
                times.append(time_ms(line[at_time], time_column))
        except SimulationError as error:
            raise SimulationError(
                f"{error.where}: {error.message}", where=f"line {number}", hint=error.hint
            ) from None
    return in_order(rows, times) if at_time >= 0 else (rows, None)


def _lines(written: str) -> list[list[str]]:
    try:
        return [row for row in csv.reader(io.StringIO(written.removeprefix("\ufeff"))) if row]
    except csv.Error as error:
        raise SimulationError(str(error), where="CSV") from error


def in_order(rows: Rows, times: list[int]) -> tuple[Rows, list[int]]:
    """By time; what has the same time stays as it stood."""
    order = sorted(range(len(rows)), key=times.__getitem__)
    return [rows[at] for at in order], [times[at] for at in order]


def time_ms(written: Any, name: str) -> int:
    """Epoch milliseconds of a number or of an ISO 8601 time (UTC where it names no zone)."""
    if isinstance(written, int | float) and not isinstance(written, bool):
        return int(written)
    text = str(written).strip()
    try:
        if text.removeprefix("-").isdigit():
            return int(text)
        found = datetime.fromisoformat(text)
        return round((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        raise SimulationError(
            f"{text[:SHOWN_CHARACTERS]!r} is no time", where=name,
            hint="milliseconds since 1970, or 2026-03-01T14:05:00+01:00",
        ) from None  # fmt: skip


def duration_ms(written: str, name: str) -> int:
    """Milliseconds of `90s`, `5m`, `2h`; SimulationError."""
    found = _DURATION.fullmatch(written.strip())
    if found is None:
        shown = written[:SHOWN_CHARACTERS]
        raise SimulationError(f"{shown!r} is no duration", where=name, hint="90s, 5m, 2h")
    return int(found[1]) * UNITS_MS[found[2]]
