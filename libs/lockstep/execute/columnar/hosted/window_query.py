"""A query whose window only the reference has: what the window lets out goes on in columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.columns.chunks import Chunks
from lockstep.columns.flow import Flow
from lockstep.columns.keys import Ids
from lockstep.columns.moves import Moves
from lockstep.columns.units import States
from lockstep.execute.columnar.hosted.window import HostedWindow
from lockstep.streams.columns import StreamQuery
from lockstep.windows.contract import Step


class HostedWindowQuery(StreamQuery):
    """See Unit. Its window weighs its timers against those of others, so it may stand behind
    them."""

    def __init__(self, *parts: Any, hosted: HostedWindow, window_path: str, **others: Any) -> None:
        super().__init__(*parts, **others)
        self._hosted = hosted
        self._hosted_path = window_path
        self.shows_timers = True
        self.hears_timers = False
        self.is_stateless = False

    def _flow(self, chunks: Chunks, moves: Moves) -> tuple[Flow, Ids | None]:
        none = np.zeros(0, np.int64)
        flow = self._hosted.flow(Step(chunks, none, moves, self.place))
        groups = self._selector.groups
        return flow, groups.assign(flow.frame(), None) if self._grouped else None

    def due_ms(self) -> int | None:
        return self._hosted.due_ms()

    def wall_due_ms(self) -> int | None:
        due = [super().wall_due_ms(), self._hosted.wall_due_ms()]
        return min((each for each in due if each is not None), default=None)

    def store(self, states: States) -> None:
        super().store(states)
        states.operators[self._hosted_path] = self._hosted.store()
        states.timers += self._hosted.pending()

    def load(self, states: States) -> None:
        super().load(states)
        self._hosted.load(states.operators[self._hosted_path])
        self._hosted.refill(states.timers)
