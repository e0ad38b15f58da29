"""The rows of several units' output logs as the rows of one app: one order, one numbering. Pure.

Nothing here hangs on how many rows come at once, as long as all rows of a position come together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lockstep.bus import OutputEntry
from lockstep.events import OutputRecord, Position
from lockstep.events.outputs import (
    NO_ROWS,
    Longs,
    OutputColumns,
    RowsOfColumns,
    numbers_within,
)

NOBODY: Final = 0
"""The epoch of records that no leader appended."""


def merged(units: Sequence[RowsOfColumns], streams: frozenset[str]) -> RowsOfColumns:
    """The rows of `streams` of all units, numbered from 0 in each position.

    `units` stand in the order of their layout. Rows of a position stand in the order of their
    moments, of the clock where the moment is one of timers, of their units, of their unit's
    numbers. A row without a place stands behind the one with a place before it in its unit.
    """
    columns = [each for rows in units for each in rows.columns]
    if not columns:
        return NO_ROWS
    lengths = [len(each) for each in columns]
    owners = [unit for unit, rows in enumerate(units) for _ in rows.columns]
    unit = np.repeat(np.array(owners, np.int64), lengths)
    positions = np.concatenate([each.positions for each in columns])
    ordinals = np.concatenate([each.ordinals for each in columns])
    moments, clocks = _moments(columns, positions, ordinals, unit)
    order = np.lexsort((ordinals, unit, clocks, moments, positions))
    wanted = np.repeat(np.array([each.stream in streams for each in columns]), lengths)
    order = order[wanted[order]]
    ranks = np.zeros(len(positions), np.int64)
    ranks[order] = np.arange(len(order))
    numbers = np.zeros(len(positions), np.int64)
    numbers[order] = numbers_within(positions[order])
    begins = list(accumulate(lengths, initial=0))
    kinds: dict[tuple[str, pa.Schema], list[int]] = {}
    for index, each in enumerate(columns):
        if each.stream in streams:
            kinds.setdefault((each.stream, each.batch.schema), []).append(index)
    return RowsOfColumns(
        _kind([columns[index] for index in some], _at(some, begins), ranks, numbers)
        for some in kinds.values()
    )


def cut(
    rows: RowsOfColumns,
    up_to: Position,
    *,
    max_rows: int,
    stops: Iterable[Position] = (),
    door_ms: int = 0,
) -> list[OutputEntry]:
    """The rows as entries whose sequence is their last position, the last one's `up_to`.

    An entry has no more than `max_rows` unless one position has, and none reaches over a stop.
    `door_ms`: when the door took the oldest event that they come from.
    """
    ends = {up_to, *(stop for stop in stops if stop < up_to)}
    parts = [each.positions for each in rows.columns]
    positions = np.sort(np.concatenate(parts)) if len(parts) > 1 else parts[0] if parts else ()
    begin = 0
    while begin + max_rows < len(positions):
        end = int(np.searchsorted(positions, positions[begin + max_rows]))
        if end <= begin:
            end = int(np.searchsorted(positions, positions[begin], side="right"))
        if end < len(positions):
            ends.add(int(positions[end - 1]))
        begin = end
    ordered = sorted(ends)
    cuts = [np.searchsorted(each.positions, ordered, side="right") for each in rows.columns]
    return [
        OutputEntry(end, OutputRecord(NOBODY, _between(rows, cuts, at), door_ms))
        for at, end in enumerate(ordered)
    ]


def _between(rows: RowsOfColumns, cuts: Sequence[npt.NDArray[Any]], at: int) -> RowsOfColumns:
    return RowsOfColumns(
        each.part(int(cut[at - 1]) if at else 0, int(cut[at]))
        for each, cut in zip(rows.columns, cuts, strict=True)
        if cut[at] > (cut[at - 1] if at else 0)
    )


def _moments(
    columns: Sequence[OutputColumns], positions: Longs, ordinals: Longs, unit: Longs
) -> tuple[Longs, Longs]:
    """Of each row; the clock where it counts."""
    if all(each.places is None for each in columns):
        none = np.zeros(len(positions), np.int64)
        return none, none
    unknown = [np.full(len(each), -1, np.int64) for each in columns]
    moments = np.concatenate(
        [
            none if each.places is None else each.places.moments
            for each, none in zip(columns, unknown, strict=True)
        ]
    )
    clocks = np.concatenate(
        [
            none if each.places is None else each.places.clocks
            for each, none in zip(columns, unknown, strict=True)
        ]
    )
    if (moments < 0).any():
        # The place of the row before in the unit's own order, if that is of the same position.
        own = np.lexsort((ordinals, positions, unit))
        known = np.where(moments[own] >= 0, np.arange(len(own)), -1)
        before = own[np.maximum(np.maximum.accumulate(known), 0)]
        alike = (unit[before] == unit[own]) & (positions[before] == positions[own])
        moments[own] = np.where(alike, moments[before], -1)
        clocks[own] = np.where(alike, clocks[before], -1)
    return moments, np.where(moments % 2 == 0, clocks, 0)


def _at(indices: Sequence[int], begins: Sequence[int]) -> Longs:
    """Where the rows of some columns stand among those of all."""
    return np.concatenate([np.arange(begins[one], begins[one + 1]) for one in indices])


def _kind(some: Sequence[OutputColumns], at: Longs, ranks: Longs, numbers: Longs) -> OutputColumns:
    order = np.argsort(ranks[at])
    at = at[order]
    batch = some[0].batch
    if batch.num_columns:
        batch = pa.concat_batches([each.batch for each in some]).take(pa.array(order))
    operations = None
    if any(each.operations is not None for each in some):
        operations = np.concatenate(
            [
                np.zeros(len(each), np.int8) if each.operations is None else each.operations
                for each in some
            ]
        )[order]
    return OutputColumns(
        some[0].stream,
        np.concatenate([each.positions for each in some])[order],
        numbers[at],
        np.concatenate([each.timestamps_ms for each in some])[order],
        batch,
        operations,
    )
