"""Observations of a slice in columns, in the order in which the reference makes them; for tests."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from lockstep.columns.chunks import Chunks
from lockstep.columns.flow import EXPIRED
from lockstep.columns.order import BEHIND, Order, places_of
from lockstep.columns.output import Output
from lockstep.columns.units import Unit
from lockstep.events import Event
from lockstep.execute.columnar.hosted.engine import IN_FRONT, Observed
from lockstep.execute.observe import Observation, Observe, QueryChunk, StreamChunk
from lockstep.plan import AppPlan, PartitionNode


class Observer:
    """Collects observations until they are taken."""

    def __init__(self, plan: AppPlan, observe: Observe) -> None:
        self._seen: list[Observation] = []
        self._inner: set[str] = set()
        if observe is Observe.ALL:
            partitions = [node for node in plan.nodes if isinstance(node, PartitionNode)]
            self._inner = {query.name for node in partitions for query in node.queries}

    def slice(
        self,
        arrived: Mapping[str, Chunks],
        units: Sequence[Unit],
        outputs: Mapping[str, Sequence[Output]],
        hosted: Iterable[Observed],
        observed: Container[str],
    ) -> None:
        """Files what a slice brought: a query's rows in front of what came of them, a stream's
        chunk behind all its receivers. `arrived` came from outside, `hosted` was seen already."""
        found: list[Observed] = list(hosted)
        for name, chunks in arrived.items():
            found += _stream_chunks(name, chunks)
        for unit in units:
            for output in outputs.get(unit.name, ()):
                if unit.writes in observed:
                    found += _stream_chunks(unit.writes, output.chunks)
                if unit.is_observed or unit.name in self._inner:
                    found += _query_chunks(unit.name, output)
        found.sort(key=lambda pair: pair[0])
        self._seen += [seen for _, seen in found]

    def add_all(self, seen: Sequence[Observation]) -> None:
        """Files what the reference observed in this executor's stead."""
        self._seen += seen

    def take(self) -> list[Observation]:
        """What was seen since the last call, in order."""
        taken, self._seen = self._seen, []
        return taken


def _query_chunks(name: str, output: Output) -> list[Observed]:
    found: list[Observed] = []
    for place, events in _cut(output.chunks, output.kinds):
        current = tuple(each for each in events if not each.expired)
        expired = tuple(each for each in events if each.expired)
        found.append(((*place, IN_FRONT), QueryChunk(name, current, expired)))
    silent = QueryChunk(name, (), ())
    return found + [((*place, IN_FRONT), silent) for place in _places(output.silent)]


def _stream_chunks(name: str, chunks: Chunks) -> list[Observed]:
    return [
        ((*place, BEHIND), StreamChunk(name, tuple(events)))
        for place, events in _cut(chunks, chunks.kinds)
    ]


def _cut(chunks: Chunks, kinds: Any) -> list[tuple[tuple[int, ...], list[Event]]]:
    """(place, events) of each chunk."""
    if not chunks.count:
        return []
    columns = [column.to_pylist() for column in chunks.columns]
    rows = list(zip(*columns, strict=True)) if columns else [()] * len(chunks)
    times = chunks.times.tolist()
    found = []
    for chunk, place in enumerate(_places(chunks.order)):
        events = [
            Event(times[i], rows[i], kinds is not None and bool(kinds[i] == EXPIRED))
            for i in range(int(chunks.starts[chunk]), int(chunks.starts[chunk + 1]))
        ]
        found.append((place, events))
    return found


def _places(order: Order | None) -> list[tuple[int, ...]]:
    if order is None:
        return []
    moments = order.moments.tolist()
    return [(m, *levels) for m, levels in zip(moments, places_of(order), strict=True)]
