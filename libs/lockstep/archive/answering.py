"""SQL over one app's archive without Spark, by the tables' own library: what the process does that
`asking` starts. `python -m lockstep.archive.answering`: a question comes in as JSON, an answer goes
out, and that is all.

It reads and cannot do anything else: a question is first planned as a subquery of ours, which
nothing but a query can be.
"""

from __future__ import annotations

import itertools
import os
import re
import resource
import sys
from collections.abc import Iterator, Mapping, Sequence
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
from lockstep.archive.shapes import Clash, Layout, Shape, kind_of, layout_of
from lockstep.archive.tables import Table, as_shape, one_line
from lockstep.archive.view_names import Claim, by_name, named_in, told
from lockstep.events import Fault, LockstepError
from lockstep.events.typed import from_json

MAX_FILE_BYTES: Final = 1_048_576
_AS_WRITTEN: Final = "set datafusion.sql_parser.enable_ident_normalization = false"
"""Streams and attributes are named as in the app, in capitals too."""

_MISSING: Final = re.compile(r"table '(.+?)' not found|No field named (.+?)\.(?:\s|$)")
_LAST: Final = re.compile(r'(?:"((?:[^"]|"")+)"|([^".]+))$')
_WHOLE: Final = ("int32", "int64")


class UnclearError(LockstepError):
    """A query names what is not one thing."""

    fault = Fault.USER


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
    # Case counts here, as names are quoted.
    wanted = by_name(_claims(place, question.app), str)
    several: dict[str, tuple[str, str]] = {}
    clashes: list[tuple[str, Clash]] = []
    for name in named_in(question.sql, wanted):
        if len(wanted[name]) > 1:
            several[name] = told(name, wanted[name], wanted)
            continue
        union, found = _union(asking, numbers, wanted[name][0].what)
        if union:
            asking.execute(f"create view {_quoted(name)} as {union}")
        clashes += [(name, one) for one in found]
    sql = question.sql.strip().rstrip(";")
    try:
        # Planned as a part of ours, which nothing but a query can be; then as it is, for its order.
        asking.execute(f"explain select * from (\n{sql}\n)")  # noqa: S608
        rows = asking.execute(sql)
    except DeltaError as error:
        unclear = _unclear(str(error), several, clashes)
        if unclear is None:
            raise
        raise unclear from error
    return _first(pa.RecordBatchReader.from_stream(rows), question.rows + 1)


def _unclear(
    said: str, several: Mapping[str, tuple[str, str]], clashes: Sequence[tuple[str, Clash]]
) -> UnclearError | None:
    """What a query asks for that the archive has, and that no view or column can be."""
    found = _MISSING.search(said)
    if found is None:
        return None
    table, column = found.groups()
    if table is not None:
        message, hint = several.get(table.rsplit(".", 1)[-1], ("", ""))
        return UnclearError(message, hint=hint) if message else None
    last = _LAST.search(column)
    name = "" if last is None else last[1] or last[2]
    for stream, clash in clashes:
        if clash.column == name:
            message, hint = clash.told(f"'{stream}'")
            return UnclearError(message, hint=hint)
    return None


def _first(reader: pa.RecordBatchReader, rows: int) -> pa.Table:
    """No more of an answer is computed than is taken."""
    found: list[pa.RecordBatch] = []
    for batch in reader:
        found.append(batch)
        if sum(map(len, found)) >= rows:
            break
    return pa.Table.from_batches(found, schema=reader.schema)


def _claims(place: Place, app: str) -> list[Claim[list[Table]]]:
    """Views as `lockstep archive query` names them, of one app."""
    found: list[Claim[list[Table]]] = []
    plain: dict[str, Claim[list[Table]]] = {}
    for side, suffix in naming.SIDES.items():
        mine: dict[str, list[Table]] = {}
        for logs in lives_of(place, app):
            for name, table in SideArchive(place, logs, side).tables():
                mine.setdefault(name.stream, []).append(table)
        for stream, tables in mine.items():
            source = f"{naming.CAME[side]} '{stream}'"
            plain[stream] = Claim(stream, tables, source)
            found.append(Claim(f"{stream}__{suffix}", tables, source))
    return [*found, *plain.values()]


def _union(
    asking: QueryBuilder, numbers: Iterator[int], tables: Sequence[Table]
) -> tuple[str, Sequence[Clash]]:
    """Of all shapes of a stream: what one has not is null."""
    shapes, named = [], []
    for table in tables:
        opened = table.opened()
        if opened is None:
            continue
        name = f"_table_{next(numbers)}"
        asking.register(name, opened)
        named.append(name)
        columns = {
            one.name: str(one.type) for one in pa.schema(opened.schema().to_arrow())
            if one.name != naming.DAY
        }  # fmt: skip
        shapes.append(as_shape(table, columns))
    layout = layout_of(shapes, str)
    wider = _wider(shapes, layout)
    time = f"to_timestamp_millis({_quoted(naming.TIMESTAMP)}) as {_quoted('_time')}"
    selects = []
    for name, names in zip(named, layout.names, strict=True):
        own = {called: _quoted(column) for column, called in names.items()}
        chosen = [
            f"cast({own.get(one, 'null')} as {kind}) as {_quoted(one)}" if kind
            else f"{own.get(one, 'null')} as {_quoted(one)}"
            for one, kind in wider.items()
        ]  # fmt: skip
        selects.append(f"select {', '.join([*chosen, time])} from {_quoted(name)}")  # noqa: S608
    return " union all ".join(selects), layout.clashes


def _wider(shapes: Sequence[Shape], layout: Layout) -> dict[str, str]:
    """The columns of a view in order; of numbers of several types the one that has all: whole ones
    become `bigint`, others `double`."""
    found: dict[str, set[str]] = {}
    for shape, names in zip(shapes, layout.names, strict=True):
        for column, called in names.items():
            found.setdefault(called, set()).add(shape.columns[column])
    return {
        called: "" if len(kinds) == 1 or kind_of(min(kinds)) != "number"
        else "bigint" if kinds <= set(_WHOLE) else "double"
        for called, kinds in found.items()
    }  # fmt: skip


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
