"""On-demand queries on the past of a stream: each in a process of its own, with the limits of SQL
over the archive."""

from __future__ import annotations

import msgspec

from lockstep.archive.asking import cpu_s, in_process
from lockstep.archive.place import place_of_settings
from lockstep.control import OnDemandAnswer
from lockstep.events.typed import from_json
from lockstep.history.errors import HistoryError
from lockstep.history.questions import Recall
from lockstep.plan import AppPlan
from lockstep.settings import ArchiveSettings
from lockstep.siddhiql import SiddhiQLError, check_on_demand, parse_on_demand


def asks_the_past(query: str) -> bool:
    """Whether it is a query with `within`, and without `per`; one that cannot be read is not."""
    try:
        within = parse_on_demand(query).range
    except SiddhiQLError:
        return False
    return within is not None and within.per is None


async def remember(
    plan: AppPlan, query: str, now_ms: int, settings: ArchiveSettings
) -> OnDemandAnswer:
    """What the archive of an app says; what the archive cannot say is in the answer. When the
    caller is cancelled, the process is killed. SiddhiQLError, HistoryError, AskedTooMuchError."""
    check_on_demand(query, plan.checked)
    place = place_of_settings(settings)
    if place is None:
        raise HistoryError(
            "nothing is archived here, so the past cannot be asked",
            hint="archive.folder says where the archive is, to all services",
        )
    question = Recall(
        place.folder, dict(place.options), plan.name, plan.text, query, settings.query_rows, now_ms,
        settings.query_memory_bytes, cpu_s(settings),
    )  # fmt: skip
    out = await in_process("lockstep.history.recalling", msgspec.json.encode(question), settings)
    return from_json(out, OnDemandAnswer)
