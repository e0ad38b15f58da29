"""What scripts put out, as Delta tables in the archive's place: each run's rows once. All calls
block.

    <folder>/_batch/<table>/<shape>     a row for each row of a run

A table notes, in the commit that brings the rows, up to which due time it has which script. A run
that ended without rows leaves that note, too: whoever still believes to run it is refused.
"""

from __future__ import annotations

import hashlib
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from lockstep.archive import naming
from lockstep.archive.events_in import day_of
from lockstep.archive.place import Place
from lockstep.archive.tables import HOUR_MS, Table, folders_below, rows_where
from lockstep.batch.fitting import fitted
from lockstep.batch.header import Header
from lockstep.batch.model import Run
from lockstep.batch.outputs import ToTable
from lockstep.settings import ArchiveSettings

SCRIPT: Final = "_script"
VERSION: Final = "_version"
DUE: Final = "_due_ms"
ROW: Final = "_row"
OWN: Final = (naming.DAY, SCRIPT, VERSION, DUE, ROW)
"""In front of what a script gives."""
_SHAPE_CHARACTERS: Final = 16


class Results:
    """Of one script, as a version's header says where they go."""

    def __init__(self, place: Place, header: Header) -> None:
        self._place = place
        output = header.output
        name = output.table if isinstance(output, ToTable) else header.name.replace("-", "_")
        self._path = f"{naming.BATCH}/{naming.folder_name(name)}"
        self._transaction = f"lockstep/batch/{header.name}"

    def _table(self, shape: str) -> Table:
        return Table(self._place, f"{self._path}/{shape}")

    def _tables(self) -> list[Table]:
        return [self._table(shape) for shape in folders_below(self._place, self._path)]

    def reached(self) -> int:
        """The last due time that is settled."""
        return max((one.reached(self._transaction) for one in self._tables()), default=0)

    def keep(self, rows: pa.Table, run: Run) -> bool:
        """Keeps the rows of a run (see `formed`) under its shape; False when it is settled already.
        FencedError, UnavailableError."""
        added = self._table(run.shape).append(rows, self._transaction, run.due_ms)
        return added is not None

    def close(self, run: Run) -> bool:
        """Nothing is kept of this run any more; False when there are rows of it, which stay."""
        if not run.shape:
            return True
        table = self._table(run.shape)
        opened = table.opened()
        if opened is None:
            return True
        none = pa.schema(opened.schema().to_arrow()).empty_table()
        return table.append(none, self._transaction, run.due_ms) is not None

    def rows(self, run: Run) -> pa.Table:
        """What is kept of a run, in order, without the columns of our own. UnavailableError."""
        day = pc.field(naming.DAY) == day_of(run.due_ms)
        place = day & (pc.field(SCRIPT) == run.script) & (pc.field(DUE) == run.due_ms)
        found = rows_where(self._table(run.shape), place)
        return found.sort_by(ROW).drop_columns(list(OWN))

    def look_after(
        self, keep_ms: int | None, now_ms: int, needed_ms: int | None, settings: ArchiveSettings
    ) -> None:
        """Forgets days that are over age, makes few files of many, removes those nobody needs.
        `needed_ms`: the rows of that due time, and of later ones, stay however old they are."""
        over_age_ms = None if keep_ms is None else now_ms - keep_ms
        if over_age_ms is not None and needed_ms is not None:
            over_age_ms = min(over_age_ms, needed_ms)
        for table in self._tables():
            if over_age_ms is not None:
                table.expire(day_of(over_age_ms))
            table.compact(settings.file_bytes)
            table.sweep(settings.keep_replaced_ms, strays=settings.keep_replaced_ms >= HOUR_MS)


def formed(rows: pa.Table, run: Run) -> pa.Table:
    """What a script gave as its table has it. NoRowsError."""
    rows = fitted(rows)
    count = len(rows)
    own = [
        pa.array([day_of(run.due_ms)] * count, pa.string()),
        pa.array([run.script] * count, pa.string()),
        pa.array([run.version] * count, pa.int64()),
        pa.array([run.due_ms] * count, pa.int64()),
        pa.array(range(count), pa.int64()),
    ]
    names = naming.column_names([*OWN[1:], *rows.column_names])[len(OWN) - 1 :]
    return pa.table([*own, *rows.columns], names=[*OWN, *names])


def shape_of(rows: pa.Table) -> str:
    """What tells tables of other columns apart; `rows` as they are `formed`."""
    told = "\x1f".join(f"{one.name} {one.type}" for one in rows.schema)
    return hashlib.sha256(told.encode()).hexdigest()[:_SHAPE_CHARACTERS]
