"""Output rows as Arrow columns: how the hot path carries them, without an object per row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import merge
from itertools import pairwise
from operator import attrgetter, lt
from typing import Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lockstep.events.characters import whole
from lockstep.events.columns import CODES, columns_of, default_names, rows_of, taken
from lockstep.events.errors import InvalidEventError
from lockstep.events.records import Operation, OutputId, OutputRow
from lockstep.events.schema import StreamSchema

Longs = npt.NDArray[np.int64]


class Places(NamedTuple):
    """Of the rows of a stream that other units read: where in its position each was brought.

    `moments`: 2k by timers and moves of the clock in front of delivery k, 2k+1 by delivery k, and
    2K behind the last of K. Deliveries are counted as the record has them, those among them that
    are empty or repeated. `clocks`: the app clock when the row came out. `chunks`: the number of
    its chunk among those of the position, of all such streams together.
    """

    moments: Longs
    clocks: Longs
    chunks: Longs

    def part(self, start: int, stop: int) -> Places:
        """Those of some rows, in place."""
        return Places(*(each[start:stop] for each in self))

    def picked(self, index: Longs) -> Places:
        """Those of some rows."""
        return Places(*(each[index] for each in self))


@dataclass(frozen=True, eq=False)
class OutputColumns:
    """Rows of one output stream (or stored table), in ascending identity; the twin of OutputRow.

    `batch` has one column per value; `operations` is one per row (int8), or None when all are
    Operation.EVENT. `places` are those of a channel's rows (@channel), else None. All arrays are as
    long as the batch.
    """

    stream: str
    positions: Longs
    ordinals: Longs
    timestamps_ms: Longs
    batch: pa.RecordBatch
    operations: npt.NDArray[np.int8] | None = None
    places: Places | None = None

    def __len__(self) -> int:
        return len(self.positions)

    def rows(self) -> list[OutputRow]:
        """The same as rows."""
        count = len(self)
        ids = map(OutputId, self.positions.tolist(), self.ordinals.tolist())
        operations = (
            [Operation.EVENT] * count
            if self.operations is None
            else [Operation(each) for each in self.operations.tolist()]
        )
        data = rows_of(self.batch, count)
        times = self.timestamps_ms.tolist()
        return list(map(OutputRow, ids, [self.stream] * count, times, data, operations))

    def part(self, start: int, stop: int) -> OutputColumns:
        """The rows from `start` up to before `stop`, in place."""
        operations = self.operations
        return replace(
            self,
            positions=self.positions[start:stop],
            ordinals=self.ordinals[start:stop],
            timestamps_ms=self.timestamps_ms[start:stop],
            batch=self.batch.slice(start, stop - start) if self.batch.num_columns else self.batch,
            operations=None if operations is None else operations[start:stop],
            places=None if self.places is None else self.places.part(start, stop),
        )

    def picked(self, index: Longs) -> OutputColumns:
        """Some of the rows."""
        operations = self.operations
        return replace(
            self,
            positions=self.positions[index],
            ordinals=self.ordinals[index],
            timestamps_ms=self.timestamps_ms[index],
            batch=taken(self.batch, index),
            operations=None if operations is None else operations[index],
            places=None if self.places is None else self.places.picked(index),
        )

    def up_to(self, last: OutputId) -> int:
        """How many rows have this identity or a smaller one."""
        first, behind = np.searchsorted(self.positions, [last.position, last.position + 1])
        ordinals = self.ordinals[first:behind]
        return int(first + np.searchsorted(ordinals, last.ordinal, side="right"))

    def follows(self, before: OutputColumns) -> bool:
        """All rows of this one come after all of `before`; neither is empty."""
        ends = int(before.positions[-1]), int(before.ordinals[-1])
        return (int(self.positions[0]), int(self.ordinals[0])) > ends

    @property
    def ascends(self) -> bool:
        """No identity stands twice or before a smaller one."""
        if len(self) < 2:
            return True
        later = np.diff(self.positions)
        return bool(((later > 0) | ((later == 0) & (np.diff(self.ordinals) > 0))).all())


class RowsOfColumns(Sequence[OutputRow]):
    """The rows of several columns, in ascending identity; made only when they are looked at.

    Each of `columns` ascends, and no identity stands twice. Slices are columns again.
    """

    def __init__(self, columns: Iterable[OutputColumns]) -> None:
        self.columns = tuple(each for each in columns if len(each))
        self._count = sum(map(len, self.columns))

    @cached_property
    def _rows(self) -> list[OutputRow]:
        parts = [each.rows() for each in self.columns]
        return parts[0] if len(parts) == 1 else list(merge(*parts, key=attrgetter("id")))

    @cached_property
    def _owners(self) -> npt.NDArray[np.int32]:
        """Of each row in order, in which of the columns it stands."""
        columns = self.columns
        owners = np.repeat(np.arange(len(columns), dtype=np.int32), [len(each) for each in columns])
        if all(b.follows(a) for a, b in pairwise(columns)):
            return owners
        positions = np.concatenate([each.positions for each in columns])
        ordinals = np.concatenate([each.ordinals for each in columns])
        return owners[np.lexsort((ordinals, positions))]

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> OutputRow: ...
    @overload
    def __getitem__(self, index: slice) -> RowsOfColumns: ...
    def __getitem__(self, index: int | slice) -> OutputRow | RowsOfColumns:
        if isinstance(index, slice):
            start, stop, step = index.indices(self._count)
            if step != 1:
                raise ValueError("rows are cut in one piece")
            return self._part(start, max(start, stop))
        at = range(self._count)[index]
        (row,) = self._part(at, at + 1).columns[0].rows()
        return row

    def _part(self, start: int, stop: int) -> RowsOfColumns:
        if start == 0 and stop == self._count:
            return self
        if len(self.columns) == 1:
            return RowsOfColumns([self.columns[0].part(start, stop)])
        begins, ends = self._before(start), self._before(stop)
        return RowsOfColumns(
            each.part(begin, end)
            for each, begin, end in zip(self.columns, begins, ends, strict=True)
            if begin < end
        )

    def _before(self, count: int) -> list[int]:
        """How many of the first rows stand in each of the columns."""
        found: list[int] = np.bincount(self._owners[:count], minlength=len(self.columns)).tolist()
        return found

    @cached_property
    def first_id(self) -> OutputId:
        """Of the first row; there is one."""
        return min(OutputId(int(each.positions[0]), int(each.ordinals[0])) for each in self.columns)

    @cached_property
    def last_id(self) -> OutputId:
        """Of the last row; there is one."""
        ends = (OutputId(int(each.positions[-1]), int(each.ordinals[-1])) for each in self.columns)
        return max(ends)

    def up_to(self, last: OutputId) -> int:
        """How many rows have this identity or a smaller one."""
        if not self.columns or last >= self.last_id:
            return self._count
        if last < self.first_id:
            return 0
        return sum(each.up_to(last) for each in self.columns)

    def of_stream(self, name: str) -> RowsOfColumns:
        """The rows of one stream."""
        return RowsOfColumns(each for each in self.columns if each.stream == name)

    def __iter__(self) -> Iterator[OutputRow]:
        return iter(self._rows)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Sequence) and self._rows == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._rows)


NO_ROWS = RowsOfColumns(())


def first_id(rows: Sequence[OutputRow]) -> OutputId:
    """Of the first row; there is one. Of columns no row is made for it."""
    return rows.first_id if isinstance(rows, RowsOfColumns) else rows[0].id


def last_id(rows: Sequence[OutputRow]) -> OutputId:
    """The same of the last row."""
    return rows.last_id if isinstance(rows, RowsOfColumns) else rows[-1].id


def firsts_within(positions: Longs) -> Longs:
    """Where the first of equal positions stand, which stand side by side."""
    is_first = np.ones(len(positions), np.bool_)
    np.not_equal(positions[1:], positions[:-1], out=is_first[1:])
    return np.flatnonzero(is_first)


def numbers_within(positions: Longs) -> Longs:
    """0, 1, 2 … among equal positions, which stand side by side."""
    firsts = firsts_within(positions)
    if len(firsts) == len(positions):
        return np.zeros(len(positions), np.int64)
    lengths = np.diff(np.append(firsts, len(positions)))
    return np.arange(len(positions), dtype=np.int64) - np.repeat(firsts, lengths)


def in_columns(
    rows: Sequence[OutputRow], schemas: Mapping[str, StreamSchema] | None = None
) -> RowsOfColumns:
    """The rows as columns, named and typed as `schemas` says; those of other streams, and such as
    do not fit, are typed by their values.

    Errors: ValueError when they do not ascend in identity, InvalidEventError for values that cannot
    travel.
    """
    if isinstance(rows, RowsOfColumns):
        return rows
    ids = [row.id for row in rows]
    if not all(map(lt, ids, ids[1:])):
        raise ValueError("the rows of an output record ascend in identity")
    by_stream: dict[tuple[str, int], list[OutputRow]] = {}
    for row in rows:
        by_stream.setdefault((row.stream, len(row.data)), []).append(row)
    known = schemas or {}
    return RowsOfColumns(
        _columns(name, some, known.get(name)) for (name, _), some in by_stream.items()
    )


def _columns(stream: str, rows: list[OutputRow], schema: StreamSchema | None) -> OutputColumns:
    # A deletion bears only the key's values, so its rows have a width of their own.
    if schema is not None and len(schema.attributes) != len(rows[0].data):
        schema = None
    data = [row.data for row in rows]
    try:
        codes, arrays = columns_of(data, stream, schema)
    except InvalidEventError:
        # A function may give what it did not declare, or half a character; that is no reason to
        # stop an app.
        mended = [tuple(map(whole, row)) for row in data]
        if schema is None and mended == data:
            raise
        schema = None
        codes, arrays = columns_of(mended, stream, schema)
    names = default_names(len(codes)) if schema is None else schema.names
    fields = pa.schema([(name, CODES[code]) for name, code in zip(names, codes, strict=True)])
    operations = np.fromiter((int(row.operation) for row in rows), np.int8, len(rows))
    return OutputColumns(
        stream,
        np.array([row.id.position for row in rows], np.int64),
        np.array([row.id.ordinal for row in rows], np.int64),
        np.array([row.timestamp_ms for row in rows], np.int64),
        pa.RecordBatch.from_arrays(arrays, schema=fields),
        operations if operations.any() else None,
    )


def joined(parts: Iterable[RowsOfColumns]) -> RowsOfColumns:
    """Rows that follow one another, as one; columns of a kind become one where they can."""
    kinds: dict[tuple[str, pa.Schema, bool], list[list[OutputColumns]]] = {}
    for part in parts:
        for each in part.columns:
            kind = (each.stream, each.batch.schema, each.places is None)
            runs = kinds.setdefault(kind, [])
            if runs and each.follows(runs[-1][-1]):
                runs[-1].append(each)
            else:
                runs.append([each])
    return RowsOfColumns(_concatenated(run) for runs in kinds.values() for run in runs)


def _concatenated(run: Sequence[OutputColumns]) -> OutputColumns:
    first = run[0]
    if len(run) == 1:
        return first
    given = any(each.operations is not None for each in run)
    zeros = [
        np.zeros(len(each), np.int8) if each.operations is None else each.operations for each in run
    ]
    return OutputColumns(
        first.stream,
        np.concatenate([each.positions for each in run]),
        np.concatenate([each.ordinals for each in run]),
        np.concatenate([each.timestamps_ms for each in run]),
        pa.concat_batches([each.batch for each in run]),
        np.concatenate(zeros) if given else None,
        _joined_places([each.places for each in run if each.places is not None]),
    )


def _joined_places(places: Sequence[Places]) -> Places | None:
    if not places:
        return None
    return Places(*(np.concatenate(some) for some in zip(*places, strict=True)))
