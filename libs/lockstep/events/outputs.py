"""Output rows as Arrow columns: the form in which a bulk executor hands them on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import merge
from operator import attrgetter
from typing import Any, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lockstep.events.columns import rows_of
from lockstep.events.records import Operation, OutputId, OutputRow

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class OutputColumns:
    """Rows of one output stream (or stored table), in ascending identity; the twin of OutputRow.

    `batch` has one column per attribute, in the schema's order; `operations` is one for all rows or
    one per row (int8). All arrays are as long as the batch.
    """

    stream: str
    positions: Longs
    ordinals: Longs
    timestamps_ms: Longs
    batch: pa.RecordBatch
    operations: npt.NDArray[np.int8] | None = None

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


class RowsOfColumns(Sequence[OutputRow]):
    """The rows of several streams' columns, in ascending identity; made when first looked at."""

    def __init__(self, columns: Sequence[OutputColumns]) -> None:
        self._columns = columns

    @cached_property
    def _rows(self) -> list[OutputRow]:
        parts = [each.rows() for each in self._columns]
        return parts[0] if len(parts) == 1 else list(merge(*parts, key=attrgetter("id")))

    def __len__(self) -> int:
        return sum(map(len, self._columns))

    @overload
    def __getitem__(self, index: int) -> OutputRow: ...
    @overload
    def __getitem__(self, index: slice) -> list[OutputRow]: ...
    def __getitem__(self, index: int | slice) -> OutputRow | list[OutputRow]:
        return self._rows[index]

    def __iter__(self) -> Iterator[OutputRow]:
        return iter(self._rows)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Sequence) and self._rows == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._rows)
