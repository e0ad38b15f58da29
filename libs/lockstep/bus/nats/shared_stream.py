"""The streams that belong to no app, `dead` and `ingress`. Nobody deploys them, so whoever connects
makes them, and whoever finds one gone makes it again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

from lockstep.bus.errors import LogGoneError
from lockstep.bus.nats.errors import (
    NOT_THERE,
    ApiError,
    NobodyAnswersError,
)
from lockstep.bus.nats.jetstream import JetStream, StreamConfig, noted, persistently
from lockstep.events import UnavailableError
from lockstep.telemetry import get_logger

T = TypeVar("T")

OWNER: Final = "lockstep-suite"
"""Beside this name a stream's metadata have the id of the suite whose bus it is."""
LOOK_AGAIN_S: Final = 5.0
"""After so long it is asked again whether the stream is there, and it may be made once more."""


class SharedStream:
    """One of them. Errors: UnavailableError, ApiError."""

    def __init__(self, jetstream: JetStream, config: StreamConfig) -> None:
        self._jetstream = jetstream
        self._config = config
        self._looking = asyncio.Lock()
        self._looked_s = float("-inf")
        self._is_there = False
        self._log = get_logger()

    async def make(self) -> None:
        """Makes it, or brings its limits up to date."""
        await self._jetstream.ensure_stream(self._config)

    async def owner(self, suite: str, *, instead_of: str = "") -> str:
        """Whose bus this is; see `lockstep.bus.Bus`. Who cannot note it finds it nobody's."""
        beside = await self._beside()
        found: str = beside.get(OWNER, "")
        if found and found != instead_of:
            return found
        try:
            await self._asked("UPDATE", {**self._config, "metadata": {**beside, OWNER: suite}})
        except UnavailableError as error:  # no majority, or no right to: the next start tries again
            self._log.warning("it is not noted whose bus this is", error=str(error))
            return suite
        # Another one may have come first. Servers before 2.10 note nothing.
        found = (await self._beside()).get(OWNER, suite)
        return found

    async def served(self, call: Callable[[], Awaitable[T]]) -> T:
        """What a call to the stream gives. If it fails because the stream is gone, the stream is
        made again, and the call is made once more."""
        try:
            return await call()
        except (LogGoneError, NobodyAnswersError, ApiError) as error:
            is_odd = isinstance(error, ApiError) and error.code not in NOT_THERE
            if is_odd or not await self._is_there_again():
                raise
        return await call()

    async def _beside(self) -> dict[str, Any]:
        """What people and suites let stand beside the stream."""
        answer = await self._asked("INFO")
        return noted(answer["config"])["metadata"]

    async def _asked(self, what: str, request: StreamConfig | None = None) -> dict[str, Any]:
        endpoint = f"STREAM.{what}.{self._config['name']}"
        return await persistently(
            lambda: self._jetstream.call(endpoint, request), self._jetstream.limits
        )

    async def _is_there_again(self) -> bool:
        """Whoever comes soon after another is told what that one has found."""
        async with self._looking:
            now_s = asyncio.get_running_loop().time()
            if now_s - self._looked_s >= LOOK_AGAIN_S:
                self._looked_s, self._is_there = now_s, False
                self._is_there = await self._found_or_made()
            return self._is_there

    async def _found_or_made(self) -> bool:
        """False while nobody can say whether it is there."""
        name = self._config["name"]
        found = await self._jetstream.is_there(name)
        if found is False:
            await self.make()
            self._log.warning(
                "a stream of the bus was gone and has been made again: what was in it is lost",
                stream=name,
            )
        return found is not None
