"""Rows into one file as they come. What is not whole is not there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyarrow import csv, parquet

from lockstep.events import Fault, LockstepError

SUFFIXES: Final = (".csv", ".parquet")
GROUP_ROWS: Final = 65_536
"""Of a Parquet file, are written together; sooner where they are large."""
GROUP_BYTES: Final = 33_554_432


class NotWrittenError(LockstepError):
    """A file that cannot be written, or cannot hold such rows."""

    fault = Fault.USER


class Rows:
    """Batches, cut behind `most` rows; None: never. `count`: how many went by."""

    def __init__(
        self, batches: Iterable[pa.RecordBatch], schema: pa.Schema, most: int | None
    ) -> None:
        self.schema = schema
        self.count = 0
        self.is_cut = False
        self._batches = batches
        self._most = most

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self._batches:
            left = batch.num_rows if self._most is None else self._most - self.count
            taken = batch.slice(0, left)
            self.is_cut = self.is_cut or taken.num_rows < batch.num_rows
            self.count += taken.num_rows
            if taken.num_rows:
                yield taken


def exported(rows: Rows, file: Path) -> None:
    """Into a file beside it first, which gets its name when it is whole, and is removed when that
    does not come about, whatever the reason. NotWrittenError."""
    part = file.with_name(f".{file.name}.part")
    try:
        with _writer(part, rows.schema, file.suffix) as writer:
            for table in _groups(rows):
                writer.write_table(table)
        part.replace(file)
    except (pa.ArrowException, OSError) as error:
        raise NotWrittenError(f"{file} cannot be written: {error}") from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _writer(file: Path, schema: pa.Schema, suffix: str) -> Any:
    if suffix == ".csv":
        return csv.CSVWriter(str(file), schema)
    return parquet.ParquetWriter(str(file), schema)


def _groups(rows: Rows) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    for batch in rows:
        held.append(batch)
        enough = sum(one.num_rows for one in held) >= GROUP_ROWS
        if enough or sum(one.nbytes for one in held) >= GROUP_BYTES:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)
