"""The verdict about a fleet: all its units together put out what one executor makes of its input
log, each row once, in the log of whoever has its key and of the layout that its position is of."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any, Final

from lockstep.bus import LogName
from lockstep.control import group_and_layout
from lockstep.events import OutputRow, Position
from lockstep.events.codec import EncodedEntry
from lockstep.events.envelope import TickHeader
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.plan import plan_of
from tests.chaos.archive import Archive
from tests.chaos.fleet_app import CHANNELED, KEYS, TABLE_QUERY
from tests.chaos.fleet_archive import FleetArchive
from tests.chaos.judge import (
    SLICE_RECORDS,
    Verdict,
    events_once,
    one_publisher,
    published,
    sends_once,
    table_equal,
)
from tests.fleets import owner

FOREVER: Final = 1 << 62
Told = tuple[int, tuple[Any, ...], object]
"""Of a row: its time, its values, what it does to a table."""

Rows = dict[tuple[str, Any], list[Told]]
"""By stream and key, in their order."""


@dataclass(frozen=True, slots=True)
class Span:
    """A layout folds the positions behind `begin`, up to `end`."""

    begin: Position
    end: Position


def judge_fleet(
    archive: FleetArchive,
    acknowledged: Sequence[tuple[int, int]],
    settled: Position,
    table: Sequence[tuple[Any, ...]],
) -> Verdict:
    """Blocking. Up to `settled` every row must be there; behind it, none that is not right."""
    verdict = Verdict(sent=sum(count for _, count in acknowledged))
    events_once(archive.source, acknowledged, verdict)
    for unit in archive.units.values():
        one_publisher(unit, verdict)
    reference = ReferenceExecutor(plan_of(CHANNELED))
    _same_as_one(archive, reference, settled, verdict)
    table_equal(reference.on_demand(TABLE_QUERY), table, verdict)
    reference.close()
    return verdict


def spans_of(archive: FleetArchive) -> dict[int, Span]:
    """What each layout folds, as the input log says."""
    numbers = sorted({group_and_layout(name.group)[1] for name in archive.units})
    begins = dict.fromkeys(numbers[:1], 0)
    for entry in archive.source.inputs():
        if isinstance(entry.header, TickHeader) and entry.header.layout:
            begins.setdefault(entry.header.layout, entry.position)
    found = {}
    for number in numbers:
        begin = begins.get(number, FOREVER)
        later = [at for other, at in begins.items() if other > number]
        found[number] = Span(begin, min(later, default=FOREVER))
    return found


def _same_as_one(
    archive: FleetArchive, reference: ReferenceExecutor, settled: Position, verdict: Verdict
) -> None:
    """Position by position: of each stream and key the same rows in the same order."""
    expected = _by_position(_expected(archive.source, reference))
    found = _by_position(_found(archive, verdict))
    want, have = next(expected, None), next(found, None)
    while want is not None or have is not None:
        position = min(one[0] for one in (want, have) if one is not None)
        wanted: Rows = {}
        there: Rows = {}
        if want is not None and want[0] == position:
            wanted, want = want[1], next(expected, None)
        if have is not None and have[0] == position:
            there, have = have[1], next(found, None)
        if wanted != there:
            _tell_difference(position, wanted, there, verdict, is_settled=position <= settled)


def _tell_difference(
    position: Position, wanted: Rows, there: Rows, verdict: Verdict, *, is_settled: bool
) -> None:
    for which in wanted.keys() | there.keys():
        due, have = wanted.get(which, []), there.get(which, [])
        missing, surplus = _less(due, have), _less(have, due)
        again = [one for one in surplus if one in due]
        if is_settled and missing:
            verdict.lost += len(missing)
            verdict.complain(f"at {position} {which}: {missing[0]} is missing")
        if again:
            verdict.duplicated += len(again)
            verdict.complain(f"at {position} {which}: {again[0]} stands there twice")
        if len(surplus) > len(again):
            verdict.wrong += len(surplus) - len(again)
            verdict.complain(f"at {position} {which}: {surplus[0]}, and one unit has {due}")
        if due != have and not (missing or surplus):
            verdict.wrong += 1
            verdict.complain(f"at {position} {which}: {have} in another order than {due}")


def _less(some: list[Told], others: list[Told]) -> list[Told]:
    """Those that the others have less often."""
    return list((Counter(some) - Counter(others)).elements())


def _by_position(rows: Iterable[OutputRow]) -> Iterator[tuple[Position, Rows]]:
    for position, group in groupby(rows, key=lambda row: row.id.position):
        found: Rows = defaultdict(list)
        for row in group:
            found[row.stream, _key(row)].append((row.timestamp_ms, row.data, row.operation))
        yield position, found


def _expected(source: Archive, reference: ReferenceExecutor) -> Iterator[OutputRow]:
    inputs = sends_once(source)
    while entries := list[EncodedEntry](islice(inputs, SLICE_RECORDS)):
        yield from reference.run_encoded(entries).rows


def _found(archive: FleetArchive, verdict: Verdict) -> Iterator[OutputRow]:
    """Of all units, by position."""
    spans = spans_of(archive)
    counts: Counter[str] = Counter(name.group for name in archive.units)
    rows = [
        _of_unit(name, unit, spans[group_and_layout(name.group)[1]], counts[name.group], verdict)
        for name, unit in sorted(archive.units.items())
    ]
    return heapq.merge(*rows, key=lambda row: row.id.position)


def _of_unit(
    name: LogName, unit: Archive, span: Span, partitions: int, verdict: Verdict
) -> Iterator[OutputRow]:
    """A unit's rows, each once; those of others' keys and layouts are told of."""
    last = None
    for row in published(unit):
        verdict.outputs += 1
        where = f"{row.stream} {row.id} in {name.group}/{name.partition}"
        if last is not None and row.id <= last:
            verdict.duplicated += 1
            verdict.complain(f"{where} stands behind {last}")
            continue
        last = row.id
        key = _key(row)
        if not span.begin < row.id.position <= span.end:
            verdict.misplaced += 1
            verdict.complain(f"{where}: its layout is behind {span.begin} and up to {span.end}")
        elif key is not None and owner(key, partitions) != name.partition:
            verdict.misplaced += 1
            verdict.complain(f"{where}: partition {owner(key, partitions)} has the key {key}")
        yield row


def _key(row: OutputRow) -> Any:
    return row.data[KEYS[row.stream]] if row.stream in KEYS else None
