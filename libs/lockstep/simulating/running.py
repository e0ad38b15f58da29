"""Feeds that run: started, paused, resumed and stopped, slowed down by who takes the events.

A feed has one batch under way at a time, so its events arrive in their order. What was not answered
is sent again under its key, so a repetition adds nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus

from lockstep.clock import Clock, wait_set
from lockstep.events import LockstepError
from lockstep.simulating.feeds import Aside, Event, Feed
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

    def plus(self, more: Sent) -> Sent:
        """Of both; a later reason goes before an earlier one."""
        return Sent(
            self.accepted + more.accepted, self.refused + more.refused, more.reason or self.reason
        )


Send = Callable[[str, Sequence[Event], str], Awaitable[Sent]]
"""Stream, events, key. LockstepError: with `retryable` the same is sent again, after
`retry_after_s` where it says one; with a `status` 413 in smaller batches, and an event that is too
large by itself is refused; otherwise the feed has failed."""


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

    def __init__(
        self, feed: Feed, send: Send, clock: Clock, key: str, pacing: Pacing, aside: Aside
    ) -> None:
        self.feed = feed
        self._aside = aside
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
                self._changed.clear()  # what is seen here cuts no later rest short
                if self.phase is not Phase.RUNNING:
                    await self._rest(None)
                elif self._is_complete():
                    self._turn(Phase.DONE)
                elif due := self._due():
                    await self._deliver(due)
                    if self._due():
                        await asyncio.sleep(0)  # no feed has the loop for itself
                    else:
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
        """The next batch. Of one that is too large each half goes by itself, under its own key."""
        first = self._next
        self._idle.clear()  # a pause waits for what is being drawn, too
        try:
            most = min(due, self._pacing.batch_events)
            events = await self._aside(lambda: self.feed.batch(first, most))
        finally:
            self._idle.set()
        self._next += len(events)
        self._under_way = len(events)
        if due > len(events):
            self._move_schedule()
        failures = 0
        parts: list[tuple[str, int, Sequence[Event]]] = [(f"{self._key}-{first}", first, events)]
        while parts and self.phase not in OVER:
            if self.phase is Phase.PAUSED:
                await self._rest(None)
                continue
            key, number, part = parts[-1]
            try:
                pause_ms = await self._once(part, key, failures)
            except LockstepError as error:
                if not _is_too_large(error):
                    raise
                parts[-1:] = _halves(self._key, number, part)
                continue
            if pause_ms is None:
                failures = 0
                self._under_way -= len(part)
                parts.pop()
            else:
                failures += 1
                await self._rest(pause_ms)

    def _move_schedule(self) -> None:
        """Whoever is slower than the schedule moves it, so that no more than a tick is made up."""
        latest_ms = self.feed.schedule.due_ms(self._next - 1) + self._pacing.tick_ms
        if self._watch.elapsed_ms > latest_ms:
            self._watch.set_ms(latest_ms)

    async def _once(self, events: Sequence[Event], key: str, failures: int) -> int | None:
        """None: it was answered; else how long to wait before it is sent again. The watch stands
        still while it is held up, so that there is no burst behind it."""
        self._idle.clear()
        try:
            answer = await self._send(self.feed.stream, events, key)
        except LockstepError as error:
            if len(events) == 1 and _is_too_large(error):
                answer = Sent(0, 1, str(error))
            elif error.retryable:
                return self._held(error, failures)
            else:
                raise
        finally:
            self._idle.set()
        self._sent = self._sent.plus(answer)
        self._trouble = ""
        if self.phase is Phase.RUNNING:
            self._watch.start()
        return None

    def _held(self, error: LockstepError, failures: int) -> int:
        self._held_up += 1
        self._trouble = error.message
        self._watch.stop()
        asked_s = getattr(error, "retry_after_s", None)
        wait_ms = self._pacing.backoff_ms * (1 << min(failures, 10))
        return int(asked_s * 1000) if asked_s else min(wait_ms, self._pacing.backoff_max_ms)

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


def _is_too_large(error: LockstepError) -> bool:
    return getattr(error, "status", None) == HTTPStatus.REQUEST_ENTITY_TOO_LARGE


def _halves(
    key: str, number: int, events: Sequence[Event]
) -> list[tuple[str, int, Sequence[Event]]]:
    """With a key for each. The second one first: it is the last to go."""
    middle = len(events) // 2
    halves = [(number + middle, events[middle:]), (number, events[:middle])]
    return [(f"{key}-{at}-{len(half)}", at, half) for at, half in halves]


class Simulation:
    """Feeds of one app that run at the same time. `aside`: where batches are made ready."""

    def __init__(
        self,
        feeds: Sequence[Feed],
        send: Send,
        clock: Clock,
        key: str,
        pacing: Pacing | None = None,
        aside: Aside = asyncio.to_thread,
    ) -> None:
        made = pacing or Pacing()
        self.runs = [
            FeedRun(feed, send, clock, f"{key}-{number}", made, aside)
            for number, feed in enumerate(feeds)
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
