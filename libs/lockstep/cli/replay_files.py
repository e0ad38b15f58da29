"""A file of events for a replay: CSV, NDJSON or Parquet, its rows in time order.

A row that cannot be read is left out and told with its number; the others are sent. NDJSON is sent
as it is written. A CSV says of a value what it looks like, or what the stream has there.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, Protocol, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from lockstep.events import Fault, LockstepError
from lockstep.simulating import Columns

TIMESTAMP_FIELD = "_timestamp"
LINE_MAX_BYTES: Final = 33_554_432
"""Of a CSV: four times what a receiver takes at once by default. Arrow reads a block at a time, and
no row may be longer than a block."""
_WHOLE_TYPES: Final = ("int", "long")
_NUMBER_TYPES: Final = (*_WHOLE_TYPES, "float", "double")
_NUMBER: Final = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_FLAGS: Final = {"true": True, "false": False, "1": True, "0": False}
_BLANK: Final = re.compile(r"[ \t\r\n]*")
_WINDOW: Final = 4_096
"""Characters of an object with several lines that are looked at first."""
_WORD: Final = 12
"""No word or escape of JSON is longer: a mistake so near to the end may be a cut."""
_WRITTEN_TIMES: Final = (
    pa.timestamp("s"), pa.timestamp("ns"), pa.timestamp("s", "UTC"), pa.timestamp("ns", "UTC"),
)  # fmt: skip
"""What a text may say a time in, as a CSV's columns are tried."""

Row = dict[str, Any]
Unreadable = tuple[int, str]
"""The place of a row in its file, from 1, and what is wrong with it."""


class ReplayFileError(LockstepError):
    """The file is not what replay can read: the caller's fault."""

    fault = Fault.USER


class Rows(Protocol):
    """The rows of a file that can be read."""

    def __len__(self) -> int: ...
    def part(self, start: int, size: int) -> list[Row]:
        """Some of them, as JSON has them."""

    def taken(self, order: pa.Array) -> Rows:
        """These, in that order."""

    def times(self, column: str, path: Path) -> pa.ChunkedArray:
        """Epoch ms, null where a row has none; asked before `taken`. ReplayFileError."""


@dataclass(frozen=True, slots=True)
class TableRows:
    """Of a CSV or Parquet. `looks`: the columns as they look, for times; `numbers` and `flags`:
    those that stand in `table` as text; `kinds`: of the stream's attributes."""

    table: pa.Table
    looks: pa.Table
    kinds: Mapping[str, str]
    numbers: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def part(self, start: int, size: int) -> list[Row]:
        """See Rows."""
        rows: list[Row] = self.table.slice(start, size).to_pylist()
        for row in rows:
            row.update({name: _number(row[name]) for name in self.numbers})
            row.update({name: _flag(row[name]) for name in self.flags})
        kinds = self.kinds
        return [
            {name: _plain(value, kinds.get(name)) for name, value in row.items()} for row in rows
        ]

    def taken(self, order: pa.Array) -> Rows:
        """See Rows."""
        # Nobody asks for the times of what is in their order.
        return replace(self, table=self.table.take(order), looks=self.looks.schema.empty_table())

    def times(self, column: str, path: Path) -> pa.ChunkedArray:
        """See Rows."""
        _check_column(self.looks.column_names, column, path)
        return _epoch_ms(self.looks[column], path)


@dataclass(frozen=True, slots=True)
class TextRows:
    """Of NDJSON: each object's own text. `names`: all that any of them has; `whole`: of whole
    numbers, which keep all their digits."""

    texts: Sequence[str]
    names: tuple[str, ...]
    whole: frozenset[str]

    def __len__(self) -> int:
        return len(self.texts)

    def part(self, start: int, size: int) -> list[Row]:
        """See Rows."""
        return [self._row(text) for text in self.texts[start : start + size]]

    def taken(self, order: pa.Array) -> Rows:
        """See Rows."""
        texts = [self.texts[place] for place in order.to_pylist()]
        return TextRows(texts, self.names, self.whole)

    def times(self, column: str, path: Path) -> pa.ChunkedArray:
        """See Rows."""
        _check_column(self.names, column, path)
        values = [self._row(text)[column] for text in self.texts]
        try:
            return _epoch_ms(pa.chunked_array([pa.array(values)]), path)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeError) as error:
            raise _no_times(path) from error

    def _row(self, text: str) -> Row:
        found = _DECODER.decode(text)
        row = {name: found.get(name) for name in self.names}
        for name, value in row.items():
            if isinstance(value, _Written):
                row[name] = _number(value.text) if name in self.whole else float(value)
        return row


