"""SQL over one app's archive without Spark, by the tables' own library: what the process does that
`asking` starts. `python -m lockstep.archive.answering`: a question comes in as JSON, an answer goes
out, and that is all.

It reads and cannot do anything else: a question is first planned as a subquery of ours, which
nothing but a query can be.
"""

from __future__ import annotations

import itertools
import os
import resource
import sys
from collections.abc import Iterator, Sequence
from typing import Any, Final, NoReturn

import msgspec
import pyarrow as pa
from deltalake import QueryBuilder
from deltalake.exceptions import DeltaError

from lockstep.archive import naming
from lockstep.archive.keeping import SideArchive
from lockstep.archive.place import Place
from lockstep.archive.questions import Answer, Question
from lockstep.archive.reading import lives_of
from lockstep.archive.tables import Table, one_line
from lockstep.events import LockstepError
from lockstep.events.typed import from_json

MAX_FILE_BYTES: Final = 1_048_576
_AS_WRITTEN: Final = "set datafusion.sql_parser.enable_ident_normalization = false"
"""Streams and attributes are named as in the app, in capitals too."""

SIDES: Final = {naming.INPUT: "in", naming.OUTPUT: "out"}


def answered(question: Question) -> Answer:
    """Blocking."""
    try:
        rows = _rows(question)
        found = rows.slice(0, question.rows)
        columns = [_values(column) for column in found.columns]
    except LockstepError as error:
        return Answer(error=str(error), retryable=error.retryable)
    except (DeltaError, pa.ArrowException, OSError, ValueError) as error:
        return Answer(error=one_line(error))
    values = [list(row) for row in zip(*columns, strict=True)]
    types = [str(one) for one in found.schema.types]
    return Answer(found.column_names, types, values, more=len(rows) > question.rows)


def encoded(question: Question) -> bytes:
    """The answer as it goes out. Blocking."""
    return msgspec.json.encode(answered(question), enc_hook=str)


def _rows(question: Question) -> pa.Table:
    place = Place(question.folder, question.options)
    asking = QueryBuilder()
    asking.execute(_AS_WRITTEN)
    numbers = itertools.count()
    for name, tables in _views(place, question.app).items():
        if name.lower() in question.sql.lower():
            asking.execute(f"create view {_quoted(name)} as {_union(asking, numbers, tables)}")
    sql = question.sql.strip().rstrip(";")
    # Planned as a part of ours, which nothing but a query can be; then as it is, for its order.
    asking.execute(f"explain select * from (\n{sql}\n)")  # noqa: S608
    return _first(pa.RecordBatchReader.from_stream(asking.execute(sql)), question.rows + 1)


def _first(reader: pa.RecordBatchReader, rows: int) -> pa.Table:
    """No more of an answer is computed than is taken."""
    found: list[pa.RecordBatch] = []
    for batch in reader:
        found.append(batch)
        if sum(map(len, found)) >= rows:
            break
    return pa.Table.from_batches(found, schema=reader.schema)


def _views(place: Place, app: str) -> dict[str, list[Table]]:
    """As `lockstep archive query` names them, of one app."""
    found: dict[str, list[Table]] = {}
    for side, suffix in SIDES.items():
        mine: dict[str, list[Table]] = {}
        for logs in lives_of(place, app):
            for name, table in SideArchive(place, logs, side).tables():
                mine.setdefault(name.stream, []).append(table)
        for stream, tables in mine.items():
            found[stream] = found[f"{stream}__{suffix}"] = tables
    return found


def _union(asking: QueryBuilder, numbers: Iterator[int], tables: Sequence[Table]) -> str:
    """Of all shapes of a stream: what one has not is null."""
    opened = [one for table in tables if (one := table.opened()) is not None]
    columns: dict[str, None] = {}
    named = []
    for one in opened:
        name = f"_table_{next(numbers)}"
        asking.register(name, one)
        names = [field.name for field in one.schema().fields if field.name != naming.DAY]
        columns |= dict.fromkeys(names)
        named.append((name, set(names)))
    time = f"to_timestamp_millis({_quoted(naming.TIMESTAMP)}) as {_quoted('_time')}"
    selects = []
    for name, has in named:
        chosen = [_quoted(one) if one in has else f"null as {_quoted(one)}" for one in columns]
        selects.append(f"select {', '.join([*chosen, time])} from {_quoted(name)}")  # noqa: S608
    return " union all ".join(selects)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _values(column: pa.ChunkedArray) -> list[Any]:
    """Times to the microsecond: finer ones Python does not have."""
    kind = column.type
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        column = column.cast(pa.timestamp("us", kind.tz), safe=False)
    try:
        found = column.to_pylist()
    except (OverflowError, ValueError):
        found = [_value(one) for one in column]
    return [one.hex() if isinstance(one, bytes) else one for one in found]


def _value(one: pa.Scalar) -> Any:
    """Also a time of a sender that Python cannot hold: as Arrow writes it."""
    try:
        return one.as_py()
    except (OverflowError, ValueError):
        return one.cast(pa.string()).as_py()


def limited_to(memory_bytes: int, cpu_s: int) -> None:
    """From now on this process may have no more."""
    for what, most in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_CPU, cpu_s),
        (resource.RLIMIT_FSIZE, MAX_FILE_BYTES),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))


def main() -> None:
    """One question from standard input."""
    question = from_json(sys.stdin.buffer.read(), Question)
    limited_to(question.memory_bytes, question.cpu_s)
    try:
        answer = encoded(question)
    except MemoryError:
        said = "the query needs more memory than it may have here"
        answer = msgspec.json.encode(Answer(error=said))
    end_with(answer)


def end_with(answer: bytes) -> NoReturn:
    """The process ends here: threads of the libraries may still run, and one that does while
    the interpreter is taken down aborts it."""
    sys.stdout.buffer.write(answer)
    sys.stdout.buffer.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
