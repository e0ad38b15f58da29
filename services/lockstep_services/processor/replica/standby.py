"""What a standby is: hot or warm, when it counts as ready, and to whom it leaves the lead. Pure.

Hot: folds the log and holds back. Warm: keeps the newest verified revision and folds only when it
is promoted, which costs one restore per revision instead of the work of a leader.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lockstep.control import FAILING, AppView, CommandAnswer, GroupStatus, Heartbeat
from lockstep.events import Position
from lockstep.settings import ProcessorSettings

HOT: Final = "hot"
WARM: Final = "warm"
STANDBY_SETTING: Final = "standby"
ACTIVE: Final = "active"


def standby_of(view: AppView, settings: ProcessorSettings) -> str:
    """As deployed, by @app:ha(standby=…), or the default."""
    annotation = view.plan.checked.annotations.get("ha")
    stated = annotation.get("standby") if annotation else None
    given = view.deployment.settings.get(STANDBY_SETTING) or stated or settings.standby
    return WARM if given.lower() == WARM else HOT


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a replica stands in the input log: `goal` is the log's end when it began, `behind_ms`
    for how long the leader has published what this one has not folded yet. `is_full`: it holds back
    as much as it may, and folds no more until that is published. `is_outdone`: it stops in front of
    what is published.
    """

    position: Position
    log_end: Position
    goal: Position
    behind_ms: int = 0
    is_full: bool = False
    is_outdone: bool = False

    @property
    def lag(self) -> int:
        """Records behind the log's end, as last seen."""
        return max(0, self.log_end - self.position)


def is_ready(standby: str, progress: Progress, settings: ProcessorSettings) -> bool:
    """Whether a standby could take over soon.

    A hot one has folded what was there when it began, however little that is: until then it is
    still on its way, and would publish nothing new before it had come to the present. One that is
    full comes no further while nobody publishes, and publishes at once when it leads. Who is
    outdone would publish nothing.
    """
    if progress.is_outdone:
        return False
    if standby == WARM:
        return progress.lag <= settings.warm_ready_lag_positions
    has_come = progress.position >= progress.goal and progress.lag <= settings.ready_lag_positions
    return (has_come or progress.is_full) and progress.behind_ms <= settings.ready_lag_ms


class Behind:
    """For how long a standby has been behind what is published: at a failover nobody publishes
    until it has folded that far. Records say little: one may hold an event or fifty thousand.
    """

    def __init__(self) -> None:
        self._published: Position = 0
        self._since_ms: int | None = None

    def saw(self, published: Position, position: Position, now_ms: int) -> None:
        """The output log has rows up to `published`; this replica has folded up to `position`."""
        if position >= self._published:
            self._published = published
            self._since_ms = now_ms if published > position else None

    def ms(self, position: Position, now_ms: int) -> int:
        """0 when it has folded what was published when it was last seen to be behind."""
        if self._since_ms is None or position >= self._published:
            return 0
        return now_ms - self._since_ms


def candidates(others: Sequence[tuple[Heartbeat, GroupStatus]]) -> list[str]:
    """The nodes that the lead can be handed to: ready ones, hot before warm."""
    found = [
        (one.standby != HOT, beat.node) for beat, one in others if one.ready and one.role != ACTIVE
    ]
    return [node for _, node in sorted(found)]


def nobody_takes(
    others: Sequence[tuple[Heartbeat, GroupStatus]], node: str | None
) -> CommandAnswer:
    """Why the lead cannot be handed to that node, or to anybody: a standby that is on its way is
    ready in a moment, so the same command may succeed then.
    """
    late = [
        f"'{beat.node}' is not ready yet, {_why_not(one)}"
        for beat, one in sorted(others, key=lambda other: other[0].node)
        if node in (None, beat.node)
    ]
    if late:
        return CommandAnswer(False, "; ".join(late), retryable=True)
    why = f"'{node}' is no standby of this app" if node else "there is no standby"
    return CommandAnswer(False, why)


def _why_not(one: GroupStatus) -> str:
    if one.role == FAILING and one.trouble:
        return one.trouble
    return f"it is {one.log_end - one.position} records behind"


def takers(others: Sequence[tuple[Heartbeat, GroupStatus]], version: str) -> list[str]:
    """The nodes that can take a revision in the leader's place: ready hot standbys, by name."""
    return sorted(
        beat.node
        for beat, one in others
        if one.ready and one.role != ACTIVE and one.standby == HOT and one.version == version
    )


def defers(others: Sequence[GroupStatus], *, leaderless_ms: int, patience_ms: int) -> bool:
    """Whether a replica that is not ready leaves the lead to one of the others.

    Only for a while: a ready one may live and yet not get at the lease.
    """
    somebody_ready = any(one.ready and one.role != ACTIVE for one in others)
    return somebody_ready and leaderless_ms <= patience_ms
