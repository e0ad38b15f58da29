"""What a text would come to if it were deployed now; nothing is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lockstep.control import SinkStatus
from lockstep.plan import AppPlan
from lockstep.plan.fleet import RULES
from lockstep.siddhiql import SiddhiQLError
from lockstep.store import Deployment
from lockstep_services.coordinator.desired import (
    DesiredState,
    is_cut_alike,
    parallel_after,
    version_of,
)


@dataclass(frozen=True, slots=True)
class Preview:
    """`created`: there is no app of that name; `changed`: there is one of another text, or cut
    otherwise. `begins_empty`: what cannot go on with the state that it may have, and why.
    `sinks_out`: sinks that there are no more, and how far behind they are, if they are."""

    app: str
    version: str
    created: bool
    changed: bool
    begins_empty: Sequence[str]
    sinks_out: Sequence[str] = ()


async def preview(
    desired: DesiredState,
    text: str,
    parallel: int | None = None,
    sinks: Iterable[SinkStatus] = (),
) -> Preview:
    """SiddhiQLError for a text that is no valid app or cannot be cut so, UnclearSinksError,
    Problem 503: as deploying it would be refused.
    `parallel`: as for a deployment. `sinks`: what publishers tell."""
    plan, version = await desired.plan(text), version_of(text)
    there = next((one for one in await desired.list() if one.app == plan.name), None)
    wanted = parallel_after(parallel, there)
    if there is not None and there.version == version and is_cut_alike(there, wanted):
        return Preview(plan.name, version, created=False, changed=False, begins_empty=())
    is_fleet = there is not None and there.layout > 0
    await desired.layouts.check(plan, wanted, RULES, is_fleet=is_fleet)
    if there is None:
        if kept := await desired.known(plan.name):  # refused like the deployment would be
            await desired.sinks.numbers(kept, text, is_there=False)
        return Preview(plan.name, version, created=True, changed=True, begins_empty=())
    lost = await _lost(desired, there, plan, wanted)
    behind = {one.sink: one.log_end - one.sequence for one in sinks if one.app == plan.name}
    out = [
        f"{name} ({behind[name]} records behind)" if behind.get(name, 0) > 0 else name
        for name in await desired.sinks.taken_out(there, text)
    ]
    return Preview(
        plan.name, version, created=False, changed=True, begins_empty=lost, sinks_out=out
    )


async def _lost(
    desired: DesiredState, there: Deployment, new: AppPlan, parallel: int
) -> Sequence[str]:
    try:
        before = await desired.layouts.view(there)
    except SiddhiQLError as error:  # an earlier release took it
        return (f"everything (what is deployed is not valid any more: {error.message})",)
    return await desired.layouts.losses(before, new, parallel)
