"""What a listener of a stream hears, whichever way it listens: rows behind a point, then those that
come, each once; and why it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from lockstep.clock import Clock, wait_set
from lockstep.events import OutputId
from lockstep_services.presenter.feed import AppModels, Feed
from lockstep_services.presenter.listeners import Listener
from lockstep_services.presenter.models import Shown, StreamModel, identity
from lockstep_services.presenter.resuming import ResumePoint

KEEPALIVE_MS: Final = 10_000
HISTORY_LOOK_MS: Final = 1_000
HISTORY_LOOKS: Final = 60
"""So often, who comes while history is read is asked to wait; then it is sent away."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Rows behind `after` are not kept any more."""

    after: OutputId
    reason: str

    def as_json(self) -> Mapping[str, str]:
        """As listeners are told."""
        return {"after": identity(self.after), "reason": self.reason}


class Ended(Enum):
    """Why nothing more comes; who comes back goes on behind the last row."""

    LAGGING = "too slow; connect again to resume"
    ANEW = "the app was deployed anew; connect again"
    LEAVING = "the presenter stops; connect again to resume"
    READING = "the history is still being read; connect again to resume"


Heard = Sequence[Shown] | Gap | Ended | None
"""None: nothing came for a while."""


async def follow(
    feed: Feed,
    models: AppModels,
    stream: StreamModel,
    resume: ResumePoint,
    listener: Listener,
    closing: asyncio.Event,
    clock: Clock,
) -> AsyncIterator[Heard]:
    """The last thing is an Ended. `listener` was added before, so that no row is missed."""
    seen, log, name = resume.seen, models.view.log, stream.schema.name

    def present() -> StreamModel | None:
        """The stream as it is shown now. None: the next app of this name counts from 1, the next
        version may have other attributes."""
        now = feed.models(log.app)
        if now is None:
            return stream
        there = now.streams.get(name)
        is_same = now.view.log == log and there is not None and there.schema == stream.schema
        return there if is_same else None

    looks = 0
    while not closing.is_set() and not await feed.has_read(models, HISTORY_LOOK_MS):
        looks += 1
        if looks == HISTORY_LOOKS:
            yield Ended.READING
            return
        yield None
    if closing.is_set():
        yield Ended.LEAVING
        return
    there = present()
    if there is None:
        yield Ended.ANEW
        return
    if seen is not None:
        rows, gap = there.after(seen)
        if gap or resume.is_anew:
            yield Gap(seen, "the app was purged" if resume.is_anew else "history is gone")
        yield rows
        seen = rows[-1].id if rows else seen
    while not closing.is_set():
        arrived = await wait_set(listener.arrived, clock, KEEPALIVE_MS)
        found = [row for row in listener.take() if seen is None or row.id > seen]
        if present() is None:
            yield Ended.ANEW
            return
        yield found if arrived else None
        if listener.lagging:
            yield Ended.LAGGING
            return
    yield Ended.LEAVING
