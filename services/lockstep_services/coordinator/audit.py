"""The audit log over REST, and how long it is kept."""

from __future__ import annotations

from dataclasses import asdict
from typing import Final

from aiohttp import web

from lockstep.clock import Clock
from lockstep.events import UnavailableError
from lockstep.settings import RightsSettings
from lockstep.store import Audit
from lockstep.telemetry import Logger
from lockstep_services.coordinator.error_store import number

DEFAULT_ENTRIES: Final = 100
MAX_ENTRIES: Final = 1_000
TRIM_MS: Final = 600_000


class AuditRoutes:
    """Handlers over the store's audit log."""

    def __init__(self, audit: Audit, clock: Clock, settings: RightsSettings, log: Logger) -> None:
        self._audit = audit
        self._clock = clock
        self._keep_ms = settings.audit_keep_ms
        self._log = log

    def add_to(self, router: web.UrlDispatcher) -> None:
        """The paths."""
        router.add_get("/v1/audit", self._read)

    async def _read(self, request: web.Request) -> web.Response:
        limit = number(request, "limit") or DEFAULT_ENTRIES
        found = await self._audit.read(
            before=number(request, "before"),
            limit=min(limit, MAX_ENTRIES),
            app=request.query.get("app"),
            who=request.query.get("who"),
        )
        return web.json_response({"entries": [asdict(one) for one in found]})

    async def run(self) -> None:
        """Takes away what is older than it is kept. Every coordinator may: twice does no harm."""
        while True:
            try:
                gone = await self._audit.trim(self._clock.now_ms() - self._keep_ms)
                if gone:
                    self._log.info("removed old entries of the audit log", entries=gone)
            except UnavailableError as error:
                self._log.warning("cannot trim the audit log", error=str(error))
            await self._clock.sleep_ms(TRIM_MS)
