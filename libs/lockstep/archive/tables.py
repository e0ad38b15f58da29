"""Delta tables: the only place that knows their library. All calls are blocking.

An append names whose it is and up to where, in the table's own transaction log: the same commit
that brings the rows. So of two writers that believe in their lease one is refused, and whoever
begins again knows what is there.

Errors: UnavailableError when the store is away, full or slow, or a table's files cannot be read;
FencedError when somebody else has written the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import (
    CommitProperties,
    DeltaTable,
    QueryBuilder,
    Transaction,
    WriterProperties,
    write_deltalake,
)
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from pyarrow import fs

from lockstep.archive.naming import DAY, EVENT_COLUMNS
from lockstep.archive.place import Place
from lockstep.archive.shapes import Shape
from lockstep.events import Fault, FencedError, LockstepError, UnavailableError

if TYPE_CHECKING:  # loads pandas: 40 MB, which most processes never need
    import pyarrow.dataset as ds

_WRITING: Final = WriterProperties(
    compression="ZSTD", compression_level=3, max_row_group_size=65_536
)
_SUMMED_UP: Final = "delta.checkpointInterval"
CONFIGURATION: Final = {
    "delta.logRetentionDuration": "interval 7 days",
    # Whoever opens a table reads all commits behind the last checkpoint.
    _SUMMED_UP: "20",
    # The log of a table outlives its files: it says nothing of what attributes were. The column of
    # the partition is not counted.
    "delta.dataSkippingNumIndexedCols": str(len(EVENT_COLUMNS) - 1),
}
_KEPT_FOR: Final = ("delta.deletedFileRetentionDuration", "delta.logRetentionDuration")
"""For how long a table names a file that was replaced, and keeps the commits of its log."""
KEPT_LONGER_HOURS: Final = 1
"""So much longer than replaced files stay."""
_CONFLICT: Final = "Concurrent transaction failed"
_STORE: Final = "Generic "
"""What a store's own errors begin with, as the library tells them."""
_NO_COLUMN: Final = "No field named"
_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*m")
HOUR_MS: Final = 3_600_000
_CONNECT_S: Final = 5.0
_REQUEST_S: Final = 30.0
UNREADABLE: Final = (DeltaError, OSError, pa.ArrowException)
"""What a store that is away and a table that is broken raise."""
LONGEST_NAME_BYTES: Final = 255
"""Of a folder, on the file systems of Linux."""


class ConditionError(LockstepError):
    """A condition that a table cannot make out."""

    fault = Fault.USER


class NoSuchColumnError(ConditionError):
    """The condition names a column that the table never had."""


@contextmanager
def _told(address: str) -> Iterator[None]:
    try:
        yield
    except CommitFailedError as error:
        if _CONFLICT in str(error):
            raise FencedError("somebody else has archived the same", where=address) from error
        raise UnavailableError(
            f"the archive does not take it: {one_line(error)}", where=address
        ) from error
    except UNREADABLE as error:
        raise UnavailableError(
            f"the archive is away: {one_line(error)}", where=address,
            hint="archive.folder has to be there, writable and with room, its files whole",
        ) from error  # fmt: skip


def one_line(error: Exception) -> str:
    """What the library draws with colours over several lines."""
    return " ".join(_COLOURS.sub("", str(error)).split())