class _Written(float):
    """A number with a point or an exponent, and how it is written."""

    text: str

    @classmethod
    def read(cls, text: str) -> _Written:
        """As JSON has it."""
        found = cls(text)
        found.text = text
        return found


_DECODER: Final = json.JSONDecoder(strict=False, parse_float=_Written.read)


@dataclass(frozen=True, slots=True)
class ReplayFile:
    """A file's rows in time order; `times` in epoch ms, or None when no time column was named.

    `fingerprint` is part of the batches' idempotency keys: sending the same file again in the same
    way adds nothing within the receiver's deduplication window. `places`: the places that the rows
    have in the file, from 1; None where they are as there. `unreadable`: those that are left out.
    """

    contents: Rows
    times: pa.ChunkedArray | None
    fingerprint: str
    time_column: str | None = None
    places: pa.Array | None = None
    unreadable: tuple[Unreadable, ...] = ()

    @property
    def rows(self) -> int:
        """How many rows it has to send."""
        return len(self.contents)

    @classmethod
    def open(cls, path: Path, time_column: str | None, columns: Columns = ()) -> Self:
        """Reads CSV, NDJSON or Parquet by its ending; raises ReplayFileError. `columns`: of the
        stream. Values of its attributes are read as these types, all others as they look."""
        contents, unreadable = _read(path, columns)
        fingerprint = hashlib.sha256(path.read_bytes()).hexdigest()
        left_out = {place for place, _ in unreadable}
        count = len(contents) + len(left_out)
        places = pa.array([n for n in range(1, count + 1) if n not in left_out], pa.int64())
        if time_column is None:
            known = places if left_out else None
            return cls(contents, None, fingerprint, None, known, tuple(unreadable))
        times = contents.times(time_column, path)
        without = pc.filter(places, pc.is_null(times)).to_pylist()
        unreadable += [(place, f"{time_column}: there is no time") for place in without]
        order = pc.sort_indices(times)[: len(contents) - len(without)]
        return cls(
            contents.taken(order), times.take(order), fingerprint, time_column,
            places.take(order), tuple(sorted(unreadable)),
        )  # fmt: skip

    def place(self, at: int) -> int:
        """In the file, from 1, of the row that is sent at that place, from 0."""
        return at + 1 if self.places is None else int(self.places[at].as_py())

    def key(self, stream: str, size: int, start: int) -> str:
        """Of the batch of that size that begins at a row. The receiver keys an app's log by it
        alone, so it stands for all that says which rows go where."""
        said = json.dumps([self.fingerprint, stream, size, self.time_column, start])
        return hashlib.sha256(said.encode()).hexdigest()[:32]

    def batches(self, size: int) -> Iterator[tuple[int, int, list[Row]]]:
        """(first row's number from 0, its event time or 0, rows as the receiver's JSON) for up to
        `size` rows each."""
        for start in range(0, self.rows, size):
            rows, first = self.contents.part(start, size), 0
            if self.times is not None:
                times = self.times.slice(start, size).to_pylist()
                first = times[0]
                rows = [{**row, TIMESTAMP_FIELD: ts} for row, ts in zip(rows, times, strict=True)]
            yield start, first, rows


def _read(path: Path, columns: Columns) -> tuple[Rows, list[Unreadable]]:
    ending = path.suffix.lower()
    try:
        if ending == ".csv":
            return _read_csv(path, columns)
        if ending in (".ndjson", ".jsonl", ".json"):
            return _read_json(path, columns)
        if ending == ".parquet":
            table = pa_parquet.read_table(path)
            return TableRows(table, table, _kinds(columns)), []
    except pa.ArrowInvalid as error:
        raise ReplayFileError(str(error), where=str(path)) from error
    except UnicodeDecodeError as error:
        raise _no_text(path) from error
    raise ReplayFileError(
        f"cannot tell the format of {ending or 'a file without ending'}",
        where=str(path),
        hint="name it .csv, .ndjson or .parquet",
    )


