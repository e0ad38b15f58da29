"""Feeds that run: started, paused, resumed and stopped, slowed down by who takes the events.

A feed has one batch under way at a time, so its events arrive in their order. What was not answered
is sent again under its key, so a repetition adds nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from lockstep.clock import Clock, wait_set
from lockstep.events import LockstepError
from lockstep.simulating.feeds import Event, Feed
from lockstep.simulating.pacing import Stopwatch


class Phase(StrEnum):
    """Of a feed."""

    READY = "ready"
    RUNNING = "running"
    PAUSED = "paused"
    DONE = "done"
    STOPPED = "stopped"
    FAILED = "failed"


OVER = frozenset({Phase.DONE, Phase.STOPPED, Phase.FAILED})


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of a batch; `reason`: why the last of the refused events was."""

    accepted: int
    refused: int = 0
    reason: str = ""


Send = Callable[[str, Sequence[Event], str], Awaitable[Sent]]
"""Stream, events, key. LockstepError: with `retryable` the same is sent again, after
`retry_after_s` where it says one; otherwise the feed has failed."""


@dataclass(frozen=True, slots=True)
class Pacing:
    """How a feed sends."""

    batch_events: int = 1_000
    tick_ms: int = 50
    """Events that are due within it go together."""
    backoff_ms: int = 200
    backoff_max_ms: int = 5_000


@dataclass(frozen=True, slots=True)
class Figures:
    """How far a feed is. `waiting`: due and not taken yet; `held_up`: how often it was asked to
    come again; `trouble`: what holds it up now, or made it fail."""

    stream: str
    phase: Phase
    sent: int
    refused: int
    reason: str
    waiting: int
    held_up: int
    trouble: str
    total: int | None


