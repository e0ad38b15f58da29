"""Values of events as people write them: in fields, in CSV, and as a database gives them. Pure."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from lockstep.simulating.errors import SimulationError

WHOLE: Final = ("int", "long")
REAL: Final = ("float", "double")
SHOWN_CHARACTERS: Final = 60
UNITS_MS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION: Final = re.compile(r"(\d{1,9})(ms|s|m|h|d)")
_DIGITS: Final = re.compile(r"-?\d+", re.ASCII)
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
    lines = list(_lines(written))
    names = [name for name, _ in columns]
    order, at_time, width = list(range(len(columns))), -1, len(columns)
    head = _stripped(lines[0][1]) if lines else []
    named, timed = _places(head, names), _places(head, [time_column] if time_column else [])
    if named and timed is not None and (time_column or not _is_row(head, columns)):
        order, width = named, len(head)
        at_time = timed[0] if timed else -1
        lines = lines[1:]
    elif time_column:
        raise SimulationError(
            f"its first line does not name {time_column!r} and all attributes", where="CSV",
            hint=", ".join([time_column, *names]),
        )  # fmt: skip
    if len(lines) > max_rows:
        raise SimulationError(f"{len(lines)} lines: {max_rows} fit", where="CSV")
    rows, times = [], []
    for number, line in lines:
        if len(line) != width:
            raise SimulationError(f"{len(line)} values, expected {width}", where=f"line {number}")
        try:
            rows.append(row_of([line[at] for at in order], columns))
            if at_time >= 0:
                times.append(time_ms(line[at_time], time_column))
        except SimulationError as error:
            raise SimulationError(
                f"{error.where}: {error.message}", where=f"line {number}", hint=error.hint
            ) from None
    return in_order(rows, times) if at_time >= 0 else (rows, None)


def csv_has_column(written: str, name: str) -> bool:
    """Whether the first line that is not empty has this name, in whatever case: as `csv_table`
    looks for it. SimulationError where that line cannot be read."""
    _, first = next(_lines(written), (1, []))
    return _places(_stripped(first), [name]) is not None


def _stripped(line: Sequence[str]) -> list[str]:
    return [one.strip() for one in line]


def _is_row(head: Sequence[str], columns: Columns) -> bool:
    """Whether a head is more likely an event: one value, not written just as the attribute is, that
    its type can hold. Two such values at once are no accident."""
    if len(head) != 1 or head[0] == columns[0][0]:
        return False
    try:
        row_of(head, columns)
    except SimulationError:
        return False
    return True


def _places(head: Sequence[str], names: Sequence[str]) -> list[int] | None:
    """Where a head has each of these names, in whatever case where none is written just so; None
    unless it has all of them, each in a place of its own."""
    lowered = [one.lower() for one in head]
    found = []
    for name in names:
        if name not in head and name.lower() not in lowered:
            return None
        found.append(head.index(name) if name in head else lowered.index(name.lower()))
    return found if len(set(found)) == len(found) else None


def _lines(written: str) -> Iterator[tuple[int, list[str]]]:
    """Each row with the number of the line where it begins; a text between quotation marks may go
    on over several, and empty lines are none."""
    reader = csv.reader(io.StringIO(written.removeprefix("\ufeff")))
    begins = 1
    try:
        for row in reader:
            if row:
                yield begins, row
            begins = reader.line_num + 1
    except csv.Error as error:
        raise SimulationError(str(error), where=f"CSV, line {begins}") from error


def in_order(rows: Rows, times: list[int]) -> tuple[Rows, list[int]]:
    """By time; what has the same time stays as it stood."""
    order = sorted(range(len(rows)), key=times.__getitem__)
    return [rows[at] for at in order], [times[at] for at in order]


def time_ms(written: Any, name: str) -> int:
    """Epoch milliseconds of a number or of an ISO 8601 time (UTC where it names no zone)."""
    text = str(written).strip()
    try:
        if isinstance(written, int | float) and not isinstance(written, bool):
            return _epoch_ms(int(written))
        if _DIGITS.fullmatch(text):
            return _epoch_ms(int(text))
        found = datetime.fromisoformat(text)
        return round((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        raise SimulationError(
            f"{text[:SHOWN_CHARACTERS]!r} is no time", where=name,
            hint="milliseconds since 1970, or 2026-03-01T14:05:00+01:00",
        ) from None  # fmt: skip


def _epoch_ms(value: int) -> int:
    """A timestamp has 64 bits."""
    if not -(2**63) <= value < 2**63:
        raise OverflowError(value)
    return value


def duration_ms(written: str, name: str) -> int:
    """Milliseconds of `90s`, `5m`, `2h`; SimulationError."""
    found = _DURATION.fullmatch(written.strip())
    if found is None:
        shown = written[:SHOWN_CHARACTERS]
        raise SimulationError(f"{shown!r} is no duration", where=name, hint="90s, 5m, 2h")
    return int(found[1]) * UNITS_MS[found[2]]
