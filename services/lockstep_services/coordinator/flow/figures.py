"""What passes over each edge of an app's graph, of what its processes tell. Pure.

Nothing is estimated: what nobody counts has no figure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from lockstep.control import FlowTold, GroupStatus, Heartbeat, SinkStatus, UnitFlow
from lockstep.control.units import group_and_layout
from lockstep_services.coordinator.flow.described import FlowEdge, FlowGroup, FlowPartition
from lockstep_services.coordinator.flow.structure import Link, Structure, Way

LAGS_FROM: Final = 1_000
"""Of records or rows that wait: an edge with more is called late. Less is on its way."""
ARCHIVES: Final = "archive."
"""What the names of an archive's cursors begin with, and the side follows."""

OK: Final = "ok"
LAG: Final = "lag"
TROUBLE: Final = "trouble"
RECORDS: Final = "records"
ROWS: Final = "rows"
_NOBODY: Final = GroupStatus("", "", 0, "", 0, "", 0, 0, trouble="nobody leads it")
Replica = tuple[Heartbeat, GroupStatus]


@dataclass(frozen=True)
class Heard:
    """What is known at a moment. `leaders` by group and partition; `told` by service and node;
    `sinks` by name, with the node that delivers."""

    leaders: Mapping[tuple[str, int], Replica]
    told: Mapping[tuple[str, str], FlowTold | None]
    sinks: Mapping[str, tuple[str, SinkStatus]]

    @classmethod
    def of(
        cls,
        replicas: Iterable[Replica],
        told: Mapping[tuple[str, str], FlowTold | None],
        publishers: Iterable[Heartbeat],
        app: str,
    ) -> Heard:
        """Of the replicas of the present layout."""
        leaders = {
            (group_and_layout(one.group)[0], one.partition): (beat, one)
            for beat, one in replicas if one.leads
        }  # fmt: skip
        sinks = {
            one.sink: (beat.node, one) for beat in publishers for one in beat.sinks
            if one.app == app
        }  # fmt: skip
        return cls(leaders, told, sinks)

    @cached_property
    def archives(self) -> dict[str, tuple[str, SinkStatus]]:
        """By side, of an app that is archived."""
        return {
            name.split(".")[1]: one
            for name, one in self.sinks.items() if name.startswith(ARCHIVES)
        }  # fmt: skip

    @property
    def silent(self) -> list[str]:
        """Who was asked and did not answer."""
        return sorted(node for (_, node), answer in self.told.items() if answer is None)

    def of_service(self, service: str) -> dict[str, FlowTold]:
        """Its answers, by node."""
        return {
            node: answer for (kind, node), answer in self.told.items()
            if kind == service and answer is not None
        }  # fmt: skip


@dataclass(frozen=True)
class _Figure:
    """Of an edge."""

    per_s: float | None = None
    lag: int | None = None
    lag_of: str = RECORDS
    latency_ms: tuple[int, int] | None = None
    nodes: Sequence[str] = ()
    trouble: str | None = None