class FeedRun:
    """One feed on its way."""

    def __init__(self, feed: Feed, send: Send, clock: Clock, key: str, pacing: Pacing) -> None:
        self.feed = feed
        self.phase = Phase.READY
        self._send = send
        self._clock = clock
        self._key = key
        self._pacing = pacing
        self._watch = Stopwatch(clock)
        self._changed = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._next = 0
        self._under_way = 0
        self._sent = Sent(0)
        self._held_up = 0
        self._trouble = ""

    def figures(self) -> Figures:
        """As they are now."""
        sent = self._sent
        waiting = 0 if self.phase in OVER else self._under_way + self._due()
        return Figures(
            self.feed.stream, self.phase, sent.accepted, sent.refused, sent.reason, waiting,
            self._held_up, self._trouble, self.feed.total,
        )  # fmt: skip

    def start(self) -> None:
        """Begins, or goes on after a pause where it stood."""
        if self.phase in (Phase.READY, Phase.PAUSED):
            self._turn(Phase.RUNNING)
            if not self._trouble:
                self._watch.start()

    async def pause(self) -> None:
        """When it returns nothing is under way, and nothing more is sent until `start`."""
        if self.phase is Phase.RUNNING:
            self._watch.stop()
            self._turn(Phase.PAUSED)
        await self._idle.wait()

    async def stop(self) -> None:
        """For good; when it returns nothing is under way."""
        if self.phase not in OVER:
            self._turn(Phase.STOPPED)
            self._watch.stop()
        await self._idle.wait()

    async def run(self) -> None:
        """Until it is done, stopped or has failed."""
        try:
            while self.phase not in OVER:
                if self.phase is not Phase.RUNNING:
                    await self._rest(None)
                elif self._is_complete():
                    self._turn(Phase.DONE)
                elif due := self._due():
                    await self._deliver(due)
                    await self._rest(self._pacing.tick_ms)
                else:
                    await self._rest(self._until_next_ms())
        except LockstepError as error:
            self._trouble = str(error)
            self._turn(Phase.FAILED)
        finally:
            self._watch.stop()
            self._under_way = 0

    def _is_complete(self) -> bool:
        return self.feed.total is not None and self._next >= self.feed.total

    def _due(self) -> int:
        due = self.feed.schedule.due_by(self._watch.elapsed_ms) - self._next
        left = due if self.feed.total is None else self.feed.total - self._next
        return max(0, min(due, left))

    def _until_next_ms(self) -> int:
        return max(1, self.feed.schedule.due_ms(self._next) - self._watch.elapsed_ms)

    async def _deliver(self, due: int) -> None:
        """The next batch; whoever is slower than the schedule moves the schedule."""
        count = min(due, self._pacing.batch_events)
        if due > count:
            self._watch.set_ms(self.feed.schedule.due_ms(self._next + count - 1))
        events = [self.feed.source.event(self._next + at) for at in range(count)]
        key = f"{self._key}-{self._next}"
        self._next += count
        self._under_way = count
        failures = 0
        while self.phase not in OVER:
            if self.phase is Phase.PAUSED:
                await self._rest(None)
                continue
            pause_ms = await self._once(events, key, failures)
            if pause_ms is None:
                self._under_way = 0
                return
            failures += 1
            await self._rest(pause_ms)

    async def _once(self, events: Sequence[Event], key: str, failures: int) -> int | None:
        """None: it was answered; else how long to wait before it is sent again. The watch stands
        still while it is held up, so that there is no burst behind it."""
        self._idle.clear()
        try:
            answer = await self._send(self.feed.stream, events, key)
        except LockstepError as error:
            if not error.retryable:
                raise
            self._held_up += 1
            self._trouble = error.message
            self._watch.stop()
            asked_s = getattr(error, "retry_after_s", None)
            wait_ms = self._pacing.backoff_ms * (1 << min(failures, 10))
            return int(asked_s * 1000) if asked_s else min(wait_ms, self._pacing.backoff_max_ms)
        finally:
            self._idle.set()
        before = self._sent
        self._sent = Sent(
            before.accepted + answer.accepted,
            before.refused + answer.refused,
            answer.reason or before.reason,
        )
        self._trouble = ""
        if self.phase is Phase.RUNNING:
            self._watch.start()
        return None

    async def _rest(self, at_most_ms: int | None) -> None:
        """Until somebody changes the phase, or the time is over."""
        if at_most_ms is None:
            await self._changed.wait()
        else:
            await wait_set(self._changed, self._clock, at_most_ms)
        self._changed.clear()

    def _turn(self, phase: Phase) -> None:
        self.phase = phase
        self._changed.set()


class Simulation:
    """Feeds of one app that run at the same time."""

    def __init__(
        self,
        feeds: Sequence[Feed],
        send: Send,
        clock: Clock,
        key: str,
        pacing: Pacing | None = None,
    ) -> None:
        made = pacing or Pacing()
        self.runs = [
            FeedRun(feed, send, clock, f"{key}-{number}", made) for number, feed in enumerate(feeds)
        ]
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def is_over(self) -> bool:
        """Whether every feed is done, stopped or has failed."""
        return all(one.phase in OVER for one in self.runs)

    def figures(self) -> list[Figures]:
        """Of each feed."""
        return [one.figures() for one in self.runs]

    def start(self) -> None:
        """Begins, or goes on after a pause."""
        if not self._tasks:
            loop = asyncio.get_running_loop()
            self._tasks = [loop.create_task(one.run()) for one in self.runs]
        for one in self.runs:
            one.start()

    async def pause(self) -> None:
        """When it returns, nothing is under way."""
        await asyncio.gather(*(one.pause() for one in self.runs))

    async def stop(self) -> None:
        """For good."""
        await asyncio.gather(*(one.stop() for one in self.runs))

    async def wait(self) -> None:
        """Until every feed is over."""
        if self._tasks:
            await asyncio.wait(self._tasks)
            for one in self._tasks:
                one.result()

    async def stop_now(self) -> None:
        """For good, without an answer to what is under way; idempotent."""
        for one in self._tasks:
            one.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        for run in self.runs:
            await run.stop()
