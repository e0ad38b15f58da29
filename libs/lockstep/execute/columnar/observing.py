"""Observations of a slice in columns, in the order in which the reference makes them; for tests."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

import numpy as np

from lockstep.events import Event
from lockstep.execute.columnar.chunks import Chunks
from lockstep.execute.columnar.flow import EXPIRED
from lockstep.execute.columnar.order import BEHIND, Order
from lockstep.execute.columnar.selector import Output
from lockstep.execute.columnar.units import Unit
from lockstep.execute.observe import Observation, QueryChunk, StreamChunk

_BEFORE = -1


class Observer:
    """Collects observations until they are taken."""

    def __init__(self) -> None:
        self._seen: list[Observation] = []

    def slice(
        self,
        streams: Mapping[str, Chunks],
        units: Sequence[Unit],
        outputs: Mapping[str, Output],
        observed: Container[str],
    ) -> None:
        """Files what a slice brought: a query's rows in front of what came of them, a stream's
        chunk behind all its receivers."""
        found: list[tuple[tuple[int, ...], Observation]] = []
        for name, chunks in streams.items():
            if name not in observed:
                continue
            for place, events, _ in _cut(chunks, None):
                found.append(((*place, BEHIND), StreamChunk(name, tuple(events))))
        for unit in units:
            output = outputs.get(unit.name)
            if output is None or not unit.is_observed:
                continue
            for place, events, expired in _cut(output.chunks, output.kinds):
                seen = QueryChunk(unit.name, tuple(events), tuple(expired))
                found.append(((*place, _BEFORE), seen))
            silent = QueryChunk(unit.name, (), ())
            found += [((*place, _BEFORE), silent) for place in _places(output.silent)]
        found.sort(key=lambda pair: pair[0])
        self._seen += [seen for _, seen in found]

    def add_all(self, seen: Sequence[Observation]) -> None:
        """Files what the reference observed in this executor's stead."""
        self._seen += seen

    def take(self) -> list[Observation]:
        """What was seen since the last call, in order."""
        taken, self._seen = self._seen, []
        return taken


def _cut(chunks: Chunks, kinds: Any) -> list[tuple[tuple[int, ...], list[Event], list[Event]]]:
    """(place, current events, expired events) of each chunk."""
    columns = [column.to_pylist() for column in chunks.columns]
    rows = list(zip(*columns, strict=True)) if columns else [()] * len(chunks)
    times = chunks.times.tolist()
    found = []
    for chunk, place in enumerate(_places(chunks.order)):
        current: list[Event] = []
        expired: list[Event] = []
        for i in range(int(chunks.starts[chunk]), int(chunks.starts[chunk + 1])):
            gone = kinds is not None and kinds[i] == EXPIRED
            (expired if gone else current).append(Event(times[i], rows[i], bool(gone)))
        found.append((place, current, expired))
    return found


def _places(order: Order | None) -> list[tuple[int, ...]]:
    if order is None:
        return []
    levels = [
        np.full(len(order), level).tolist() if isinstance(level, int) else level.tolist()
        for level in order.levels
    ]
    return list(zip(order.moments.tolist(), *levels, strict=True))
