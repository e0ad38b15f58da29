"""Where a unit of a new layout begins: behind the last position of the layout before, with those of
its states whose keys are this unit's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lockstep.control import AppView, UnitView
from lockstep.events import Position
from lockstep.execute.joining import joined_snapshots
from lockstep.execute.succession import succeed
from lockstep.fleet.splitting import split_snapshot
from lockstep.fleet.units import Unit
from lockstep.frame import Offload
from lockstep.operators.errors import SnapshotError
from lockstep.plan import Plans
from lockstep.plan.fleet import named_text
from lockstep.plan.parts import parts_of
from lockstep.plan.succession import NOT_THERE, said
from lockstep_services.processor.replica.lasting import last_revision
from lockstep_services.processor.replica.site import Surroundings
from lockstep_services.processor.state.engine import AppEngine
from lockstep_services.processor.state.envelope import Contents, unseal

POLL_MS: Final = 100


@dataclass(frozen=True, slots=True)
class Inherited:
    """An engine behind the layout before, and what of its state begins empty."""

    engine: AppEngine
    lost: tuple[str, ...]


async def inherit(around: Surroundings, view: UnitView, offload: Offload) -> Inherited:
    """Waits until every unit of the layout before has ended. EnvelopeError, LookupError."""
    position, ended = await _ended(around, view.former)
    one = view.deployment
    engine = await around.engines.make(one.text, one.version, offload, origin=position, view=view)
    unit = engine.unit
    assert unit is not None, view.key
    try:
        contents, lost = await offload.run(lambda: handed_down(unit, ended, around.engines.plans))
        if contents.snapshot:
            await engine.restore(position, contents)
        else:
            engine.remember(contents)
    except SnapshotError as error:
        around.log.warning("a state does not fit", reason=str(error), app=view.name)
        await engine.close()
        engine = await around.engines.make(
            one.text, one.version, offload, origin=position, view=view
        )
        engine.remember(ended[0][1])
        lost = (f"everything ({error})",)
    return Inherited(engine, lost)


async def _ended(
    around: Surroundings, former: Sequence[AppView]
) -> tuple[Position, list[tuple[AppView, Contents]]]:
    """The position at which the layout before has ended, and its last states."""
    revisions = around.world.store.revisions
    found: list[tuple[AppView, Contents]] = []
    position = 0
    for view in former:
        while (last := await last_revision(revisions, view.log)) is None:
            await around.clock.sleep_ms(POLL_MS)
        position = last.position
        found.append((view, unseal(await revisions.load(last.id))))
    return position, found


def handed_down(
    unit: Unit, ended: Sequence[tuple[AppView, Contents]], plans: Plans
) -> tuple[Contents, tuple[str, ...]]:
    """What a unit takes over, and what is lost: of the group of its name, or of an app that was one
    unit. SnapshotError. Pure."""
    text, sends = unit.plan.app.text, ended[0][1].sends
    heirs = [
        (one, contents)
        for one, contents in ended
        if not isinstance(one, UnitView) or one.group.name == unit.group.name
    ]
    if not heirs:
        return Contents(text, b"", (), (), sends), ()
    snapshot = joined_snapshots([contents.snapshot for _, contents in heirs])
    first = heirs[0][0]
    old, elsewhere = first.plan, frozenset[str]()
    if not isinstance(first, UnitView):
        # In the texts of groups everything has a name, by which its state is found.
        old, elsewhere = plans.of(named_text(first.plan)), _in_other_groups(unit, plans)
    succeeded = succeed(old, snapshot, unit.plan.app)
    lost = tuple(one for one in succeeded.lost if one not in elsewhere)
    return Contents(text, split_snapshot(succeeded.snapshot, unit), (), (), sends), lost


def _in_other_groups(unit: Unit, plans: Plans) -> frozenset[str]:
    """What is said of a part that goes on in another group: it is not lost."""
    return frozenset(
        said(part.path, NOT_THERE)
        for group in unit.plan.fleet.groups
        if group.name != unit.group.name
        for part in parts_of(plans.of(group.text))
    )
