"""Apps that something stands in the way of: a text that a newer release does not accept any more, a
log that does not answer or cannot be made. No other app waits for one of them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Final, TypeVar

from lockstep.clock import Clock
from lockstep.events import Life, LockstepError
from lockstep.store import Deployment
from lockstep.telemetry import Logger

AGAIN_MS: Final = 1_000
AGAIN_MAX_MS: Final = 30_000
"""What has failed is tried again after a while, which doubles: a log that does not answer takes
seconds of the round each time, and all other apps wait meanwhile."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Trouble:
    life: Life
    reason: str
    pause_ms: int
    again_ms: int


class Troubles:
    """Of all apps, by what was tried for them."""

    def __init__(self, clock: Clock, log: Logger) -> None:
        self._clock = clock
        self._log = log
        self._known: dict[tuple[str, str], _Trouble] = {}

    async def attempt(
        self,
        one: Deployment,
        what: str,
        work: Callable[[], Awaitable[T]],
        otherwise: Callable[[], T],
    ) -> T:
        """What the work gives; that of `otherwise` where it has failed, or did a moment ago. Each
        reason is logged once."""
        key = (one.app, what)
        known = self._known.get(key)
        if known is not None and known.life != one.life:
            known = None  # another text may do
        if known is not None and self._clock.monotonic_ms() < known.again_ms:
            return otherwise()
        try:
            found = await work()
        except LockstepError as error:
            self._note(one, key, known, str(error))
            return otherwise()
        self._known.pop(key, None)
        return found

    def of(self, one: Deployment) -> str | None:
        """What stands in its way, for people."""
        found = (
            trouble.reason
            for (app, _), trouble in self._known.items()
            if app == one.app and trouble.life == one.life
        )
        return "; ".join(dict.fromkeys(found)) or None

    def keep(self, apps: Collection[str]) -> None:
        """Forgets all others: they are not deployed any more."""
        self._known = {key: one for key, one in self._known.items() if key[0] in apps}

    def _note(
        self, one: Deployment, key: tuple[str, str], known: _Trouble | None, reason: str
    ) -> None:
        is_new = all(
            (app, trouble.life, trouble.reason) != (one.app, one.life, reason)
            for (app, _), trouble in self._known.items()
        )
        pause_ms = AGAIN_MS if known is None else min(AGAIN_MAX_MS, 2 * known.pause_ms)
        again_ms = self._clock.monotonic_ms() + pause_ms
        self._known[key] = _Trouble(one.life, reason, pause_ms, again_ms)
        if is_new:
            self._log.error("an app is left as it is placed", app=one.app, error=reason)
