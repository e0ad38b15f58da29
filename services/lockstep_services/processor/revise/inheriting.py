"""Where a unit of a new layout begins: behind the last position of the layout before, with those of
its states whose keys are this unit's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lockstep.control import AppView, UnitView, unit_label
from lockstep.control.endings import ending_id, endings_of, last_revision
from lockstep.events import LockstepError, Position
from lockstep.execute.joining import joined_snapshots
from lockstep.execute.succession import succeed
from lockstep.fleet.renaming import KEPT_OTHERWISE, Renaming
from lockstep.fleet.splitting import split_snapshot
from lockstep.fleet.units import Unit
from lockstep.frame import Offload
from lockstep.operators.errors import SnapshotError
from lockstep.plan import AppPlan, Plans
from lockstep.plan.fleet import named_text, united_text
from lockstep.plan.parts import parts_of
from lockstep.plan.paths import name_of, query_path
from lockstep.plan.succession import NOT_THERE, said, succession
from lockstep_services.processor.replica.site import Surroundings
from lockstep_services.processor.state.engine import AppEngine
from lockstep_services.processor.state.envelope import Contents, unseal

POLL_MS: Final = 100


class EndsDifferError(LockstepError):
    """The units of a layout have not all ended at one position: together they are no state."""

    retryable = True


@dataclass(frozen=True, slots=True)
class Inherited:
    """An engine behind the layout before, and what of its state begins empty."""

    engine: AppEngine
    lost: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ended:
    """The last state of a unit. `group`: its own; None: the app was one unit."""

    group: str | None
    contents: Contents


async def inherit(around: Surroundings, view: UnitView, offload: Offload) -> Inherited:
    """Waits until every unit of the layout before has ended. EnvelopeError, LookupError,
    EndsDifferError."""
    position, ended = await _ended(around, view.former)
    one, sends = view.deployment, ended[0].contents.sends
    states = await _to_restore(around, view) or ended
    engine = await around.engines.make(one.text, one.version, offload, origin=position, view=view)
    try:
        lost = await _take_over(around, engine, states, _before(view), sends, offload)
        return Inherited(engine, lost)
    except SnapshotError as error:
        await engine.close()
        around.log.warning("a state does not fit", reason=str(error))
        lost = (f"everything ({error})",)
    except BaseException:  # a cancellation as well: nobody else knows of the engine
        await engine.close()
        raise
    engine = await around.engines.make(one.text, one.version, offload, origin=position, view=view)
    engine.remember(ended[0].contents)
    return Inherited(engine, lost)


async def _take_over(
    around: Surroundings,
    engine: AppEngine,
    states: Sequence[Ended],
    before: AppPlan,
    sends: bytes,
    offload: Offload,
) -> tuple[str, ...]:
    """The engine goes on from these states; gives what of them begins empty. SnapshotError."""
    unit = engine.unit
    assert unit is not None
    plans = around.engines.plans
    contents, lost = await offload.run(lambda: handed_down(unit, states, before, sends, plans))
    await engine.restore(engine.position, contents)
    return lost


def _before(view: UnitView) -> AppPlan:
    """The whole app of the layout before. A state that is gone back to is of that text, too, as a
    restore changes none."""
    former = view.former[0]
    return former.whole.app if isinstance(former, UnitView) else former.plan


async def _ended(around: Surroundings, former: Sequence[AppView]) -> tuple[Position, list[Ended]]:
    """The position at which the layout before has ended, and its last states. EndsDifferError."""
    revisions = around.world.store.revisions
    found: list[Ended] = []
    positions: dict[str, Position] = {}
    for view in former:
        while (last := await last_revision(revisions, view.log)) is None:
            await around.clock.sleep_ms(POLL_MS)
        positions[unit_label(view.key)] = last.position
        group = view.group.name if isinstance(view, UnitView) else None
        found.append(Ended(group, unseal(await revisions.load(last.id))))
    position, *others = {*positions.values()}
    if others:
        places = ", ".join(f"{unit} at {end}" for unit, end in positions.items())
        raise EndsDifferError(f"the layout before has not ended at one position: {places}")
    return position, found


async def _to_restore(around: Surroundings, view: UnitView) -> list[Ended]:
    """The states that this layout is to go back to; none where it just goes on.

    All units go back or none does: a state that is gone keeps the layout from beginning.
    """
    restoration = view.deployment.origin.restoration
    if restoration is None or restoration.life.number != view.deployment.layout:
        return []
    revisions = around.world.store.revisions
    there = {ending_id(one.layout): one for one in await endings_of(revisions, view.log)}
    if restoration.revision not in there:
        raise LookupError(f"'{restoration.revision}' is gone, which '{view.name}' goes back to")
    ending = there[restoration.revision]
    around.log.warning("restoring", revision=restoration.revision)
    return [
        Ended(group if ending.layout else None, unseal(await revisions.load(one.id)))
        for group, one in ending.states
    ]


def handed_down(
    unit: Unit, states: Sequence[Ended], before: AppPlan, sends: bytes, plans: Plans
) -> tuple[Contents, tuple[str, ...]]:
    """What a unit takes over, and what is lost: of all units that had something of it, since what
    belongs to its group now may have been in another one. `before`: the whole app that these were
    units of. `sends`: those of late, which a restore does not forget. SnapshotError. Pure."""
    app = unit.plan.app
    if states[0].group is None:
        before = plans.of(states[0].contents.text)
    renaming = Renaming(before, unit.plan.fleet.app)
    # A group that is all of an app has its text, in which not everything has a name.
    named = {one.contents.text: named_text(plans.of(one.contents.text)) for one in states}
    wanted = {_known_by(part.path) for part in parts_of(app)}

    def has_any(text: str) -> bool:
        paths = (renaming.path(part.path) for part in parts_of(plans.of(text)))
        return not wanted.isdisjoint(map(_known_by, paths))

    # What is all new begins at the clock that there is, in an app that goes on.
    own = [one for one in states if one.group is None or has_any(named[one.contents.text])]
    states = own or states[:1]
    old = plans.of(renaming.text(united_text(named[one.contents.text] for one in states)))
    snapshot = joined_snapshots([one.contents.snapshot for one in states], old.checked.tables)
    new = plans.of(named_text(app))
    succeeded = succeed(old, renaming.snapshot(snapshot), new)
    told = _told(unit, renaming, old, new, plans)
    lost = dict.fromkeys(told.get(one, one) for one in succeeded.lost)
    contents = Contents(app.text, split_snapshot(succeeded.snapshot, unit), (), (), sends)
    return contents, tuple(one for one in lost if one is not None)


def _known_by(path: str) -> str:
    """How a part is known, be it a query or the partition that the query is cut in."""
    kind, _, name = path.partition("/")
    return query_path(name_of(name)) if kind == "partition" else path


def _told(
    unit: Unit, renaming: Renaming, old: AppPlan, new: AppPlan, plans: Plans
) -> dict[str, str | None]:
    """What people are told where this is said of what a unit does not take over; None: nothing, as
    that goes on in another group. `old`: of what it takes over, under its next names; `new`: its
    own."""
    elsewhere = {
        part.path
        for group in unit.plan.fleet.groups
        if group.name != unit.group.name
        for part in parts_of(plans.of(group.text))
    }
    told: dict[str, str | None] = {}
    for path, why in succession(old, new).lost.items():
        goes_on = why == NOT_THERE and path in elsewhere
        told[said(path, why)] = None if goes_on else renaming.lost(path, why)
    for path in (part.path for part in parts_of(old)):
        told[said(path, KEPT_OTHERWISE)] = renaming.lost(path, KEPT_OTHERWISE)
    return told
