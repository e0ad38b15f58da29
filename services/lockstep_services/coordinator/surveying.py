"""What a placement is decided from, read from the store and from heartbeats."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Final

from lockstep.bus import LogName
from lockstep.clock import Clock
from lockstep.control import AppView, GroupStatus, Heartbeat, HeartbeatWatch, unit_key
from lockstep.settings import CoordinatorSettings
from lockstep.store import Deployment
from lockstep.store.naming import is_unit_of
from lockstep_services.coordinator.board import Facts, Node, Rules, Wanted
from lockstep_services.coordinator.desired import DesiredState
from lockstep_services.coordinator.draining import Drains
from lockstep_services.coordinator.lives import runs_later
from lockstep_services.coordinator.placement import waiting_for
from lockstep_services.coordinator.troubles import Troubles

FULL: Final = 1_000
"""The load of a replica that keeps a core busy."""

FULL_EVENTS_PER_S: Final = 100_000
FULL_STATE_ROWS: Final = 20_000_000
"""Likewise, as far as what it folds and holds can tell."""

SILENT: Final = "the bus, which cannot be reached: nothing is heard of processors"
ASK_AGAIN_MS: Final = 1_000
"""What the bus answered a moment ago holds for all apps of a list: one that hangs takes a while to
say nothing."""


class Survey:
    """Of all processors and units."""

    def __init__(
        self,
        desired: DesiredState,
        drains: Drains,
        watch: HeartbeatWatch,
        settings: CoordinatorSettings,
        troubles: Troubles,
        clock: Clock,
        bus_answers: Callable[[], Awaitable[bool]],
    ) -> None:
        self._desired = desired
        self._drains = drains
        self._watch = watch
        self._settings = settings
        self._troubles = troubles
        self._clock = clock
        self._bus_answers = bus_answers
        self._hears = True
        self._asked_ms = -ASK_AGAIN_MS

    @property
    def beats(self) -> list[Heartbeat]:
        """Of living processors that do not stop."""
        return [beat for beat in self._watch.alive("processor") if not beat.draining]

    def rules(
        self, *, may_move: bool = True, may_level: bool = True, at_once: bool = False
    ) -> Rules:
        """As set. `at_once`: somebody asks for it, so small differences count, too."""
        settings = self._settings
        return Rules(
            min_processors=settings.min_processors,
            max_moves=settings.max_moves,
            gap_percent=1 if at_once else settings.rebalance_gap_percent,
            cpu_max_percent=settings.rebalance_cpu_max_percent,
            may_move=may_move,
            may_level=may_level,
        )

    async def nodes(self) -> list[Node]:
        """The living processors. UnavailableError."""
        return nodes_of(self.beats, await self._drains.drained())

    async def waiting(
        self, one: Deployment, units: Iterable[str], placements: Mapping[str, Sequence[str]]
    ) -> str | None:
        """What an app waits for because of which some of its replicas run nowhere, its layout does
        not begin, or another text runs than is deployed, for people."""
        held_up = await self._desired.layouts.obstacles.held_up_by(await self.former(one))
        trouble = self._troubles.of(one)
        nodes, minimum = await self.nodes(), self._settings.min_processors
        found = [] if trouble is None else [f"help: {trouble}"]
        missing = list(filter(None, (
            waiting_for(
                Wanted(unit, one.replicas), placements.get(unit, ()), nodes, min_processors=minimum
            )
            for unit in units
        )))  # fmt: skip
        found += held_up
        later = runs_later(one, (group for _, group in self._watch.groups(one.app)))
        found += [] if later is None else [later]
        found += missing if not missing or await self._can_hear() else [SILENT]
        return "; ".join(dict.fromkeys(found)) or None

    async def _can_hear(self) -> bool:
        """Heartbeats may come."""
        if self._clock.monotonic_ms() - self._asked_ms >= ASK_AGAIN_MS:
            self._hears = await self._bus_answers()
            self._asked_ms = self._clock.monotonic_ms()
        return self._hears

    async def units(self, one: Deployment, placements: Mapping[str, Sequence[str]]) -> list[str]:
        """The units of the present layout; of an app whose text is not valid here, those that are
        placed."""
        units, placed = self._desired.layouts.units, partial(placed_units, one.app, placements)
        return await self._troubles.attempt(one, "text", partial(units, one), placed)

    async def former(self, one: Deployment) -> Sequence[AppView]:
        """The units of the layout before, while they go on; none where nobody can tell."""
        former = partial(self._desired.layouts.former, one)
        return await self._troubles.attempt(one, "former", former, tuple)

    async def announce(self, deployments: Sequence[Deployment]) -> None:
        """Says of each fleet where its layout begins: whoever wanted that may have gone before it
        could say so."""
        apps = {one.app for one in deployments}
        self._troubles.keep(apps)
        self._desired.layouts.keep(apps)
        for one in deployments:
            if one.layout:
                announce = partial(self._desired.layouts.announce, one)
                await self._troubles.attempt(one, "announce", announce, lambda: None)

    async def facts(
        self, deployments: Sequence[Deployment], *, believed: Iterable[str] = ()
    ) -> Facts:
        """As of now. `believed`: nodes that may live though nothing was heard of them yet.

        Of an app whose units cannot be told those that are placed are wanted: it goes on so.
        """
        placements = await self._desired.placements()
        layouts, wanted = self._desired.layouts, list[Wanted]()
        for one in deployments:
            # To go through all placements for each app would take longer than all else.
            placed = partial(placed_units, one.app, placements)
            units = await self._troubles.attempt(one, "units", partial(layouts.wanted, one), placed)
            wanted += [Wanted(unit, one.replicas) for unit in units]
        return facts_of(
            self.beats, wanted, placements, await self._drains.drained(), believed=believed
        )


def placed_units(app: str, placements: Mapping[str, Sequence[str]]) -> list[str]:
    """The units of an app that somebody carries, or shall."""
    return [unit for unit, nodes in placements.items() if nodes and is_unit_of(unit, app)]


def nodes_of(beats: Iterable[Heartbeat], drained: Collection[str]) -> list[Node]:
    """Processors as they describe themselves; one that names no host has it for itself."""
    return [
        Node(
            beat.node,
            beat.host or beat.node,
            beat.zone,
            is_drained=beat.node in drained,
            cpu_percent=beat.cpu_percent,
        )
        for beat in beats
    ]


def facts_of(
    beats: Sequence[Heartbeat],
    wanted: Sequence[Wanted],
    placements: Mapping[str, Sequence[str]],
    drained: Collection[str],
    *,
    believed: Iterable[str] = (),
) -> Facts:
    """What living processors say about themselves and what they carry. Pure."""
    nodes = nodes_of(beats, drained)
    heard = {node.name for node in nodes}
    nodes += [Node(name, name, is_drained=name in drained) for name in set(believed) - heard]
    ready: dict[str, set[str]] = {}
    leaders: dict[str, tuple[int, str]] = {}
    loads: dict[str, int] = {}
    staying: set[str] = set()
    for beat in beats:
        for group in beat.groups:
            unit = unit_key(LogName(group.app, group.group, group.partition))
            loads[unit] = max(load_of(group), loads.get(unit, 0))
            if group.past is not None and group.past.is_under_way:
                staying.add(unit)
            if group.ready:
                ready.setdefault(unit, set()).add(beat.node)
            if group.leads:  # of two who say so the later epoch's does
                leaders[unit] = max((group.epoch, beat.node), leaders.get(unit, (-1, "")))
    return Facts(
        nodes, wanted, placements,
        ready={unit: frozenset(names) for unit, names in ready.items()},
        leaders={unit: node for unit, (_, node) in leaders.items()},
        loads=loads,
        staying=frozenset(staying),
    )  # fmt: skip


def load_of(group: GroupStatus) -> int:
    """What a replica takes of a processor, in thousandths of a core: the time it folds, and for
    what it folds and holds as much as an executor elsewhere or its memory would."""
    events = group.events_per_s * FULL // FULL_EVENTS_PER_S
    return max(group.busy_permille, min(FULL, events)) + group.state_rows * FULL // FULL_STATE_ROWS