@dataclass(frozen=True)
class Figures:
    """Of one app at one moment."""

    structure: Structure
    heard: Heard

    def edges(self) -> list[FlowEdge]:
        """In the order of the graph."""
        return [_edge(link, self._figure(link)) for link in self.structure.links]

    def groups(self) -> list[FlowGroup]:
        """Each with its partitions."""
        return [
            {"group": name, "partitions": [self._partition(name, one) for one in range(count)]}
            for name, count in self.structure.groups.items()
        ]

    def _partition(self, group: str, partition: int) -> FlowPartition:
        beat, one = self.heard.leaders.get((group, partition), (None, _NOBODY))
        return {
            "partition": partition,
            "node": None if beat is None else beat.node,
            "events_per_s": one.events_per_s,
            "rows_per_s": one.rows_per_s,
            "lag": one.lag,
            "busy_permille": one.busy_permille,
            "latency_p50_ms": one.latency_p50_ms,
            "latency_p99_ms": one.latency_p99_ms,
            "trouble": one.trouble,
        }

    def _figure(self, link: Link) -> _Figure:
        match link.way:
            case Way.TAKEN:
                return self._taken(link.name)
            case Way.READ:
                return self._read(link)
            case Way.GIVEN:
                return self._given(link)
            case Way.DELIVERED:
                return self._delivered(link.name)
            case Way.SHOWN:
                return self._shown(link.name)
            case Way.ARCHIVED:
                # What passes is counted of all streams of a side together: so of none.
                node, one = self.heard.archives[link.name]
                return _of_sink(node, one, None)
            case Way.COPIED | Way.LOOKED_UP:
                return _Figure(nodes=self._nodes(link.group))

    def _taken(self, stream: str) -> _Figure:
        told = self.heard.of_service("receiver")
        nodes = [node for node, one in told.items() if one.taken.get(stream)] or list(told)
        if not any(service == "receiver" for service, _ in self.heard.told):
            return _Figure(trouble="no receiver is alive")
        if not told:
            return _Figure()
        per_s = sum(one.taken.get(stream, 0.0) for one in told.values())
        troubles = [one.troubles[stream] for one in told.values() if stream in one.troubles]
        return _Figure(per_s, nodes=nodes, trouble=troubles[0] if troubles else None)

    def _read(self, link: Link) -> _Figure:
        units, leaders = self._units.get(link.group, []), self._leaders(link.group)
        own = [group for _, group in self.structure.writers.get(link.name, ())]
        is_channel = any(group != link.group for group in own)
        lag: int | None = None
        lag_of = RECORDS
        if is_channel:
            lag, lag_of = sum(one.channel_rows for one in units), ROWS
        elif not own and leaders:
            lag = max(one.lag for _, one in leaders)
        return _Figure(
            self._passing(link.name, link.group), lag, lag_of, None,
            self._nodes(link.group), self._trouble(link.group),
        )  # fmt: skip

    def _passing(self, stream: str, group: str) -> float | None:
        """What its writers give, and what is sent to it; each partition reads all that is sent."""
        units = self._units.get(group)
        if not units:
            return None
        sent = max(one.events.get(stream, 0.0) for one in units)
        given = [self._gave(*writer) for writer in self.structure.writers.get(stream, ())]
        known = [one for one in given if one is not None]
        return sent + sum(known) if len(known) == len(given) else None

    def _given(self, link: Link) -> _Figure:
        leaders = [one for _, one in self._leaders(link.group)]
        late = None
        if link.end in self.structure.leaving:
            late = _latest((one.latency_p50_ms, one.latency_p99_ms) for one in leaders)
        per_s = self._gave(link.query, link.group)
        trouble = self._trouble(link.group)
        return _Figure(per_s, None, ROWS, late, self._nodes(link.group), trouble)

    def _gave(self, query: str, group: str) -> float | None:
        units = self._units.get(group)
        return None if not units else sum(one.queries.get(query, 0.0) for one in units)

    def _delivered(self, sink: str) -> _Figure:
        node, one = self.heard.sinks.get(sink, ("", None))
        if one is None:
            return _Figure(trouble="no publisher delivers to it")
        return _of_sink(node, one, one.rows_per_s)

    def _shown(self, stream: str) -> _Figure:
        """Each presenter reads all of it."""
        told = {
            node: one for node, one in self.heard.of_service("presenter").items()
            if stream in one.shown
        }  # fmt: skip
        if not told:
            return _Figure()
        late = _latest((one.latency_p50_ms, one.latency_p99_ms) for one in told.values())
        per_s = max(one.shown[stream] for one in told.values())
        waits = [one.waits for one in told.values() if one.waits is not None]
        return _Figure(per_s, max(waits, default=None), RECORDS, late, list(told))

    @cached_property
    def _units(self) -> dict[str, list[UnitFlow]]:
        """Of each group all of whose partitions have answered."""
        found: dict[str, dict[int, UnitFlow]] = {}
        for answer in self.heard.of_service("processor").values():
            for unit in answer.units:
                name = group_and_layout(unit.group)[0]
                found.setdefault(name, {})[unit.partition] = unit
        wanted = self.structure.groups
        return {
            name: list(units.values())
            for name, units in found.items()
            if len(units) == wanted.get(name)
        }

    def _trouble(self, group: str) -> str | None:
        """The first of its partitions that has one."""
        for partition in range(self.structure.groups.get(group, 1)):
            found = self.heard.leaders.get((group, partition))
            if found is None:
                return f"nobody leads partition {partition} of group {group}"
            if found[1].trouble:
                return found[1].trouble
        return None

    def _leaders(self, group: str) -> list[Replica]:
        return [one for (name, _), one in self.heard.leaders.items() if name == group]

    def _nodes(self, group: str) -> list[str]:
        return list(dict.fromkeys(beat.node for beat, _ in self._leaders(group)))


def _of_sink(node: str, one: SinkStatus, per_s: float | None) -> _Figure:
    late = _latest([(one.latency_p50_ms, one.latency_p99_ms)])
    lag = max(0, one.log_end - one.sequence)
    return _Figure(per_s, lag, RECORDS, late, [node], one.trouble)


def _latest(times: Iterable[tuple[int, int]]) -> tuple[int, int] | None:
    """The highest of each; None where none was measured."""
    found = [pair for pair in times if pair[1]]
    return (max(p50 for p50, _ in found), max(p99 for _, p99 in found)) if found else None


def _edge(link: Link, figure: _Figure) -> FlowEdge:
    is_late = figure.lag is not None and figure.lag > LAGS_FROM
    p50, p99 = figure.latency_ms or (None, None)
    return {
        "from_node": link.begin,
        "to_node": link.end,
        "per_s": None if figure.per_s is None else round(figure.per_s, 1),
        "lag": figure.lag,
        "lag_of": figure.lag_of,
        "latency_p50_ms": p50,
        "latency_p99_ms": p99,
        "carried_by": list(figure.nodes),
        "state": TROUBLE if figure.trouble else LAG if is_late else OK,
        "trouble": figure.trouble,
    }
