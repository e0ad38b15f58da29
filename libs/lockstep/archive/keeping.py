"""What the archive has of an app, written behind its logs, and looked after. All calls block.

Each table notes in its own transaction log how far it is. A batch goes to the streams' tables first
and to `records` last: what `records` has, all have. Whoever begins again in between brings the rows
that are missing, and no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from lockstep.archive import naming
from lockstep.archive.events_in import InputRows, day_of
from lockstep.archive.place import Place
from lockstep.archive.rows_out import OutputRows
from lockstep.archive.tables import HOUR_MS, Table, folders_below
from lockstep.events import UnavailableError

COUNTED_BY: Final = {naming.INPUT: "position", naming.OUTPUT: "sequence"}
"""How the records of each log are numbered, in `records`."""
_STREAMS_BY: Final = {naming.INPUT: naming.POSITION, naming.OUTPUT: naming.SEQUENCE}
KEYS: Final = {
    naming.INPUT: (naming.POSITION, naming.ROW),
    naming.OUTPUT: (naming.SEQUENCE, naming.POSITION, naming.ORDINAL),
}
"""What tells the rows of a stream's table apart."""
TEXT_SCHEMA: Final = pa.schema(
    [
        (naming.DAY, pa.string()),
        ("deployed_ms", pa.int64()),
        ("life", pa.int64()),
        ("version", pa.string()),
        ("text", pa.string()),
        ("parallel", pa.int64()),
        ("origin", pa.int64()),
        ("seen_ms", pa.int64()),
    ]
)


@dataclass(frozen=True)
class SideArchive:
    """One side of an app: its input log, or what it published. `writer`: of several that write
    different rows of it, each counting for itself."""

    place: Place
    logs: naming.Logs
    side: str
    writer: str = ""

    @property
    def transaction(self) -> str:
        """Under which name tables note how far they are."""
        return f"{self.logs.transaction}/{self.writer}" if self.writer else self.logs.transaction

    @property
    def records(self) -> Table:
        """The table with a row per record."""
        return Table(self.place, naming.records_path(self.logs, self.side))

    def reached(self) -> int:
        """Up to which record everything is here."""
        return self.records.reached(self.transaction)

    def write(self, rows: InputRows | OutputRows, *, is_begun: bool = False) -> int:
        """A batch that begins behind `reached` or before it; gives how many of its rows were there
        already, and so were not written again. `is_begun`: the archive has to be there already.
        FencedError, UnavailableError."""
        transaction, numbered_by = self.transaction, _STREAMS_BY[self.side]
        written: list[Table] = []
        repeated = 0
        for (stream, shape), found in rows.streams.items():
            table = self.table(stream, shape)
            added = table.append(found, transaction, rows.last, numbered_by=numbered_by) or 0
            repeated += len(found) - added
            if added:
                written.append(table)
        self._confirm(written, rows.last)
        if not len(rows.records):
            return repeated
        records, numbered_by = self.records, COUNTED_BY[self.side]
        noted = records.append(
            rows.records, transaction, rows.last, numbered_by=numbered_by, is_begun=is_begun
        )
        self._confirm([records], rows.last)
        return repeated + len(rows.records) - (noted or 0)

    def _confirm(self, written: Sequence[Table], last: int) -> None:
        """A folder may be a mount that goes away between the looking and the writing."""
        if self.place.is_folder:
            for table in written:
                table.confirm(self.transaction, last)

    def table(self, stream: str, shape: str) -> Table:
        """Of a stream's events or rows of one shape."""
        return Table(self.place, naming.StreamTable(self.logs, self.side, stream, shape).path)

    def tables(self) -> Iterator[tuple[naming.StreamTable, Table]]:
        """Of all streams that have any."""
        path = f"{self.logs.path}/{self.side}"
        for folder in folders_below(self.place, path):
            if folder == naming.RECORDS:
                continue
            for shape in folders_below(self.place, f"{path}/{folder}"):
                name = naming.StreamTable(self.logs, self.side, naming.name_of(folder), shape)
                yield name, Table(self.place, name.path)


@dataclass(frozen=True, slots=True)
class Text:
    """A text that was deployed: in which life of the app, cut how."""

    deployed_ms: int
    life: int
    version: str
    text: str
    parallel: int
    origin: int


def note_text(place: Place, logs: naming.Logs, text: Text, now_ms: int) -> None:
    """Keeps which text an app has, once per life."""
    row = {
        naming.DAY: day_of(now_ms), "deployed_ms": text.deployed_ms, "life": text.life,
        "version": text.version, "text": text.text, "parallel": text.parallel,
        "origin": text.origin, "seen_ms": now_ms,
    }  # fmt: skip
    transaction = f"{logs.transaction}/{text.deployed_ms}"
    rows = pa.Table.from_pylist([row], schema=TEXT_SCHEMA)
    Table(place, naming.texts_path(logs)).append(rows, transaction, text.life)


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What was done: rows that were over age, files that became fewer, files removed."""

    expired: int = 0
    compacted: int = 0
    swept: int = 0

    def __add__(self, other: Upkeep) -> Upkeep:
        return Upkeep(
            self.expired + other.expired,
            self.compacted + other.compacted,
            self.swept + other.swept,
        )


def keep_up(
    side: SideArchive,
    retention_ms: Callable[[str], int | None],
    longest_ms: int | None,
    now_ms: int,
    *,
    file_bytes: int,
    keep_ms: int,
) -> Iterator[Upkeep]:
    """Forgets what is over age, makes large files of small ones, removes files nobody needs: of one
    table after another, with each step. Nothing is done before the first. UnavailableError of the
    first table where it failed, behind the last one."""
    named = [(retention_ms(name.stream), table) for name, table in side.tables()]
    failed: UnavailableError | None = None
    for age_ms, table in [*named, (longest_ms, side.records)]:
        done = Upkeep()
        try:
            gone = 0 if age_ms is None else table.expire(day_of(now_ms - age_ms))
            made = table.compact(file_bytes)
            done = Upkeep(gone, made, table.sweep(keep_ms, strays=keep_ms >= HOUR_MS))
        except UnavailableError as error:
            failed = failed or error
        yield done
    if failed is not None:
        raise failed
