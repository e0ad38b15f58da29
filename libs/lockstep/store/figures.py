"""What is kept of how apps were doing: figures at a time, made coarser with age, and who took a
lead from whom. Pure.

Figures are kept as MessagePack arrays: the names of their fields would be most of their bytes. A
later release may add fields at the end; an older one does not read those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final

import msgspec

from lockstep.events.typed import from_msgpack
from lockstep.store.naming import LAYOUT_SIGN

FIGURES: Final = ("events_per_s", "rows_per_s", "lag", "behind_ms", "state_rows", "busy_permille")
"""Numbers that an app always has."""

LATENCIES: Final = ("latency_p50_ms", "latency_p99_ms")
"""Numbers that there are only while rows come."""

SINK_FIGURES: Final = ("lag", "rows_per_s")

UNITS: Final[Mapping[str, str]] = {
    "events_per_s": "events per second",
    "rows_per_s": "rows per second",
    "lag": "records",
    "behind_ms": "milliseconds",
    "state_rows": "rows",
    "busy_permille": "thousandths of the time",
    "latency_p50_ms": "milliseconds",
    "latency_p99_ms": "milliseconds",
}


_Join = Callable[[Sequence[float]], float]


class Grain(StrEnum):
    """How far apart in time figures are kept."""

    FINE = "fine"
    COARSE = "coarse"


class SinkFigures(msgspec.Struct, frozen=True, array_like=True):
    """Of one sink. `lag`: records of the output log that it has not delivered. Latencies are None
    where nothing came."""

    sink: str
    lag: float = 0
    rows_per_s: float = 0
    latency_p50_ms: float | None = None
    latency_p99_ms: float | None = None


class Figures(msgspec.Struct, frozen=True, array_like=True):
    """Of one app. Rates and `state_rows` are sums over the leaders of its units; `lag` (records of
    the input log), `busy_permille` and latencies are those of the worst of them; `behind_ms` is
    that of the standby which is furthest behind. `leaders`: the nodes that lead something of it."""

    events_per_s: float = 0
    rows_per_s: float = 0
    lag: float = 0
    behind_ms: float = 0
    state_rows: float = 0
    busy_permille: float = 0
    latency_p50_ms: float | None = None
    latency_p99_ms: float | None = None
    epoch: int = 0
    leaders: tuple[str, ...] = ()
    sinks: tuple[SinkFigures, ...] = ()


class Span(msgspec.Struct, frozen=True, array_like=True):
    """Figures of a while: their means, and the greatest of each. None: the while was one sample."""

    mean: Figures
    greatest: Figures | None = None

    @property
    def most(self) -> Figures:
        """The greatest of each."""
        return self.greatest or self.mean


class FigureRow(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of an app at a time; `span` is packed (`packed`, `unpacked`)."""

    app: str
    at_ms: int
    span: bytes


class Failover(msgspec.Struct, frozen=True):
    """A unit found another leader, or its leader began a further term.

    `deployed_ms` and `epoch` tell it from all others of the unit. `from_node` is empty for the
    first leader that was heard of. `planned`: handed over or stopped on purpose; None: nobody
    knows. `gap_ms`: how long nobody led, as far as heartbeats tell; None: nobody listened.
    """

    app: str
    group: str
    partition: int
    deployed_ms: int
    epoch: int
    at_ms: int
    from_node: str
    to_node: str
    planned: bool | None = None
    why: str = ""
    gap_ms: int | None = None

    @property
    def unit(self) -> tuple[str, str, int]:
        """Whose leader it is about."""
        return self.app, self.group, self.partition

    @property
    def term(self) -> tuple[int, int]:
        """Of two of a unit the greater one came later."""
        return self.deployed_ms, self.epoch


def packed(span: Span) -> bytes:
    """As it is kept."""
    return msgspec.msgpack.encode(span)


def unpacked(content: bytes) -> Span:
    """What is kept."""
    return from_msgpack(content, Span)


def together(spans: Sequence[Span]) -> Span:
    """Several spans, the earliest first, as one: means of means, and the greatest of all."""
    if len(spans) == 1:
        return spans[0]
    means, most = [one.mean for one in spans], [one.most for one in spans]
    return Span(_joined(means, _mean), _joined(most, max))


def last_of_each(found: Iterable[Failover]) -> dict[tuple[str, str, int], Failover]:
    """Of each unit the latest."""
    last: dict[tuple[str, str, int], Failover] = {}
    for one in found:
        known = last.get(one.unit)
        if known is None or known.term < one.term:
            last[one.unit] = one
    return last


def newest_first(
    found: Iterable[Failover], from_ms: int, to_ms: int, *, limit: int, app: str | None
) -> list[Failover]:
    """As somebody asks for them (`contract.Failovers.read`)."""
    wanted = (
        one
        for one in found
        if from_ms <= one.at_ms < to_ms and app in (None, one.app) and one.from_node
    )
    return sorted(wanted, key=lambda one: (-one.at_ms, one.unit, -one.epoch))[:limit]


def layout_ending(layout: int) -> str:
    """What the names of a layout's groups end with; empty where the app is one unit."""
    return f"{LAYOUT_SIGN}{layout}" if layout else ""


def staying(
    found: Iterable[Failover], before_ms: int, layouts: Mapping[str, int]
) -> list[Failover]:
    """What is not trimmed (`contract.Failovers.trim`)."""
    there = list(found)
    kept = {app: layout_ending(layout) for app, layout in layouts.items()}
    last = last_of_each(there)
    return [
        one
        for one in there
        if one.at_ms >= before_ms
        or (one.app in kept and one.group.endswith(kept[one.app]) and last[one.unit] is one)
    ]


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 1)


def _joined(found: Sequence[Figures], join: _Join) -> Figures:
    numbers = {name: join([getattr(one, name) for one in found]) for name in FIGURES}
    p50_ms, p99_ms = (_known(found, name, join) for name in LATENCIES)
    by_sink: dict[str, list[SinkFigures]] = {}
    for one in found:
        for sink in one.sinks:
            by_sink.setdefault(sink.sink, []).append(sink)
    return Figures(
        **numbers, latency_p50_ms=p50_ms, latency_p99_ms=p99_ms,
        epoch=max(one.epoch for one in found),
        leaders=tuple(dict.fromkeys(node for one in found for node in one.leaders)),
        sinks=tuple(_joined_sink(name, sinks, join) for name, sinks in by_sink.items()),
    )  # fmt: skip


def _joined_sink(name: str, found: Sequence[SinkFigures], join: _Join) -> SinkFigures:
    numbers = {each: join([getattr(one, each) for one in found]) for each in SINK_FIGURES}
    p50_ms, p99_ms = (_known(found, each, join) for each in LATENCIES)
    return SinkFigures(name, **numbers, latency_p50_ms=p50_ms, latency_p99_ms=p99_ms)


def _known(found: Sequence[Figures | SinkFigures], name: str, join: _Join) -> float | None:
    values = [value for one in found if (value := getattr(one, name)) is not None]
    return join(values) if values else None
