"""Replaying a file of events: reading it in time order, pacing it, sending it in batches."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.json as pa_json
import pyarrow.parquet as pa_parquet
import stamina

from lockstep.cli.client import Client
from lockstep.cli.refusals import RefusedError, detail
from lockstep.clock import SystemClock
from lockstep.events import Fault, LockstepError
from lockstep.simulating import Columns

stamina.instrumentation.set_on_retry_hooks([])  # a progress bar tells enough

SEND_ATTEMPTS = 8
SEND_BACKOFF_MAX_S = 10.0
TIMESTAMP_FIELD = "_timestamp"
SHOWN_REASONS: Final = 20
LINE_MAX_BYTES: Final = 33_554_432
"""Of a file: four times what a receiver takes at once by default. Arrow reads a block at a time,
and no row of NDJSON or CSV may be longer than a block."""
"""So many refused rows are told of, each with what is wrong with it."""
_TYPES: Final = {"string": pa.string(), "bool": pa.bool_()}
"""What a value may look like something else for. Numbers are what they look like: a file may have
1.0 for a whole number, as tables with gaps are written, and the receiver takes it for one."""
_WHOLE_TYPES: Final = ("int", "long")
_NUMBER_TYPES: Final = (*_WHOLE_TYPES, "float", "double")
_NUMBER: Final = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_OBJECT_BEGINS: Final = re.compile(r"\{")
_WRITTEN_TIMES: Final = (
    pa.timestamp("s"), pa.timestamp("ns"), pa.timestamp("s", "UTC"), pa.timestamp("ns", "UTC"),
)  # fmt: skip
"""What a text may say a time in, as a CSV's columns are tried."""

SendRows = Callable[[Sequence[Mapping[str, Any]], int, int], Awaitable[Any]]
"""Rows, the first one's number from 0 and what size their key says, to the receiver's answer."""


class ReplayFileError(LockstepError):
    """The file is not what replay can read: the caller's fault."""

    fault = Fault.USER


@dataclass(frozen=True, slots=True)
class ReplayFile:
    """A file's rows in time order; `times` in epoch ms, or None when no time column was named.

    `fingerprint` is part of the batches' idempotency keys: sending the same file again in the same
    way adds nothing within the receiver's deduplication window. `written`: columns whose numbers
    are kept as the file has them. `order`: the places that the rows have in the file, from 0; None
    where they are as there.
    """

    table: pa.Table
    times: pa.ChunkedArray | None
    fingerprint: str
    time_column: str | None = None
    written: tuple[str, ...] = ()
    order: pa.Array | None = None

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return int(self.table.num_rows)

    @classmethod
    def open(cls, path: Path, time_column: str | None, columns: Columns = ()) -> Self:
        """Reads CSV, NDJSON or Parquet by its ending; raises ReplayFileError. `columns`: of the
        stream. Values of its attributes are read as these types, all others as they look."""
        looks = _read(path, {name: _TYPES[kind] for name, kind in columns if kind in _TYPES})
        table, written = _as_written(path, looks, columns)
        fingerprint = hashlib.sha256(path.read_bytes()).hexdigest()
        if time_column is None:
            return cls(table, None, fingerprint, written=written)
        if time_column not in table.column_names:
            raise ReplayFileError(
                f"no column {time_column!r}",
                where=str(path),
                hint=f"columns are {', '.join(table.column_names)}",
            )
        times = _epoch_ms(looks[time_column], path)
        order = pc.sort_indices(times)
        return cls(table.take(order), times.take(order), fingerprint, time_column, written, order)

    def place(self, at: int) -> int:
        """In the file, from 1, of the row that is sent at that place, from 0."""
        return 1 + (at if self.order is None else int(self.order[at].as_py()))

    def key(self, stream: str, size: int, start: int) -> str:
        """Of the batch of that size that begins at a row. The receiver keys an app's log by it
        alone, so it stands for all that says which rows go where."""
        said = json.dumps([self.fingerprint, stream, size, self.time_column, start])
        return hashlib.sha256(said.encode()).hexdigest()[:32]

    def batches(self, size: int) -> Iterator[tuple[int, int, list[dict[str, Any]]]]:
        """(first row's number from 0, its event time or 0, rows as the receiver's JSON) for up to
        `size` rows each."""
        for start in range(0, self.rows, size):
            rows = self.table.slice(start, size).to_pylist()
            for row in rows:
                row.update({name: _number(row[name]) for name in self.written})
            first = 0
            if self.times is not None:
                times = self.times.slice(start, size).to_pylist()
                first = times[0]
                rows = [{**row, TIMESTAMP_FIELD: ts} for row, ts in zip(rows, times, strict=True)]
            yield start, first, rows


