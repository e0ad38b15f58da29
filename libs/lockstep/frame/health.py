"""Readiness: each thing that can be unwell registers its own check, so `/readyz` writes itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from lockstep.events import LockstepError
from lockstep.telemetry import Logger, get_logger

Check = Callable[[], Awaitable[str | None]]
"""None when well, else the reason in a few words."""

CHECK_TIMEOUT_MS: Final = 2_000


class Readiness:
    """All checks of a process by name. A check that raises or is too slow counts as unwell."""

    def __init__(self, log: Logger | None = None) -> None:
        self._log = log or get_logger()
        self._broken: set[str] = set()
        """Checks that failed for no reason of ours, and have said so in the log."""
        self._checks: dict[str, Check] = {}
        self._spared: dict[str, Check] = {}
        self._refusing: str | None = "starting"

    def register(self, name: str, check: Check) -> None:
        """Adds a check; a later one of the same name replaces it."""
        self._checks[name] = check

    def spare(self, name: str, check: Check) -> None:
        """Adds a check that counts only if somebody says `need`."""
        self._spared[name] = check

    def need(self, names: Iterable[str]) -> None:
        """Those of the spared checks count from now on."""
        for name in names:
            self._checks[name] = self._spared[name]

    def open(self) -> None:
        """The service takes work from now on."""
        self._refusing = None

    def refuse(self, reason: str) -> None:
        """Not ready whatever the checks say, for example while draining."""
        self._refusing = reason

    async def report(self) -> dict[str, str | None]:
        """Reason by check name; ready when all are None."""
        names = list(self._checks)
        answers = await asyncio.gather(*(self._ask(name) for name in names))
        return {"service": self._refusing, **dict(zip(names, answers, strict=True))}

    async def _ask(self, name: str) -> str | None:
        try:
            async with asyncio.timeout(CHECK_TIMEOUT_MS / 1000):
                answer = await self._checks[name]()
        except TimeoutError:
            return f"no answer within {CHECK_TIMEOUT_MS} ms"
        except LockstepError as error:
            return str(error)
        except Exception as error:  # a fault in a check must not hide what the others say
            if name not in self._broken:  # whoever asks does so every few seconds
                self._broken.add(name)
                self._log.exception("a check of readiness failed", check=name)
            # Its kind alone: what is no error of ours may repeat a secret.
            return f"the check failed: {type(error).__name__}; the log has more of it"
        self._broken.discard(name)
        return answer


def answering(healthy: Callable[[], Awaitable[bool]], what: str) -> Check:
    """A check from a `healthy()` method."""

    async def check() -> str | None:
        return None if await healthy() else f"{what} does not answer"

    return check
