"""Writes the audit log: changes before they are answered, refusals soon after."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

from aiohttp import web

from lockstep.clock import Clock
from lockstep.events import UnavailableError
from lockstep.rights.audit import NOBODY, AuditEntry, Strangers
from lockstep.settings import RightsSettings
from lockstep.store import Audit
from lockstep.telemetry import Logger, Metrics

BATCH: Final = 500
EVERY_MS: Final = 500
_NOTE: Final[web.RequestKey[str]] = web.RequestKey("lockstep.audit.note")


def add_to_note(request: web.Request, about: str) -> None:
    """A handler says what the path does not: it stands behind the path in the audit log."""
    request[_NOTE] = about


def added_note(request: web.Request) -> str:
    """Empty where no handler said anything."""
    found: str = request.get(_NOTE, "")
    return found


class AuditTrail:
    """Of one process. What the store does not take waits, up to `rights.audit_max_waiting`; what is
    over that is counted, and said in the log."""

    def __init__(
        self,
        audit: Audit,
        clock: Clock,
        settings: RightsSettings,
        metrics: Metrics,
        log: Logger,
    ) -> None:
        self._audit = audit
        self._clock = clock
        self._max_waiting = settings.audit_max_waiting
        self._metrics = metrics
        self._log = log
        self._waiting: deque[AuditEntry] = deque()
        self._strangers = Strangers()
        self._is_waiting = False

    async def note(self, entry: AuditEntry, *, now: bool, address: str) -> None:
        """`now`: it is in the store when this returns, if the store can be reached. Of what
        strangers were refused a part is noted one by one, and the rest counted in one entry.
        `address`: of who asked, see `Callers.address_of`."""
        if entry.who == NOBODY:
            self._add_left_out()
            if not self._strangers.take(entry, address):
                return
        self._add(entry)
        if now:
            await self.flush()

    def _add_left_out(self, *, is_end: bool = False) -> None:
        counted = self._strangers.told(self._clock.now_ms(), is_end=is_end)
        if counted is not None:
            self._add(counted)

    def _add(self, entry: AuditEntry) -> None:
        if len(self._waiting) >= self._max_waiting:
            self._metrics.count("lockstep_audit_lost_total")
            self._log.error("the audit log cannot be written", who=entry.who, route=entry.route)
            return
        self._waiting.append(entry)

    async def flush(self) -> None:
        """Writes what waits, as far as the store takes it."""
        while self._waiting:
            batch: Sequence[AuditEntry] = [
                self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))
            ]
            try:
                await self._audit.append(batch)
            except BaseException as error:
                self._waiting.extendleft(reversed(batch))
                if not isinstance(error, UnavailableError):
                    raise
                self._told(error)
                return
            self._told(None)

    def _told(self, error: UnavailableError | None) -> None:
        """Once when it begins to wait, and once when that is over: it is tried twice a second."""
        if (error is not None) == self._is_waiting:
            return
        self._is_waiting = error is not None
        if error is None:
            self._log.info("the audit log is written again")
        else:
            waiting = len(self._waiting)
            self._log.warning(
                "the audit log waits for the store", entries=waiting, error=str(error)
            )

    async def run(self) -> None:
        """For refusals, of which there may be many. At the end the rest is written."""
        try:
            while True:
                await self._clock.sleep_ms(EVERY_MS)
                self._add_left_out()
                await self.flush()
        finally:
            self._add_left_out(is_end=True)
            await self.flush()
