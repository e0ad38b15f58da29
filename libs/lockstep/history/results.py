"""Rows that a fold of the past gives out, as Delta tables of the shape of what was published. All
calls block.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import pyarrow as pa

from lockstep.archive import naming
from lockstep.archive.keeping import SideArchive
from lockstep.archive.place import Place
from lockstep.archive.rows_out import output_batch
from lockstep.archive.tables import remove_folder
from lockstep.events import Life, Position
from lockstep.events.outputs import OutputColumns

FLUSH_BYTES: Final = 67_108_864


def _path_of(app: str, life: Life) -> str:
    return f"{naming.PAST}/{naming.folder_name(app)}.{life.deployed_ms}.{life.number}"


def of_past(place: Place, app: str, life: Life) -> Place:
    """Where the rows stand that an app gives out for the past that it was deployed with."""
    return Place(place.at(_path_of(app, life)), place.options)


def remove_rows(place: Place, app: str, life: Life) -> None:
    """What an app has given out for a past that it does not go on with. UnavailableError."""
    remove_folder(place, _path_of(app, life))


class ResultTables:
    """The tables of one fold, below a folder of their own. Each row is there once, also when all is
    folded again from the beginning, cut otherwise. `writer`: of several that write different rows.
    """

    def __init__(self, place: Place, logs: naming.Logs, writer: str) -> None:
        self.folder = place.folder
        self._side = SideArchive(place, logs, naming.OUTPUT, writer)
        self._held: list[OutputColumns] = []
        self._bytes = 0
        self._last: Position = 0

    def take(self, columns: Iterable[OutputColumns], last: Position) -> None:
        """Rows of a slice that ends at `last`. UnavailableError, FencedError."""
        for one in columns:
            if len(one):
                self._held.append(one)
                self._bytes += one.batch.nbytes
        self._last = last
        if self._bytes >= FLUSH_BYTES:
            self.flush()

    def flush(self) -> None:
        """All that was taken stands when this returns. UnavailableError, FencedError."""
        held, self._held, self._bytes = self._held, [], 0
        for (stream, shape), rows in _as_tables(held, self._last).items():
            table = self._side.table(stream, shape)
            added = table.append(
                rows, self._side.transaction, self._last, numbered_by=naming.POSITION
            )
            if added and self._side.place.is_folder:
                table.confirm(self._side.transaction, self._last)


def _as_tables(
    columns: Iterable[OutputColumns], last: Position
) -> Mapping[tuple[str, str], pa.Table]:
    """By stream and shape. `last` is the sequence of all rows."""
    parts: dict[tuple[str, str], list[pa.RecordBatch]] = {}
    for one in columns:
        schema = one.batch.schema
        shape = naming.shape_of(schema.names, naming.codes_of(schema.types))
        parts.setdefault((one.stream, shape), []).append(output_batch(one, last, 0))
    return {key: pa.Table.from_batches(batches) for key, batches in parts.items()}
