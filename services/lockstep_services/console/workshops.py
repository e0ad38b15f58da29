"""The processes in which people's texts are tried: one is kept ready, no more than a set number."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from lockstep.events import LockstepError
from lockstep.settings import ConsoleSettings
from lockstep.testing.workshop import Limits, Workshop, WorkshopError


class Workshops:
    """A workshop for each page that tries a text, and one that explains plans."""

    def __init__(self, settings: ConsoleSettings) -> None:
        self._most = settings.max_workshops
        self._limits = Limits(
            settings.workshop_memory_bytes,
            settings.workshop_cpu_s,
            settings.workshop_answer_ms / 1_000,
        )
        self._taken: set[Workshop] = set()
        self._awaited = 0
        """How many are taken as soon as their process is ready: they have their places already."""

        self._spare: asyncio.Task[Workshop] | None = None
        self._explainer: Workshop | None = None
        self._explaining = asyncio.Lock()

    def warm(self) -> None:
        """Has one ready before somebody needs it."""
        if self._spare is None:
            self._spare = asyncio.create_task(Workshop.open(self._limits))

    async def take(self) -> Workshop:
        """One for a page, to be given back. WorkshopError when too many are in use."""
        self._taken = {one for one in self._taken if one.is_open}
        if len(self._taken) + self._awaited >= self._most:
            raise WorkshopError(
                f"{self._most} people try texts on this console already",
                hint="try again in a while, or raise console.max_workshops",
            )
        self.warm()
        assert self._spare is not None
        spare, self._spare = self._spare, None
        self._awaited += 1
        try:
            made = await spare
        finally:
            self._awaited -= 1
        self._taken.add(made)
        self.warm()
        return made

    async def give_back(self, workshop: Workshop) -> None:
        """Ends it."""
        self._taken.discard(workshop)
        await workshop.close()

    async def explain(self, text: str) -> dict[str, Any]:
        """The plan of a text. LockstepError when that takes too much."""
        async with self._explaining:
            if self._explainer is None or not self._explainer.is_open:
                self._explainer = await Workshop.open(self._limits)
            return await self._explainer.ask({"do": "explain", "text": text})

    async def close(self) -> None:
        """Ends all."""
        for one in (*self._taken, self._explainer):
            if one is not None:
                await one.close()
        if self._spare is not None:
            with contextlib.suppress(LockstepError):
                await (await self._spare).close()