def _read_csv(path: Path, columns: Columns) -> tuple[TableRows, list[Unreadable]]:
    """Numbers as text where they do not look as the stream has them: one odd value makes all of its
    column look odd, and a double would round the long ones. So are values of a bool."""
    kinds = _kinds(columns)
    types = {name: pa.string() for name, kind in columns if kind in ("string", "bool")}
    looks, unreadable = _parsed(path, pa_csv.ConvertOptions(column_types=types))
    _check_text(looks, path)
    there = [name for name in kinds if looks.column_names.count(name) == 1]
    flags = tuple(name for name in there if kinds[name] == "bool")
    numbers = tuple(name for name in there if _looks_otherwise(looks[name].type, kinds[name]))
    options = pa_csv.ConvertOptions(
        include_columns=(*numbers, *flags), strings_can_be_null=True,
        column_types=dict.fromkeys((*numbers, *flags), pa.string()),
    )  # fmt: skip
    table = looks
    if numbers or flags:
        texts, _ = _parsed(path, options)
        for name in (*numbers, *flags):
            table = table.set_column(table.column_names.index(name), name, texts[name])
    return TableRows(table, looks, kinds, numbers, flags), unreadable


def _kinds(columns: Columns) -> dict[str, str]:
    """The type of each attribute."""
    return {str(name): str(kind) for name, kind in columns}


def _parsed(path: Path, options: pa_csv.ConvertOptions) -> tuple[pa.Table, list[Unreadable]]:
    """A table of the rows that have as many values as the head, and the others."""
    unreadable: list[Unreadable] = []

    def odd(row: pa_csv.InvalidRow) -> str:
        counts = f"{row.expected_columns} values expected, got {row.actual_columns}"
        unreadable.append((row.number - 1, counts))
        return "skip"

    table = pa_csv.read_csv(
        path,
        # Without threads, as rows have numbers then.
        read_options=pa_csv.ReadOptions(block_size=LINE_MAX_BYTES, use_threads=False),
        # A quoted value may have several lines. Arrow cuts the file at any of them otherwise.
        parse_options=pa_csv.ParseOptions(newlines_in_values=True, invalid_row_handler=odd),
        convert_options=options,
    )
    return table, unreadable


def _looks_otherwise(looks: pa.DataType, kind: str) -> bool:
    """Than an attribute of that type, if that one is a number."""
    if pa.types.is_floating(looks):
        return kind in _WHOLE_TYPES
    is_plain = pa.types.is_integer(looks) or pa.types.is_null(looks)
    return not is_plain and kind in _NUMBER_TYPES


def _read_json(path: Path, columns: Columns) -> tuple[TextRows, list[Unreadable]]:
    """Objects one after the other, however many lines they have. What is none is left out."""
    text, at, place = path.read_bytes().decode("utf-8-sig"), 0, 0
    texts: list[str] = []
    names: dict[str, None] = {}
    unreadable: list[Unreadable] = []
    if text.lstrip(" \t\r\n").startswith("["):
        raise ReplayFileError(
            "a list: expected one object after the other", where=str(path),
            hint=f"jq -c '.[]' {path.name} > {path.stem}.ndjson",
        )  # fmt: skip
    scan = _Scan(text)
    while (at := _begin(text, at)) < len(text):
        place += 1
        row, end, why = scan.object_at(at)
        if why is None:
            names |= dict.fromkeys(row)
            texts.append(text[at:end])
        else:
            unreadable.append((place, why))
        at = end
    whole = frozenset(name for name, kind in columns if kind in _WHOLE_TYPES)
    return TextRows(texts, tuple(names), whole), unreadable


