"""Who leads each unit, as heartbeats tell, and what is to be noted when that changes. It knows no
clock and no store.

Every coordinator listens, whoever has the term: so the next one knows who led before it. Heartbeats
of two nodes may come in either order, so a takeover waits a little for the word of who led before.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from lockstep.control import GroupStatus, Heartbeat
from lockstep.store import Failover

SILENT: Final = "nothing more was heard of it"
BEGAN_ANEW: Final = "its process began anew"
CARRIES_NO_MORE: Final = "it carries the unit no more"
STOPPED: Final = "its process stopped"
GOES_ON: Final = "it leads a further term"
NOBODY_LISTENED: Final = "no coordinator listened"

Unit = tuple[str, str, int]


@dataclass(slots=True)
class _Lead:
    """Who leads a unit. `until_ms`: when it was last heard to lead, or ceased to, on the listener's
    monotonic clock. `planned` and `why` are known once it has `ceased`."""

    node: str
    incarnation: str
    term: tuple[int, int]
    until_ms: int
    ceased: bool = False
    planned: bool | None = None
    why: str = ""

    def cease(self, planned: bool | None, why: str, at_ms: int | None = None) -> None:
        """The first word of it counts. `at_ms`: None where it was last heard to lead."""
        if not self.ceased:
            self.ceased, self.planned, self.why = True, planned, why
            self.until_ms = self.until_ms if at_ms is None else at_ms


@dataclass(slots=True)
class _Taken:
    """A takeover, and who led `before`; `at_ms` is on the monotonic clock."""

    found: Failover
    at_ms: int
    before: _Lead | None = None

    def told(self) -> Failover:
        """With what was heard of who led before."""
        before = self.before
        if before is None:
            return self.found
        before.cease(False, SILENT)
        gap_ms = max(0, self.at_ms - before.until_ms)
        return replace(self.found, planned=before.planned, why=before.why, gap_ms=gap_ms)


class Takeovers:
    """Fed with every heartbeat. `waiting` holds what is to be noted, the oldest first."""

    def __init__(self, *, settle_ms: int, max_waiting: int) -> None:
        """`settle_ms`: so long a takeover waits for a word of who led before; `max_waiting`: so
        many are held until somebody notes them."""
        self._settle_ms = settle_ms
        self._leads: dict[Unit, _Lead] = {}
        self._followed: dict[Unit, list[_Lead]] = {}
        self._taken: deque[_Taken] = deque()
        self._max_waiting = max_waiting
        self.waiting: deque[Failover] = deque()

    def hear(self, beat: Heartbeat, now_ms: int, monotonic_ms: int) -> None:
        """What a service says of itself; `now_ms` is the wall clock's."""
        if beat.service != "processor":
            return
        there: set[Unit] = set()
        for group in beat.groups:
            unit = (group.app, group.group, group.partition)
            there.add(unit)
            # Its age is told by the sender's clock alone: clocks of two machines differ.
            age_ms = max(0, beat.sent_ms - group.turned_ms) if group.turned_ms else 0
            if group.leads:
                lead = self._leads.get(unit)
                term = (group.deployed_ms, group.epoch)
                if lead is None or lead.term < term:
                    self._took(unit, beat, group, (now_ms - age_ms, monotonic_ms - age_ms))
                    self._leads[unit].until_ms = monotonic_ms
                elif lead.term == term and not lead.ceased:
                    lead.until_ms = monotonic_ms
                continue
            for lead in self._of(unit, beat.node):
                if lead.incarnation != beat.incarnation:
                    lead.cease(False, BEGAN_ANEW)
                elif not group.turned_ms or (group.deployed_ms, group.epoch) >= lead.term:
                    lead.cease(group.ended_planned, group.ended, monotonic_ms - age_ms)
        for lead in self._absent(beat.node, there):
            if lead.incarnation != beat.incarnation:
                lead.cease(False, BEGAN_ANEW)
            elif beat.draining:
                lead.cease(True, STOPPED, monotonic_ms)
            else:
                lead.cease(None, CARRIES_NO_MORE, monotonic_ms)

    def settle(self, monotonic_ms: int) -> int:
        """Moves to `waiting` what is known as well as it ever will be. How many others went, as
        there was no room."""
        while self._taken:
            first = self._taken[0]
            is_told = first.before is None or first.before.ceased
            if not is_told and monotonic_ms - first.at_ms < self._settle_ms:
                break
            self.waiting.append(self._taken.popleft().told())
            self._drop_followed(first)
        over = max(0, len(self.waiting) - self._max_waiting)
        for _ in range(over):
            self.waiting.popleft()
        return over

    def noted(self, count: int) -> None:
        """The first `count` of those that waited need not wait any more."""
        for _ in range(min(count, len(self.waiting))):
            self.waiting.popleft()

    def forget(self, apps: Collection[str]) -> None:
        """Of all but these apps, who led them last."""
        for unit in [unit for unit in self._leads if unit[0] not in apps]:
            if self._leads[unit].ceased:
                del self._leads[unit]

    def _took(self, unit: Unit, beat: Heartbeat, group: GroupStatus, at: tuple[int, int]) -> None:
        """A further term; `at`: since when, on the wall clock and on the monotonic one."""
        (at_ms, monotonic_ms), before = at, self._leads.get(unit)
        term = (group.deployed_ms, group.epoch)
        self._leads[unit] = _Lead(beat.node, beat.incarnation, term, monotonic_ms)
        if before is not None and before.term[0] != group.deployed_ms:
            before = None  # another app of that name
        if before is not None and before.node == beat.node:
            same = before.incarnation == beat.incarnation
            before.cease(None if same else False, GOES_ON if same else BEGAN_ANEW)
        found = Failover(
            *unit, group.deployed_ms, group.epoch, at_ms,
            from_node="" if before is None else before.node, to_node=beat.node,
        )  # fmt: skip
        self._taken.append(_Taken(found, monotonic_ms, before))
        if before is not None:
            self._followed.setdefault(unit, []).append(before)

    def _drop_followed(self, one: _Taken) -> None:
        """Nobody waits for a word of that lead any more."""
        unit = one.found.unit
        kept = [lead for lead in self._followed.pop(unit, ()) if lead is not one.before]
        if kept:
            self._followed[unit] = kept

    def _of(self, unit: Unit, node: str) -> Iterator[_Lead]:
        """What is known of the node's lead of a unit, be it over or not."""
        lead = self._leads.get(unit)
        if lead is not None and lead.node == node:
            yield lead
        yield from (one for one in self._followed.get(unit, ()) if one.node == node)

    def _absent(self, node: str, there: Collection[Unit]) -> Iterator[_Lead]:
        for unit, lead in self._leads.items():
            if lead.node == node and unit not in there:
                yield lead
        for unit, followed in self._followed.items():
            if unit not in there:
                yield from (one for one in followed if one.node == node)


def news(found: Iterable[Failover], last: Mapping[Unit, Failover]) -> Sequence[Failover]:
    """What is to be noted where `last` was noted by others: a coordinator that began to listen
    lately takes whom it hears first for the first leader."""
    kept: list[Failover] = []
    for one in found:
        known = last.get(one.unit)
        if one.from_node or known is None or known.deployed_ms != one.deployed_ms:
            kept.append(one)
        elif known.term < one.term:
            kept.append(replace(one, from_node=known.to_node, why=NOBODY_LISTENED))
    return kept
