"""What there is in an archive: tables with their rows, bytes and spans. All calls block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lockstep.archive import naming
from lockstep.archive.keeping import COUNTED_BY, SideArchive
from lockstep.archive.place import Place
from lockstep.archive.reading import apps_of, lives_of
from lockstep.archive.tables import Table


@dataclass(frozen=True, slots=True)
class Listed:
    """A table of a stream, or of the records of a log (`stream` is empty)."""

    app: str
    since_ms: int
    side: str
    stream: str
    rows: int
    size_bytes: int
    first: int | None
    last: int | None
    """Positions of the input log; of the records of an output log, its own sequences."""
    from_ms: int | None
    to_ms: int | None
    """Times of events and rows; of the records of an input log, of its door."""
    table: str


def listed(place: Place, app: str | None = None) -> Iterator[Listed]:
    """All tables; `app`: of one app alone."""
    for name in apps_of(place) if app is None else [app]:
        for logs in lives_of(place, name):
            for side in (naming.INPUT, naming.OUTPUT):
                yield from _listed(SideArchive(place, logs, side))


def _listed(side: SideArchive) -> Iterator[Listed]:
    for name, table in side.tables():
        found = _line(side, name.stream, table, naming.POSITION, naming.TIMESTAMP)
        if found is not None:
            yield found
    found = _line(side, "", side.records, COUNTED_BY[side.side], "clock_ms")
    if found is not None:
        yield found


def _line(side: SideArchive, stream: str, table: Table, column: str, time: str) -> Listed | None:
    figures = table.figures()
    if figures is None:  # a folder, and no table yet
        return None
    rows, size_bytes = figures.sizes()
    first, last = figures.bounds(column) or (None, None)
    from_ms, to_ms = figures.bounds(time) or (None, None)
    logs = side.logs
    return Listed(
        logs.app, logs.since_ms, side.side, stream, rows, size_bytes, first, last, from_ms, to_ms,
        table.address,
    )  # fmt: skip