@dataclass(slots=True)
class Replayed:
    """What the receiver said of a file's rows. `duplicates`: so many of the accepted ones were
    there already. `left`: so many got no answer, as the replay ended before. `reasons`: of the
    first refused ones."""

    accepted: int = 0
    refused: int = 0
    duplicates: int = 0
    left: int = 0
    reasons: list[str] = field(default_factory=list)

    def add(self, answer: Mapping[str, Any], source: ReplayFile, start: int) -> None:
        """An answer for the rows from that one on."""
        self.accepted += answer["accepted"]
        self.duplicates += answer["accepted"] if answer.get("duplicate") else 0
        self.refused += answer.get("refused_count", 0)
        for one in answer.get("refused") or ():
            if len(self.reasons) < SHOWN_REASONS:
                why = detail({"errors": one.get("errors")})
                self.reasons.append(f"row {source.place(start + one['line'] - 1)}: {why}")


def _read(path: Path, types: Mapping[str, pa.DataType]) -> pa.Table:
    ending = path.suffix.lower()
    try:
        if ending == ".csv":
            options = pa_csv.ConvertOptions(column_types=types)
            return _text_checked(_read_csv(path, options), path)
        if ending in (".ndjson", ".jsonl", ".json"):
            return _text_checked(_read_json(path, types), path)
        if ending == ".parquet":
            return pa_parquet.read_table(path)
    except pa.ArrowInvalid as error:
        raise ReplayFileError(str(error), where=str(path)) from error
    except UnicodeDecodeError as error:
        raise _no_text(path) from error
    raise ReplayFileError(
        f"cannot tell the format of {ending or 'a file without ending'}",
        where=str(path),
        hint="name it .csv, .ndjson or .parquet",
    )


def _read_csv(path: Path, options: pa_csv.ConvertOptions) -> pa.Table:
    return pa_csv.read_csv(
        path,
        read_options=pa_csv.ReadOptions(block_size=LINE_MAX_BYTES),
        # A quoted value may have several lines. Arrow cuts the file at any of them otherwise.
        parse_options=pa_csv.ParseOptions(newlines_in_values=True),
        convert_options=options,
    )


def _read_json(path: Path, types: Mapping[str, pa.DataType]) -> pa.Table:
    """Once more where a column looks like another type: a column that is named in the schema and
    not in the file would be made up."""
    blocks = pa_json.ReadOptions(block_size=LINE_MAX_BYTES)
    table = pa_json.read_json(path, read_options=blocks)
    looks = dict(zip(table.column_names, table.schema.types, strict=True))
    meant = [(name, kind) for name, kind in types.items() if looks.get(name, kind) != kind]
    if not meant:
        return table
    options = pa_json.ParseOptions(explicit_schema=pa.schema(meant))
    return pa_json.read_json(path, read_options=blocks, parse_options=options)


def _as_written(path: Path, looks: pa.Table, columns: Columns) -> tuple[pa.Table, tuple[str, ...]]:
    """Numbers as text where they do not look as the stream has them. Whole ones look like doubles
    beside one with a point, and a double would round the long ones; one odd value in a CSV makes
    all of its column look odd. And the columns where that is so."""
    ending = path.suffix.lower()
    found = tuple(
        name
        for name, kind in columns
        if looks.column_names.count(name) == 1 and _looks_otherwise(looks[name].type, kind, ending)
    )
    if not found or ending == ".parquet":  # which has doubles where they look like that
        return looks, ()
    if ending == ".csv":
        options = pa_csv.ConvertOptions(
            include_columns=found, column_types=dict.fromkeys(found, pa.string()),
            strings_can_be_null=True,
        )  # fmt: skip
        texts = _read_csv(path, options)
    else:
        texts = _json_numbers(path, found)
    table = looks
    for name in found:
        table = table.set_column(table.column_names.index(name), name, texts[name])
    return table, found


def _looks_otherwise(looks: pa.DataType, kind: str, ending: str) -> bool:
    """Than an attribute of that type, if that one is a number. In a CSV alone a number may look
    like something else, as all is text there."""
    if pa.types.is_floating(looks):
        return kind in _WHOLE_TYPES
    is_plain = pa.types.is_integer(looks) or pa.types.is_null(looks)
    return ending == ".csv" and not is_plain and kind in _NUMBER_TYPES