class _Scan:
    """Finds where objects of a text end, and what is wrong with those that cannot be sent."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._odd: list[str] = []
        self._decoder = json.JSONDecoder(
            strict=False, parse_float=self._float, parse_constant=self._constant
        )

    def object_at(self, at: int) -> tuple[Row, int, str | None]:
        """What stands there, where it ends, and why it cannot be sent. What is broken ends with its
        line, or, if it goes on behind it, in front of the next line that begins an object."""
        line_end = _line_end(self._text, at)
        size = line_end - at
        while True:
            window = self._text[at : at + size]
            self._odd.clear()
            try:
                row, length = self._decoder.raw_decode(window)
            except RecursionError:
                return {}, line_end, "no JSON: it is too deep"
            except json.JSONDecodeError as error:
                is_cut = error.pos >= size - _WORD or error.msg.startswith("Unterminated")
                if is_cut and at + size < len(self._text):
                    size = max(2 * size, _WINDOW)
                    continue
                is_inside = error.pos < line_end - at
                end = line_end if is_inside else self._next_object(line_end)
                return {}, end, f"no JSON: {error.msg}, at its character {error.pos + 1}"
            if not isinstance(row, dict):
                return {}, at + length, "expected an object"
            return row, at + length, self._odd[0] if self._odd else None

    def _next_object(self, at: int) -> int:
        found = self._text.find("\n{", at)
        return len(self._text) if found == -1 else found

    def _float(self, text: str) -> float:
        found = float(text)
        if math.isinf(found):
            self._odd.append(f"{text} is too large for a number")
        return found

    def _constant(self, text: str) -> float:
        self._odd.append(f"JSON has no {text}")
        return 0.0


def _begin(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return at if found is None else found.end()


def _line_end(text: str, at: int) -> int:
    found = text.find("\n", at)
    return len(text) if found == -1 else found


def _number(text: str | None) -> float | str | None:
    """Exactly what is written, if it is whole. What is no number stays text: the receiver refuses
    its row."""
    if text is None or _NUMBER.fullmatch(text.strip(" \t")) is None:
        return text
    whole, _, fraction = text.strip(" \t").partition(".")
    try:
        return float(text) if fraction.strip("0") else int(whole)
    except ValueError:  # with an exponent, or with nothing in front of the point
        return float(text)


def _flag(text: str | None) -> bool | str | None:
    """What is neither true nor false stays text: the receiver refuses its row."""
    return text if text is None else _FLAGS.get(text.strip(" \t").lower(), text)


def _plain(value: Any, kind: str | None) -> Any:
    """As JSON has it: what is no number is null; a time is text, or milliseconds for a `long`."""
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if isinstance(value, dt.datetime) and kind == "long":
        zoned = value if value.tzinfo else value.replace(tzinfo=dt.UTC)
        return round(zoned.timestamp() * 1_000)
    if isinstance(value, Decimal) and kind != "string":
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, Mapping):
        return {key: _plain(each, None) for key, each in value.items()}
    return [_plain(each, None) for each in value] if isinstance(value, list) else value


def _check_text(table: pa.Table, path: Path) -> None:
    """ReplayFileError for what is not UTF-8: a column of a CSV is taken for bytes then."""
    if any(pa.types.is_binary(kind) for kind in table.schema.types):
        raise _no_text(path)
    for column in table.columns:
        column.validate(full=True)


def _no_text(path: Path) -> ReplayFileError:
    return ReplayFileError("no text in UTF-8", where=str(path), hint="convert it with `iconv`")


def _check_column(names: Sequence[str], name: str, path: Path) -> None:
    if name not in names:
        raise ReplayFileError(
            f"no column {name!r}", where=str(path), hint=f"columns are {', '.join(names)}"
        )


def _epoch_ms(column: pa.ChunkedArray, path: Path) -> pa.ChunkedArray:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = _read_times(column, path)
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.timestamp("ms", tz=column.type.tz), safe=False).cast(pa.int64())
    try:
        if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
            return column.cast(pa.int64())
        return pc.cast(column, pa.timestamp("ms")).cast(pa.int64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise _no_times(path) from error


def _read_times(column: pa.ChunkedArray, path: Path) -> pa.ChunkedArray:
    """A stream's string may say the time, too."""
    for kind in (pa.int64(), *_WRITTEN_TIMES):
        try:
            return pc.cast(column, kind)
        except pa.ArrowInvalid:
            continue
    raise _no_times(path)


def _no_times(path: Path) -> ReplayFileError:
    return ReplayFileError(
        "the time column is neither epoch milliseconds nor a timestamp", where=str(path)
    )
