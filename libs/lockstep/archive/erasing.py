"""Rows of people who want to be forgotten, out of all that the archive has of an app: the tables of
all its lives, the rows of its pasts, and the results of back-tests over its input. All calls block.

What a condition finds is looked up in all tables first. So a condition that is none, or that one of
the tables cannot make out, changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from lockstep.archive import naming
from lockstep.archive.keeping import KEYS, SideArchive
from lockstep.archive.others import result_sides
from lockstep.archive.place import Place
from lockstep.archive.reading import lives_of
from lockstep.archive.tables import HOUR_MS, NoSuchColumnError, Table, keys_where, strays
from lockstep.events import UnavailableError


@dataclass(frozen=True, slots=True)
class Gone:
    """How many rows went, out of how many tables that were looked through. `skipped`: those that
    never had a column of the condition, by their places."""

    rows: int
    tables: int
    skipped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Holding:
    """A table of the stream. `is_log`: of the app's own logs, so whoever erases is the only one
    who may append."""

    side: SideArchive
    path: str
    table: Table
    is_log: bool


def has_anything(place: Place, app: str) -> bool:
    """Whether the archive has any table of an app. UnavailableError."""
    sides = (*_log_sides(place, app), *result_sides(place, app))
    return any(True for side in sides for _ in side.tables())


def erase(place: Place, app: str, stream: str, condition: str) -> Gone:
    """Forgets rows of a stream for good: when it returns they are in no file any more, not in one
    that an append left unfinished either. Whoever calls is the only one who may append to the
    tables of the logs; appends of others are refused. ConditionError, with nothing changed;
    UnavailableError, when to do it again finishes it."""
    found: list[tuple[_Holding, pa.Table]] = []
    skipped: list[str] = []
    lacking: NoSuchColumnError | None = None
    for one in _holding(place, app, stream):
        try:
            rows = keys_where(one.table, condition, KEYS[one.side.side])
        except NoSuchColumnError as error:
            lacking = error
            skipped.append(one.path)
        else:
            found.append((one, rows))
    if lacking is not None and not found:
        raise lacking
    gone = sum(one.table.forget(rows) for one, rows in found)
    for one, _ in found:
        if one.is_log:
            one.table.fence(one.side.transaction)
            one.table.sweep(0, strays=True)
    _sweep_results([one.table for one, _ in found if not one.is_log])
    return Gone(gone, len(found), tuple(skipped))


def _sweep_results(tables: list[Table]) -> None:
    """A fold may be appending to them just now. A file that it has not finished must stay, or the
    table would name a file that is not there. Nobody takes an hour for an append."""
    unfinished = 0
    for table in tables:
        table.sweep(0)
        table.sweep(HOUR_MS, strays=True)
        unfinished += strays(table)
    if unfinished:
        raise UnavailableError(
            "results of a past or a back-test are being written, or their writer was ended: "
            f"{unfinished} of their files may still have such rows",
            hint="erase again when it has ended; what nobody finishes can go after an hour",
        )


def _log_sides(place: Place, app: str) -> Iterator[SideArchive]:
    for logs in lives_of(place, app):
        for side in (naming.INPUT, naming.OUTPUT):
            yield SideArchive(place, logs, side)


def _holding(place: Place, app: str, stream: str) -> Iterator[_Holding]:
    for is_log, sides in ((True, _log_sides(place, app)), (False, result_sides(place, app))):
        for side in sides:
            within = side.place.folder.removeprefix(place.folder.rstrip("/")).strip("/")
            for name, table in side.tables():
                if name.stream == stream and table.version() is not None:
                    yield _Holding(side, f"{within}/{name.path}".lstrip("/"), table, is_log)
