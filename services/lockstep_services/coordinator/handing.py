"""Leads that the coordinator has handed over: it asks whoever leads, and goes on meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from lockstep.control import Command, CommandAnswer, unit_label
from lockstep.events import LockstepError
from lockstep.telemetry import Logger, Metrics
from lockstep_services.coordinator.board import HandOver

Ask = Callable[[str, Command], Awaitable[CommandAnswer]]
"""Asks whoever leads a unit; LockstepError when it is not done."""


class HandOvers:
    """One at a time of a unit, `max_moves` in all. One that fails is decided on anew."""

    def __init__(self, ask: Ask, metrics: Metrics, log: Logger, *, max_moves: int) -> None:
        self._ask = ask
        self._metrics = metrics
        self._log = log
        self._max_moves = max_moves
        self._tasks: dict[str, asyncio.Task[None]] = {}

    @property
    def under_way(self) -> int:
        """How many have not come to their end."""
        return len(self._tasks)

    def begin(self, wanted: Iterable[HandOver]) -> None:
        """As many of them as may be under way."""
        for one in wanted:
            if one.app not in self._tasks and len(self._tasks) < self._max_moves:
                self._tasks[one.app] = asyncio.create_task(self._carry_out(one))

    async def cancel(self) -> None:
        """Waits for none of them any more."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _carry_out(self, one: HandOver) -> None:
        log = self._log.bind(unit=unit_label(one.app), to=one.to, reason=one.reason.value)
        try:
            await self._ask(one.app, Command("hand_over", one.to))
            self._metrics.count("lockstep_coordinator_hand_overs_total", reason=one.reason.value)
            log.info("lead handed over")
        except LockstepError as error:
            log.info("lead not handed over yet", error=str(error))
        finally:
            self._tasks.pop(one.app, None)