def _json_numbers(path: Path, names: Sequence[str]) -> pa.Table:
    """Those columns, as text."""
    decoder, at = json.JSONDecoder(strict=False, parse_float=str), 0
    columns: dict[str, list[str | None]] = {name: [] for name in names}
    try:
        text = path.read_text("utf-8")
        while (begins := _OBJECT_BEGINS.search(text, at)) is not None:
            row, at = decoder.raw_decode(text, begins.start())
            for name, values in columns.items():
                value = row.get(name)
                values.append(None if value is None else str(value))
    except ValueError as error:
        raise ReplayFileError(str(error), where=str(path)) from error
    return pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})


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


def _text_checked(table: pa.Table, path: Path) -> pa.Table:
    """ReplayFileError for what is not UTF-8: a column of a CSV is taken for bytes then."""
    if any(pa.types.is_binary(kind) for kind in table.schema.types):
        raise _no_text(path)
    for column in table.columns:
        column.validate(full=True)
    return table


def _no_text(path: Path) -> ReplayFileError:
    return ReplayFileError("no text in UTF-8", where=str(path), hint="convert it with `iconv`")


def _epoch_ms(column: pa.ChunkedArray, path: Path) -> pa.ChunkedArray:
    if pa.types.is_string(column.type):
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


async def replay_file(
    client: Client,
    app: str,
    stream: str,
    source: ReplayFile,
    *,
    speed: float,
    batch: int,
    advance: Callable[[int], object],
    total: Replayed,
) -> None:
    """Sends the file; at a speed above 0 each batch waits for its time. `total` says how far it
    came, also when an error ends it: RefusedError (of no row), UnavailableError."""

    async def send(rows: Sequence[Mapping[str, Any]], start: int, size: int) -> Any:
        return await client.send(
            app,
            stream,
            "\n".join(json.dumps(row, default=str) for row in rows).encode(),
            content_type="application/x-ndjson",
            idempotency_key=source.key(stream, size, start),
        )

    clock = SystemClock()
    started_ms = clock.monotonic_ms()
    first_ms: int | None = None
    total.left = source.rows
    for start, ts, rows in source.batches(batch):
        first_ms = ts if first_ms is None else first_ms
        if speed > 0:
            wait_ms = started_ms + (ts - first_ms) / speed - clock.monotonic_ms()
            await asyncio.sleep(max(0.0, wait_ms / 1000))
        await _send_rows(send, source, rows, start, batch, total)
        advance(len(rows))


async def _send_rows(
    send: SendRows,
    source: ReplayFile,
    rows: Sequence[Mapping[str, Any]],
    start: int,
    size: int,
    total: Replayed,
) -> None:
    """Until the receiver has said of each row what it makes of it. Rows that it refuses as a whole,
    as it does not name more than so many or takes no body so large, go again in halves. `size`:
    what the key says of them."""
    try:
        answer = await send_retrying(lambda: send(rows, start, size))
    except RefusedError as error:
        refused = _refused_rows(error, len(rows))
        if refused is None:
            middle = (len(rows) + 1) // 2
            for part, at in ((rows[:middle], start), (rows[middle:], start + middle)):
                await _send_rows(send, source, part, at, len(part), total)
            return
        answer = {"accepted": 0, "refused_count": len(rows), "refused": refused}
    total.add(answer, source, start)
    total.left -= len(rows)


def _refused_rows(error: RefusedError, sent: int) -> Sequence[Mapping[str, Any]] | None:
    """The reasons row by row, if it refuses all; None where it does not say which ones. The error
    itself where it is not about rows."""
    if error.refused_rows:
        return error.refused_rows
    if error.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return [{"line": 1, "errors": [{"message": error.message}]}] if sent == 1 else None
    found = error.problem.get("errors")
    if error.status != HTTPStatus.BAD_REQUEST or not found or not isinstance(found, list):
        raise error
    if not all(isinstance(one, Mapping) for one in found):
        raise error
    return [{"line": 1, "errors": found}] if sent == 1 else None


async def send_retrying(send: Callable[[], Any], *, limit_ms: int | None = None) -> Any:
    """Repeats a send while the suite says that it may be repeated, with growing pauses: for
    `limit_ms`, or SEND_ATTEMPTS times."""
    async for attempt in stamina.retry_context(
        on=lambda error: isinstance(error, LockstepError) and error.retryable,
        attempts=SEND_ATTEMPTS if limit_ms is None else None,
        timeout=None if limit_ms is None else limit_ms / 1000,
        wait_max=SEND_BACKOFF_MAX_S,
    ):
        with attempt:
            return await send()
    raise AssertionError("stamina either returns or raises")