class Table:
    """One table. It is opened anew by each call that looks at what is there."""

    def __init__(self, place: Place, path: str) -> None:
        self.place = place
        self.path = path
        self.address = place.at(path)
        self._appended: int | None = None  # the version of this one's last commit

    def opened(self, version: int | None = None) -> DeltaTable | None:
        """None where there is none yet."""
        with _told(self.address):
            try:
                return DeltaTable(
                    self.address, version=version, storage_options=dict(self.place.options)
                )
            except TableNotFoundError:
                return None

    def reached(self, transaction: str) -> int:
        """Up to where it has what a transaction's name stands for; 0 where it has nothing."""
        table = self.opened()
        return 0 if table is None else _reached(table, transaction)

    def append(
        self,
        rows: pa.Table,
        transaction: str,
        last: int,
        *,
        numbered_by: str | None = None,
        is_begun: bool = False,
    ) -> int | None:
        """Appends rows up to `last`, in one commit; gives how many. None where the table has them
        already. `numbered_by`: rows up to where it is are left out: see `behind`. `is_begun`: a
        table that is not there is not made. FencedError."""
        table = self.opened()
        if table is None:
            if is_begun:
                raise _gone(self.address)
            table = _made(self.address, self.place, rows.schema)
        with _told(self.address):
            reached = _reached(table, transaction)
            missing = rows if numbered_by is None else behind(rows, numbered_by, reached)
            if reached >= last or (numbered_by is not None and not len(missing)):
                return None
            write_deltalake(
                table,
                missing,
                mode="append",
                writer_properties=_WRITING,
                commit_properties=CommitProperties(
                    app_transactions=[Transaction(transaction, last)], max_commit_retries=20
                ),
            )
            self._appended = table.version()
            return len(missing)

    def confirm(self, transaction: str, last: int) -> None:
        """What was appended is there; UnavailableError where it went below a mount that was
        gone."""
        stands = self._appended is not None and _stands(
            self.place, self.path, self._appended, transaction, last
        )
        if not stands and self.reached(transaction) < last:
            raise _gone(self.address)

    # --- reading -------------------------------------------------------------------------------

    def version(self) -> int | None:
        """The newest; None where there is no table."""
        table = self.opened()
        return None if table is None else table.version()

    def files(self, version: int | None = None) -> list[str]:
        """The addresses of the Parquet files of a version."""
        table = self.opened(version)
        return [] if table is None else [str(one) for one in table.file_uris()]

    def dataset(self, version: int | None = None) -> ds.Dataset | None:
        """Its rows for whoever asks several times; None where there is no table."""
        table = self.opened(version)
        if table is None:
            return None
        with _told(self.address):
            found: ds.Dataset = table.to_pyarrow_dataset()
            return found

    def scan(
        self, columns: Sequence[str] | None = None, where: Any = None
    ) -> Iterator[pa.RecordBatch]:
        """Batches of rows in no order. `where`: an expression of pyarrow.dataset."""
        dataset = self.dataset()
        if dataset is not None:
            with _told(self.address):
                yield from dataset.to_batches(columns=columns, filter=where)

    def figures(self) -> Figures | None:
        """What its files' statistics say; None where there is no table."""
        table = self.opened()
        if table is None:
            return None
        with _told(self.address):
            return Figures(pa.table(table.get_add_actions(flatten=True)))

    def sizes(self) -> tuple[int, int]:
        """How many rows and bytes there are."""
        found = self.figures()
        return (0, 0) if found is None else found.sizes()

    # --- keeping -------------------------------------------------------------------------------

    def expire(self, before_day: str) -> int:
        """Forgets days; gives how many rows went. Their files go with `sweep`."""
        table = self.opened()
        if table is None:
            return 0
        with _told(self.address):
            done = table.delete(f"{DAY} < '{before_day}'", writer_properties=_WRITING)
        return int(done.get("num_deleted_rows") or 0)

    def forget(self, found: pa.Table) -> int:
        """Forgets rows that `keys_where` found, in one commit; gives how many.

        A commit says what was deleted, for good. So rows go by their keys: the condition may hold
        what shall be forgotten."""
        table = self.opened()
        if table is None or not len(found):
            return 0
        alike = " and ".join(f"there.{key} = gone.{key}" for key in found.column_names)
        with _told(self.address):
            merging = table.merge(
                found, alike, source_alias="gone", target_alias="there", writer_properties=_WRITING
            )
            done = merging.when_matched_delete().execute()
        return int(done["num_target_rows_deleted"])

    def fence(self, transaction: str) -> None:
        """An append that is under way somewhere else is refused from now on."""
        table = self.opened()
        if table is None:
            return
        reached = _reached(table, transaction)
        with _told(self.address):
            write_deltalake(
                table,
                pa.schema(table.schema().to_arrow()).empty_table(),
                mode="append",
                commit_properties=CommitProperties(
                    app_transactions=[Transaction(transaction, reached)]
                ),
            )

    def compact(self, target_bytes: int) -> int:
        """Makes few files of many small ones; gives how many went."""
        table = self.opened()
        if table is None:
            return 0
        with _told(self.address):
            done = table.optimize.compact(
                target_size=target_bytes, max_concurrent_tasks=1, writer_properties=_WRITING
            )
        return int(done["numFilesRemoved"])

    def sweep(self, keep_ms: int, *, strays: bool = False) -> int:
        """Removes files that no version of the last `keep_ms` has, as far as the table names them;
        gives how many. `strays`: also what an append left that never came to its end. Then nobody
        may be appending (`fence`), unless `keep_ms` is more than an append takes."""
        table = self.opened()
        if table is None:
            return 0
        with _told(self.address):
            _remember_for(table, keep_ms // HOUR_MS + KEPT_LONGER_HOURS)
            return len(
                table.vacuum(
                    retention_hours=keep_ms // HOUR_MS,
                    dry_run=False,
                    enforce_retention_duration=False,
                    full=strays,
                )
            )


@dataclass(frozen=True)
class Figures:
    """Statistics of the files of a table, a row for each."""

    files: pa.Table

    def sizes(self) -> tuple[int, int]:
        """How many rows and bytes there are."""
        counts = self.files.column("num_records").to_pylist()
        return sum(one or 0 for one in counts), sum(self.files.column("size_bytes").to_pylist())

    def bounds(self, column: str) -> tuple[int, int] | None:
        """The least and greatest value of a column."""
        low, high = f"min.{column}", f"max.{column}"
        if low not in self.files.column_names:
            return None
        lows = [one for one in self.files.column(low).to_pylist() if one is not None]
        highs = [one for one in self.files.column(high).to_pylist() if one is not None]
        return (min(lows), max(highs)) if lows and highs else None


def _remember_for(table: DeltaTable, hours: int) -> None:
    """The table names files that were replaced, and keeps its commits, for so long, and not for a
    week. Each sweep removes all that it names, there or not. Whoever opens it reads what it names,
    and goes through the names of all commits."""
    wanted = dict.fromkeys(_KEPT_FOR, f"interval {hours} hours")
    wanted[_SUMMED_UP] = CONFIGURATION[_SUMMED_UP]
    known = table.metadata().configuration
    changed = {name: value for name, value in wanted.items() if known.get(name) != value}
    if changed:
        table.alter.set_table_properties(changed)


def _made(address: str, place: Place, schema: pa.Schema) -> DeltaTable:
    with _told(address):
        return DeltaTable.create(
            address,
            schema=schema,
            mode="ignore",
            partition_by=[DAY],
            configuration=CONFIGURATION,
            storage_options=dict(place.options),
        )


def _gone(address: str) -> UnavailableError:
    return UnavailableError(
        "the table is gone that was there", where=address, hint="is what is mounted there away?"
    )


def keys_where(there: Table, condition: str, keys: Sequence[str]) -> pa.Table:
    """The keys of a table's rows of which a condition (SQL) is true. `keys`: the columns that tell
    rows apart. NoSuchColumnError, ConditionError."""
    table = there.opened()
    if table is None:
        return pa.table({key: pa.array([], pa.int64()) for key in keys})
    with _told(there.address):
        return _found(table, condition, keys)


def _found(table: DeltaTable, condition: str, keys: Sequence[str]) -> pa.Table:
    asking = QueryBuilder().register("stream", table)
    asked = f"select {', '.join(keys)} from stream where {condition}"  # noqa: S608
    try:
        # Read by Arrow: the library's own reader raises what has no type.
        return pa.RecordBatchReader.from_stream(asking.execute(asked)).read_all()
    except DeltaError as error:
        if _STORE in str(error):
            raise
        kind = NoSuchColumnError if _NO_COLUMN in str(error) else ConditionError
        raise kind(
            f"{condition!r} is no condition: {one_line(error)}",
            hint="write it as SQL has it behind where: user = 'bob' and amount > 5",
        ) from error


def rows_where(there: Table, where: Any) -> pa.Table:
    """The rows of a table of which an expression of pyarrow.dataset is true. UnavailableError, also
    where there is no table."""
    dataset = there.dataset()
    if dataset is None:
        raise _gone(there.address)
    with _told(there.address):
        return dataset.to_table(filter=where)


def as_shape(there: Table, columns: Mapping[str, str]) -> Shape:
    """For `layout_of`. `columns`: their types, as the engine calls them."""
    name = there.path.rsplit("/", 1)[-1]
    return Shape(name, columns, partial(_made_ms, there), partial(_holds, there))


def _made_ms(there: Table) -> int:
    """When a table was made; 0 where there is none, or it does not say."""
    table = there.opened()
    with _told(there.address):
        return 0 if table is None else int(table.metadata().created_time or 0)


def _holds(there: Table, column: str) -> bool:
    """Whether a column has any value but null."""
    return any(len(one) > one.column(0).null_count for one in there.scan(columns=[column]))


def _reached(table: DeltaTable, transaction: str) -> int:
    found = table.transaction_version(transaction)
    return 0 if found is None else int(found)


def behind(rows: pa.Table, column: str, reached: int) -> pa.Table:
    """The rows that a table which has all up to `reached` has not got."""
    values = rows.column(column)
    if not len(values) or reached <= 0:
        return rows
    return rows.filter(pc.greater(values, reached))


def strays(table: Table) -> int:
    """How many files of a table there are that its newest version has not: what was replaced, and
    what appends have not finished, or never will."""
    known = {one.rsplit("/", 1)[-1] for one in table.files()}
    found = _entries(table.place, table.path, recursive=True)
    names = [one.base_name for one in found if one.type == fs.FileType.File
             and "/_delta_log/" not in one.path]  # fmt: skip
    return sum(name not in known for name in names)


def folders_below(place: Place, path: str) -> list[str]:
    """The names of the folders there, in order; none below a name that no folder can have."""
    if place.is_folder and any(len(one) > LONGEST_NAME_BYTES for one in path.split("/")):
        return []
    found = _entries(place, path)
    return sorted(one.base_name for one in found if one.type == fs.FileType.Directory)


def _entries(place: Place, path: str, *, recursive: bool = False) -> list[Any]:
    """What is in a folder; nothing where there is none, or none yet."""
    with _told(place.at(path)):
        system, root = _system(place)
        below = f"{root}/{path}".rstrip("/")
        selector = fs.FileSelector(below, recursive=recursive, allow_not_found=True)
        try:
            return list(system.get_file_info(selector))
        except FileNotFoundError:
            # The library lists first and only then asks whether the folder is missing. One that is
            # made between the two is neither listed nor missing.
            return []


def _stands(place: Place, path: str, version: int, transaction: str, last: int) -> bool:
    """Whether the commit of an append is there, and the one before it: then the table need not be
    opened. Below a mount that is gone there is the last one alone."""
    if _commit(place, path, version - 1) is None:
        return False
    commit = _commit(place, path, version) or []
    said = {"appId": transaction, "version": last}
    return any(said.items() <= action.get("txn", {}).items() for action in commit)


def _commit(place: Place, path: str, version: int) -> list[dict[str, Any]] | None:
    """What a commit did, as the table's log has it; None where there is none that can be read."""
    with _told(place.at(path)):
        system, root = _system(place)
        try:
            with system.open_input_file(f"{root}/{path}/_delta_log/{version:020}.json") as found:
                return [json.loads(line) for line in found.read().splitlines()]
        except (FileNotFoundError, ValueError):
            return None


def remove_folder(place: Place, path: str) -> None:
    """All that is below it, for good; nothing where there is none. UnavailableError."""
    with _told(place.at(path)):
        system, root = _system(place)
        if system.get_file_info(f"{root}/{path}").type == fs.FileType.Directory:
            system.delete_dir(f"{root}/{path}")


def _system(place: Place) -> tuple[Any, str]:
    if place.is_folder:
        return fs.LocalFileSystem(), place.folder
    given = {key.upper(): value for key, value in place.options.items()}
    endpoint = given.get("AWS_ENDPOINT_URL", "")
    system = fs.S3FileSystem(
        access_key=given.get("AWS_ACCESS_KEY_ID"),
        secret_key=given.get("AWS_SECRET_ACCESS_KEY"),
        region=given.get("AWS_REGION") or "us-east-1",
        endpoint_override=endpoint.split("://")[-1] or None,
        scheme="http" if endpoint.startswith("http://") else "https",
        connect_timeout=_CONNECT_S,
        request_timeout=_REQUEST_S,
    )
    return system, place.folder.removeprefix("s3://").rstrip("/")


def opened_files(place: Place, files: Iterable[str]) -> Iterator[pa.RecordBatch]:
    """The rows of Parquet files of a table, one file after another."""
    system, _ = _system(place)
    for file in files:
        path = file.removeprefix("s3://")
        with _told(file):
            yield from pq.ParquetFile(system.open_input_file(path)).iter_batches()


def rows_of_file(place: Place, file: str) -> Iterator[pa.RecordBatch]:
    """The same of one file."""
    return opened_files(place, [file])
