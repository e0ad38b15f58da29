"""How far the units of a fleet have come: who reads several output logs learns from marks up to
which position of the input log they hold all there will ever be.

A mark is true for good once it was true: output logs are only appended to. So marks may be lost,
repeated, late, or come from a leader that has been deposed since.
"""

from __future__ import annotations

import asyncio
from operator import attrgetter
from typing import Final

import msgspec

from lockstep.bus import LogName, Topics, control_subject
from lockstep.events import Position
from lockstep.events.typed import from_msgpack

MARK_TOPIC: Final = "mark"
MARKS_KEPT: Final = 256
"""Of one log, for readers that are behind; who is further behind waits for a later one."""


class Mark(msgspec.Struct, frozen=True, array_like=True):
    """The output log holds all rows up to input position `settled` in its records up to `sequence`.

    A log is named as `LogName` has it.
    """

    app: str
    group: str
    partition: int
    since_ms: int
    settled: Position
    sequence: int

    @property
    def log(self) -> LogName:
        """Of which log."""
        return LogName(self.app, self.group, self.partition, self.since_ms)


def mark_subject(app: str) -> str:
    """Where the leaders of an app's units say how far they are."""
    return control_subject(MARK_TOPIC, app)


async def send_mark(topics: Topics, mark: Mark) -> None:
    """At most once; the next one says more."""
    await topics.publish(mark_subject(mark.app), msgspec.msgpack.encode(mark))


class MarkWatch:
    """The marks of one app's units. `run` in a task; `moved` rings when one came that says more."""

    def __init__(self, topics: Topics, app: str) -> None:
        self._topics = topics
        self._app = app
        self._marks: dict[LogName, list[Mark]] = {}
        self.moved = asyncio.Event()

    async def run(self) -> None:
        """Listens until cancelled; UnavailableError when the bus is away."""
        subscription = await self._topics.subscribe(mark_subject(self._app))
        try:
            async for _, payload in subscription:
                try:
                    self.take(from_msgpack(payload, Mark))
                except msgspec.DecodeError:
                    continue  # of another release; its next one may be readable
        finally:
            await subscription.close()

    def take(self, mark: Mark) -> None:
        """What a leader says, or somebody who knows it otherwise."""
        marks = self._marks.setdefault(mark.log, [])
        if marks and mark.settled <= marks[-1].settled:
            return
        # Of marks that nobody has asked for yet, the newest few say enough.
        del marks[: -MARKS_KEPT + 1]
        marks.append(mark)
        self.moved.set()

    def settled(self, log: LogName, sequence: int) -> Position:
        """Up to which position a reader who has read the log up to `sequence` has everything."""
        marks = self._marks.get(log, [])
        read = [mark for mark in marks if mark.sequence <= sequence]
        if not read:
            return 0
        best = max(read, key=_settled)
        if len(read) > 1:  # who reads on has no use for those that say less than the best one
            marks[:] = [mark for mark in marks if mark is best or mark.sequence > sequence]
        return best.settled


_settled = attrgetter("settled")
