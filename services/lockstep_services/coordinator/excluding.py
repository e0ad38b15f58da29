"""Input positions that no worker can fold: a pure decision from what the leading replicas say.

What a worker dies of hangs on the memory that it has, so no replica decides it for itself. That the
position is set aside is desired state, as a restore is: every replica hears of it in the same order
as of deployments, and the leading one decides behind which position it goes on so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lockstep.control import GroupStatus
from lockstep.events import Life, Position
from lockstep.store import Deployment, Exclusion, Origin


@dataclass(frozen=True, slots=True)
class Blocked:
    """The leading replica of a unit folds nothing behind a position."""

    app: str
    group: str
    partition: int
    position: Position

    def excluding(self, before: Deployment, life: Life) -> Origin:
        """From what the app goes on: without what stands at the position."""
        return before.origin.excluding(Exclusion(self.group, self.partition, self.position, life))


def undecided(deployments: Sequence[Deployment], groups: Iterable[GroupStatus]) -> list[Blocked]:
    """What has to be decided: a unit that cannot go on, and has not been told of it since its state
    began. In the order of names."""
    wanted = {one.app: one for one in deployments}
    found = {
        Blocked(group.app, group.group, group.partition, group.unfoldable)
        for group in groups
        if group.leads
        and group.unfoldable
        and group.app in wanted
        and not _is_decided(wanted[group.app], group)
    }
    return sorted(found, key=lambda one: (one.app, one.group, one.partition, one.position))


def _is_decided(wanted: Deployment, group: GroupStatus) -> bool:
    if wanted.life.deployed_ms != group.deployed_ms:
        return True  # of an app that is not deployed any more
    since = Life(group.deployed_ms, group.generation)
    own = wanted.origin.within(group.group, group.partition).exclusions
    return any(one.position == group.unfoldable and one.life > since for one in own)
