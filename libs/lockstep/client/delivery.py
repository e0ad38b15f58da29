"""A batch to the receivers, by mode, again and again under one key until one accepts it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, Final

from lockstep.client.batches import Batch
from lockstep.client.doors import Doors, Mode
from lockstep.client.errors import PushedBackError
from lockstep.client.limits import Limits
from lockstep.client.posting import Answer, Poster
from lockstep.clock import Clock, Randomness
from lockstep.events import UnavailableError

LOG: Final = logging.getLogger("lockstep.client")
"""The standard library's, as this runs in other people's programs."""


class Delivery:
    """One batch at a time, so that what was handed over first stands first in the log."""

    def __init__(
        self,
        poster: Poster,
        doors: Doors,
        mode: Mode,
        limits: Limits,
        clock: Clock,
        randomness: Randomness,
    ) -> None:
        self._poster = poster
        self._doors = doors
        self._limits = limits
        self._clock = clock
        self._randomness = randomness
        self._round = self._everybody if mode is Mode.ALL else self._one_after_another
        self._copies: dict[str, asyncio.Task[Answer]] = {}

    async def deliver(self, batch: Batch) -> Answer:
        """Errors: NotAcceptedError, UnavailableError when nobody has accepted it in time."""
        began_ms, failures = self._clock.monotonic_ms(), 0
        while True:
            try:
                answer = await self._round(batch)
            except UnavailableError as error:
                spent_ms = self._clock.monotonic_ms() - began_ms
                left_ms = self._limits.give_up_after_ms - spent_ms
                if left_ms <= 0:
                    raise
                if failures == 0:
                    LOG.warning("no receiver takes events, trying again: %s", error)
                await self._clock.sleep_ms(min(self._pause_ms(error, failures), left_ms))
                failures += 1
            else:
                if failures:
                    spent_ms = self._clock.monotonic_ms() - began_ms
                    LOG.warning("a receiver takes events again, after %d ms", spent_ms)
                return answer

    async def close(self) -> None:
        """Copies still on their way are given up: what they bring is durable already."""
        for copy in self._copies.values():
            copy.cancel()
        await asyncio.gather(*self._copies.values(), return_exceptions=True)

    async def _one_after_another(self, batch: Batch) -> Answer:
        errors: list[UnavailableError] = []
        for url in self._doors.order(self._clock.monotonic_ms()):
            try:
                return await self._post(url, batch)
            except UnavailableError as error:
                errors.append(error)
        raise _soonest(errors)

    async def _everybody(self, batch: Batch) -> Answer:
        """To all receivers that are not busy with an earlier batch; the first answer counts."""
        free = [url for url in self._doors.urls if url not in self._copies]
        while not free:
            await asyncio.wait(self._copies.values(), return_when=asyncio.FIRST_COMPLETED)
            free = [url for url in self._doors.urls if url not in self._copies]
        asked = {self._copy(url, self._post(url, batch)) for url in free}
        errors: list[BaseException] = []
        while asked:
            answered, asked = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
            for task in answered:
                error = task.exception()
                if error is None:
                    return task.result()
                errors.append(error)
        # One that does not want it says nothing about another that could not be asked.
        away = [error for error in errors if isinstance(error, UnavailableError)]
        raise _soonest(away) if away else errors[0]

    def _copy(self, url: str, posting: Coroutine[Any, Any, Answer]) -> asyncio.Task[Answer]:
        task = asyncio.get_running_loop().create_task(posting)

        def ended(_: asyncio.Task[Answer]) -> None:
            self._copies.pop(url, None)
            if not task.cancelled():
                task.exception()  # looked at, also when another receiver was faster

        self._copies[url] = task
        task.add_done_callback(ended)
        return task

    def _pause_ms(self, error: UnavailableError, failures: int) -> int:
        """Before the next round: as long as all receivers have asked for, or ever longer, spread
        so that clients of one receiver do not come back at once."""
        if isinstance(error, PushedBackError) and error.retry_after_s:
            return int(error.retry_after_s * 1000)
        first, limit = self._limits.backoff_ms, self._limits.backoff_max_ms
        pause_ms = first * (1 << min(failures, 20)) + self._randomness.fraction() * first
        return int(min(pause_ms, limit))

    async def _post(self, url: str, batch: Batch) -> Answer:
        try:
            answer = await self._poster.post(url, batch)
        except UnavailableError:
            self._doors.failed(url, self._clock.monotonic_ms())
            raise
        self._doors.worked(url)
        return answer


def _soonest(errors: list[UnavailableError]) -> UnavailableError:
    """What a round came to: the shortest wait that was asked for, if everybody asked for one."""
    pushed = [one for one in errors if isinstance(one, PushedBackError) and one.retry_after_s]
    if len(pushed) == len(errors):
        return min(pushed, key=lambda one: one.retry_after_s or 0.0)
    return next(one for one in errors if one not in pushed)
