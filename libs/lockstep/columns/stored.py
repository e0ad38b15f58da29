"""Held rows as the reference's lists of events, and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from lockstep.columns.column import Column, Longs, from_arrow, from_values
from lockstep.columns.held import HeldRows
from lockstep.columns.times import within_reach
from lockstep.events import AttributeType
from lockstep.operators.contract import StreamEvent
from lockstep.operators.packed import PackedEvents


def events_of(held: HeldRows, places: Longs) -> PackedEvents:
    """Held rows as the reference's list of events, packed; looked at as long as they are held."""

    def draw(start: int, stop: int) -> tuple[pa.Array, list[pa.Array]]:
        part = places[start:stop]
        return pa.array(held.times[part]), [c.to_arrow() for c in held.columns(part)]

    return PackedEvents.drawn(len(places), draw)


def columns_of(
    events: PackedEvents | Sequence[StreamEvent], types: Sequence[AttributeType]
) -> tuple[Longs, list[Column]]:
    """(timestamps, attributes) of a list of events, packed or not. Unfit for times beyond reach."""
    if isinstance(events, PackedEvents):
        return _read(events.columns(), types)
    columns = [from_values(t, [event.data[i] for event in events]) for i, t in enumerate(types)]
    times = np.array([event.timestamp_ms for event in events], np.int64)
    return within_reach(times), columns


def parts_of(
    events: PackedEvents | Sequence[StreamEvent], types: Sequence[AttributeType]
) -> Iterator[tuple[Longs, list[Column]]]:
    """The same, a stretch of them at a time."""
    if not isinstance(events, PackedEvents):
        yield columns_of(events, types)
        return
    for part in events.parts():
        yield _read(part, types)


def _read(part: Any, types: Sequence[AttributeType]) -> tuple[Longs, list[Column]]:
    times, arrays = part
    columns = [from_arrow(type_, each) for type_, each in zip(types, arrays, strict=True)]
    return within_reach(times.to_numpy()), columns
