"""What a text would come to if it were deployed now; nothing is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lockstep.plan import AppPlan
from lockstep.siddhiql import SiddhiQLError
from lockstep.store import Deployment
from lockstep_services.coordinator.desired import DesiredState, is_cut_alike, version_of


@dataclass(frozen=True, slots=True)
class Preview:
    """`created`: there is no app of that name; `changed`: there is one of another text, or cut
    otherwise. `begins_empty`: what cannot go on with the state that it may have, and why."""

    app: str
    version: str
    created: bool
    changed: bool
    begins_empty: Sequence[str]


async def preview(desired: DesiredState, text: str, parallel: int | None = None) -> Preview:
    """SiddhiQLError for a text that is no valid app. `parallel`: as for a deployment."""
    plan, version = await desired.plan(text), version_of(text)
    there = next((one for one in await desired.list() if one.app == plan.name), None)
    if there is None:
        return Preview(plan.name, version, created=True, changed=True, begins_empty=())
    wanted = there.parallel if parallel is None else parallel
    if there.version == version and is_cut_alike(there, wanted):
        return Preview(plan.name, version, created=False, changed=False, begins_empty=())
    lost = await _lost(desired, there, plan, wanted)
    return Preview(plan.name, version, created=False, changed=True, begins_empty=lost)


async def _lost(
    desired: DesiredState, there: Deployment, new: AppPlan, parallel: int
) -> Sequence[str]:
    try:
        before = await desired.layouts.view(there)
    except SiddhiQLError as error:  # an earlier release took it
        return (f"everything (what is deployed is not valid any more: {error.message})",)
    return await desired.layouts.losses(before, new, parallel)
