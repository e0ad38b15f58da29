"""The verdict about the archive, as DuckDB reads it: of each app every position of the input log
with its events, and every row that was published, once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

import duckdb

from lockstep.events import ClaimRecord, Position
from lockstep.events.codec import EncodedEntry, EventColumns
from tests.archived_files import ArchivedFiles
from tests.chaos.archive import Archive
from tests.chaos.fleet_app import INNER
from tests.chaos.fleet_archive import FleetArchive
from tests.chaos.judge import Verdict, published

Numbered = Counter[tuple[int, ...]]


def judge_archived(files: ArchivedFiles, inputs: Archive, outputs: Archive) -> Verdict:
    """Of an app that is one unit, by the copies of its logs. Blocking."""
    verdict = Verdict()
    _inputs_once(files, inputs, verdict)
    copied = Numbered(
        (one.sequence,)
        for one in outputs.outputs()
        if isinstance(one.record, ClaimRecord) or one.record.rows
    )
    _same("output", copied, _numbers(files.records("output"), "sequence"), verdict)
    wanted = Numbered((one.id.position, one.id.ordinal) for one in published(outputs))
    _same("rows", wanted, _of_streams(files, "output", "_position, _ordinal"), verdict)
    return verdict


def judge_archived_fleet(files: ArchivedFiles, fleet: FleetArchive, settled: Position) -> Verdict:
    """Of a fleet: its rows up to `settled`, as all its units put them out. Blocking."""
    verdict = Verdict()
    _inputs_once(files, fleet.source, verdict)
    wanted: dict[str, Numbered] = defaultdict(Numbered)
    for unit in fleet.units.values():
        for row in published(unit):
            if row.id.position <= settled and row.stream != INNER:
                wanted[row.stream][(row.id.position,)] += 1
    there = files.tables("output")
    for stream in wanted.keys() | there.keys():
        found = Numbered()
        for (position,), times in _numbers(there.get(stream, []), "_position").items():
            if position <= settled:
                found[(position,)] = times
        _same(f"rows of {stream}", wanted[stream], found, verdict)
    return verdict


def _inputs_once(files: ArchivedFiles, inputs: Archive, verdict: Verdict) -> None:
    logged, events = _logged(inputs.inputs())
    _same("input", logged, _numbers(files.records("input"), "position"), verdict)
    kept = Numbered()
    for parts in files.tables("input").values():
        # Counted by DuckDB: a long run has millions of events, in some thousand records.
        sql = "select _position, count(*), count(distinct _row) from read_parquet($1) group by all"
        for position, rows, different in duckdb.execute(sql, parameters=[parts]).fetchall():
            kept[(position,)] += different
            if different < rows:
                verdict.archived_twice += rows - different
                verdict.complain(f"{rows - different} events of {position} are archived twice")
    _same("events", events, kept, verdict)


def _logged(entries: Iterable[EncodedEntry]) -> tuple[Numbered, Numbered]:
    """The positions of a log, and how many events each has."""
    positions, events = Numbered(), Numbered()
    for entry in entries:
        positions[(entry.position,)] += 1
        columns = entry.columns()
        if isinstance(columns, EventColumns) and len(columns):
            events[(entry.position,)] += len(columns)
    return positions, events


def _of_streams(files: ArchivedFiles, side: str, keys: str) -> Numbered:
    found = Numbered()
    for parts in files.tables(side).values():
        found += _numbers(parts, keys)
    return found


def _numbers(parts: list[str], keys: str) -> Numbered:
    """How often each key stands in files."""
    if not parts:
        return Numbered()
    sql = f"select {keys}, count(*) from read_parquet($1) group by all"
    found = duckdb.execute(sql, parameters=[parts]).fetchall()
    return Numbered({tuple(key): times for *key, times in found})


def _same(what: str, wanted: Numbered, found: Numbered, verdict: Verdict) -> None:
    """All that is wanted is found, as often. What is too much is told as twice."""
    missing, more = wanted - found, found - wanted
    verdict.archive_missing += sum(missing.values())
    verdict.archived_twice += sum(more.values())
    if missing:
        verdict.complain(f"archive: {what}: not archived: {sorted(missing)[:3]}")
    if more:
        verdict.complain(f"archive: {what}: archived and not there, or twice: {sorted(more)[:3]}")
