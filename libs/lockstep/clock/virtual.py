"""Time that moves only when told to, and randomness that repeats for a seed."""

from __future__ import annotations

import asyncio
import base64
import heapq
import itertools
import random
import uuid
from typing import Final


class VirtualClock:
    """A clock for tests and replays.

    Sleepers wake in the order of their deadlines, ties in the order they went to sleep, and each
    sees the clock exactly at its deadline. One event loop per clock.
    """

    def __init__(self, start_ms: int = 0) -> None:
        self._start_ms = start_ms
        self._now_ms = start_ms
        self._order = itertools.count()
        self._sleepers: list[tuple[int, int, asyncio.Future[None]]] = []

    def now_ms(self) -> int:
        """The virtual time."""
        return self._now_ms

    def monotonic_ms(self) -> int:
        """Milliseconds moved since the clock was made."""
        return self._now_ms - self._start_ms

    async def sleep_ms(self, duration_ms: int) -> None:
        """Returns when the clock has been moved `duration_ms` on; zero or less yields once."""
        if duration_ms <= 0:
            await asyncio.sleep(0)
            return
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        deadline_ms = self._now_ms + duration_ms
        heapq.heappush(self._sleepers, (deadline_ms, next(self._order), woken))
        await woken

    def set_ms(self, now_ms: int) -> None:
        """Moves to `now_ms` without letting woken tasks run in between; ValueError when it is past.

        For synchronous callers: sleepers that are due wake when their event loop runs next.
        """
        if now_ms < self._now_ms:
            raise ValueError(f"a clock does not run back: {self._now_ms} -> {now_ms}")
        self._now_ms = now_ms
        while (deadline_ms := self.next_deadline_ms()) is not None and deadline_ms <= now_ms:
            self._wake_first()

    async def advance_ms(self, duration_ms: int) -> None:
        """Moves on by `duration_ms`, stopping at every deadline on the way.

        What a woken task does at once, further sleeps that end in time included, is done before
        the clock moves on.
        """
        target_ms = self._now_ms + duration_ms
        if duration_ms < 0:
            raise ValueError(f"a clock does not run back: by {duration_ms} ms")
        await self._settle()
        while (deadline_ms := self.next_deadline_ms()) is not None and deadline_ms <= target_ms:
            self._now_ms = deadline_ms
            self._wake_first()
            await self._settle()
        self._now_ms = target_ms

    def next_deadline_ms(self) -> int | None:
        """When the next sleeper wakes; None when nobody sleeps."""
        while self._sleepers and self._sleepers[0][2].done():
            heapq.heappop(self._sleepers)
        return self._sleepers[0][0] if self._sleepers else None

    def _wake_first(self) -> None:
        _, _, woken = heapq.heappop(self._sleepers)
        woken.set_result(None)

    async def _settle(self) -> None:
        # Tasks that wake others need one turn of the loop each; chains longer than this
        # do not occur between two deadlines in this code base. Most are over after a few: no turn
        # is taken that nobody else uses. Python's loops show who waits for one, others do not.
        ready = getattr(asyncio.get_running_loop(), "_ready", None)
        idle = 0
        for _ in range(_TURNS_TO_SETTLE):
            await asyncio.sleep(0)
            idle = 0 if ready is None or ready else idle + 1
            if idle == _IDLE_TURNS:
                return


_TURNS_TO_SETTLE: Final = 64
_IDLE_TURNS: Final = 2
"""After so many, nobody is left who could wake others: each also asks what sockets and threads have
brought."""


class SeededRandomness:
    """The same sequence for the same seed, on every machine."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def uuid_hex(self) -> str:
        """A well-formed version 4 UUID drawn from the sequence."""
        return uuid.UUID(int=self._random.getrandbits(128), version=4).hex

    def fraction(self) -> float:
        return self._random.random()

    def secret(self) -> str:
        """43 URL-safe characters; not secret at all, which is what a test wants."""
        return base64.urlsafe_b64encode(self._random.randbytes(32)).decode().rstrip("=")
