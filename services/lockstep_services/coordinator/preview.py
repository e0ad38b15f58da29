"""What a text would come to if it were deployed now; nothing is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lockstep.plan import AppPlan
from lockstep.plan.succession import losses
from lockstep.siddhiql import SiddhiQLError
from lockstep_services.coordinator.desired import DesiredState, version_of


@dataclass(frozen=True, slots=True)
class Preview:
    """`created`: there is no app of that name; `changed`: there is one of another text.
    `begins_empty`: what cannot go on with the state that it may have, and why."""

    app: str
    version: str
    created: bool
    changed: bool
    begins_empty: Sequence[str]


async def preview(desired: DesiredState, text: str) -> Preview:
    """SiddhiQLError for a text that is no valid app."""
    plan, version = await desired.plan(text), version_of(text)
    there = next((one for one in await desired.list() if one.app == plan.name), None)
    if there is None:
        return Preview(plan.name, version, created=True, changed=True, begins_empty=())
    if there.version == version:
        return Preview(plan.name, version, created=False, changed=False, begins_empty=())
    lost = await _lost(desired, there.text, plan)
    return Preview(plan.name, version, created=False, changed=True, begins_empty=lost)


async def _lost(desired: DesiredState, text: str, new: AppPlan) -> Sequence[str]:
    try:
        return losses(await desired.plan(text), new)
    except SiddhiQLError as error:  # an earlier release took it
        return (f"everything (what is deployed is not valid any more: {error.message})",)
