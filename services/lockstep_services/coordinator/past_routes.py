"""The past of an app over REST: how far it is folded, and calling it off."""

from __future__ import annotations

from typing import Final

import msgspec
from aiohttp import web

from lockstep_services.coordinator.calling_off import CallingOff
from lockstep_services.coordinator.forward import Forwarder
from lockstep_services.coordinator.versions import who_asks

CALLED_OFF: Final = "it was called off"


class PastRoutes:
    """Handlers; asking goes to the coordinator that leads as well, as it knows what has failed."""

    def __init__(self, calling_off: CallingOff, forwarder: Forwarder) -> None:
        self._calling_off = calling_off
        self._forwarder = forwarder

    def add_to(self, router: web.UrlDispatcher) -> None:
        """The paths."""
        by_leader = self._forwarder.by_leader
        router.add_get("/v1/apps/{app}/past", by_leader(self._get))
        router.add_delete("/v1/apps/{app}/past", by_leader(self._call_off))

    async def _get(self, request: web.Request) -> web.Response:
        app = request.match_info["app"]
        found = await self._calling_off.status(app)
        return web.json_response({"app": app, **msgspec.structs.asdict(found)})

    async def _call_off(self, request: web.Request) -> web.Response:
        app = request.match_info["app"]
        who = who_asks(request)
        goes_on = await self._calling_off.call_off(app, CALLED_OFF, purge=True, who=who)
        return web.json_response({"app": app, "goes_on": goes_on})
