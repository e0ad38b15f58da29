"""How far the processors of an app lag behind what has been appended, and whether their state has
room for more, from their heartbeats."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from lockstep.control import FAILING, GroupStatus, HeartbeatWatch, group_and_layout
from lockstep.events import Position


class LagWatch:
    """Remembers the furthest position heard of, so that a silent cluster shows as lag, too."""

    def __init__(self, watch: HeartbeatWatch, appended: Callable[[str], Position]) -> None:
        self._watch = watch
        self._appended = appended
        self._positions: dict[str, Position] = {}

    def lag(self, app: str) -> int:
        """Positions between the input log's end and the furthest replica, of the unit that is the
        furthest behind; 0 when never heard of."""
        groups = [group for _, group in self._watch.groups(app) if _has_stood(group)]
        position = _position(groups)
        known = self._positions.get(app)
        if not groups and known is None:
            return 0
        position = self._positions[app] = max(position, known or 0)
        end = max([self._appended(app), *(group.log_end for group in groups)])
        return max(0, end - position)

    def is_full(self, app: str) -> bool:
        """A replica's state is over its limit (`processor.state_max_rows`)."""
        return any(group.state_full for _, group in self._watch.groups(app))

    def led_life(self, app: str) -> int | None:
        """In which life the state of the app's leaders began, the earliest; None: nobody leads."""
        led = [one.generation for _, one in self._watch.groups(app) if one.role == "active"]
        return min(led, default=None)

    def keep(self, apps: Collection[str]) -> None:
        """Forgets all other apps: they are not deployed any more."""
        self._positions = {app: one for app, one in self._positions.items() if app in apps}


def _has_stood(group: GroupStatus) -> bool:
    """False for a replica that fails and has never run: it knows of no position."""
    return group.role != FAILING or group.log_end > 0


def _position(groups: Sequence[GroupStatus]) -> Position:
    """Up to where all units of the newest layout have folded."""
    layouts = [group_and_layout(group.group)[1] for group in groups]
    furthest: dict[tuple[str, int], Position] = {}
    for group, layout in zip(groups, layouts, strict=True):
        if layout == max(layouts):
            unit = (group.group, group.partition)
            furthest[unit] = max(group.position, furthest.get(unit, 0))
    return min(furthest.values(), default=0)
