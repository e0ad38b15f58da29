"""The layouts of an app that is a fleet, as its logs tell of them: which output logs hold the rows
of which positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from lockstep.bus import Bus, LogGoneError, LogName, OutputTail
from lockstep.control.units import AppView, UnitView, group_and_layout
from lockstep.events import ClaimRecord, Generation, OutputRecord, Position
from lockstep.events.outputs import first_id
from lockstep.plan import AppPlan

OWN_LOG: Final = 0
"""The layout whose rows stand in the app's own output log: it was one unit then."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The units of one life: their output logs, upstream first, and where these end now.

    `streams`: those whose rows the app gives out; None: all that the logs hold. `kept_behind`:
    where what is left of the logs begins, if no unit goes on with its first state.
    """

    number: int
    tails: Mapping[LogName, OutputTail]
    streams: frozenset[str] | None
    kept_behind: Position | None = None

    @property
    def begin(self) -> Position | None:
        """Behind which position its units fold; None while none of them has claimed its log.

        Then all units of the layout before have ended, and have published everything.
        """
        if self.number == OWN_LOG:
            return 0 if self.last else None
        claims = (one.generation for one in self.tails.values())
        # A unit that has set something aside goes on with a later state, which begins there.
        first = (one.position for one in claims if one and one.life.number == self.number)
        return next(first, self.kept_behind)

    @property
    def last(self) -> Position:
        """The position of its newest row."""
        ids = (one.last_id for one in self.tails.values())
        return max((one.position for one in ids if one is not None), default=0)


async def layouts_of(bus: Bus, view: AppView) -> list[Layout]:
    """All of which there are logs, the present one last. UnavailableError; LogGoneError where a log
    of the present one is missing: it is not made yet, or was lost.

    Of layouts before the former one the text is not known any more: they are taken to have given
    out what the former one does, and their groups to stand in its order.
    """
    there = [one for one in await bus.logs(view.name) if one.since_ms == view.log.since_ms]
    present = view.deployment.layout
    found = {present: ([one.log for one in view.units], _given_out(view.plan))}
    last_known = found[present]
    if view.former:
        former = [one.log for one in view.former]
        plan = view.former[0]
        streams = _given_out(plan.whole.app if isinstance(plan, UnitView) else plan.plan)
        number = plan.deployment.layout
        found[number] = (former, streams)  # listed or not: a server may not have heard of some
        last_known = (former, streams) if number else last_known
    for number, logs in _older(there, found, present, last_known[0]).items():
        found[number] = (logs, last_known[1])
    layouts: list[Layout] = []
    # The present one first: what ends a layout stands in its logs before the next one is claimed.
    for number, (logs, streams) in sorted(found.items(), reverse=True):
        tails = await _tails(bus, logs, is_needed=number == present)
        if tails:
            kept_behind = await _kept_behind(bus, number, tails)
            given_out = None if number == OWN_LOG else streams
            layouts.insert(0, Layout(number, tails, given_out, kept_behind))
    return layouts


def _given_out(plan: AppPlan) -> frozenset[str]:
    return frozenset((*plan.exported, *plan.stored))


def _older(
    there: Sequence[LogName], known: Mapping[int, object], present: int, pattern: Sequence[LogName]
) -> dict[int, list[LogName]]:
    """The logs of layouts that no view knows."""
    groups = list(dict.fromkeys(group_and_layout(one.group)[0] for one in pattern))
    found: dict[int, list[LogName]] = {}
    for name in there:
        number = group_and_layout(name.group)[1]
        if number < present and number not in known:
            found.setdefault(number, []).append(name)

    def order(name: LogName) -> tuple[int, LogName]:
        group = group_and_layout(name.group)[0]
        return groups.index(group) if group in groups else len(groups), name

    return {number: sorted(logs, key=order) for number, logs in found.items()}


async def _tails(
    bus: Bus, logs: Sequence[LogName], *, is_needed: bool
) -> dict[LogName, OutputTail]:
    """Empty when one of them was removed: then all are, as everybody has their rows; LogGoneError
    where they are needed still. What is missing is never made here: a list may be older than the
    removal, and what was lost would be empty."""
    found: dict[LogName, OutputTail] = {}
    for name in logs:
        try:
            found[name] = await (await bus.output_log(name, make=False)).tail()
        except LogGoneError:
            if is_needed:
                raise
            return {}
    return found


async def _kept_behind(
    bus: Bus, number: int, tails: Mapping[LogName, OutputTail]
) -> Position | None:
    """Behind which position the logs have something, where the units have all gone over to later
    states: what is not there any more everybody has got. None where a first state tells."""
    claims = {name: one.generation for name, one in tails.items() if one.generation is not None}
    if number == OWN_LOG or any(one.life.number == number for one in claims.values()):
        return None
    found: list[Position] = []
    for name, claim in claims.items():
        log = await bus.output_log(name, make=False)
        entries = await log.read(0, max_records=1, max_bytes=1, wait_ms=0)
        match entries[0].record if entries else None:
            case OutputRecord(rows=rows) if rows:
                found.append(first_id(rows).position - 1)
            case ClaimRecord(generation=Generation(position=position)):
                found.append(position)
            case _:
                found.append(claim.position)
    return min(found, default=None)
