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
        contents, lost = await offload.run(lambda: handed_down(unit, ended))
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
    unit: Unit, ended: Sequence[tuple[AppView, Contents]]
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
    succeeded = succeed(heirs[0][0].plan, snapshot, unit.plan.app)
    return Contents(text, split_snapshot(succeeded.snapshot, unit), (), (), sends), succeeded.lost
