"""What people want of an app's archive over REST: rows of it forgotten, for good."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

import msgspec
from aiohttp import web

from lockstep.bus import Bus
from lockstep.control import Erased, Erasure, erasure_subject
from lockstep.events import UnavailableError
from lockstep.frame import Problem
from lockstep_services.coordinator.api import read_body
from lockstep_services.coordinator.desired import DesiredState

ERASING_TIMEOUT_MS: Final = 25_000


class ArchiveRoutes:
    """Handlers; the publisher that writes the archive does the work."""

    def __init__(self, bus: Bus, desired: DesiredState) -> None:
        self._bus = bus
        self._desired = desired

    def add_to(self, router: web.UrlDispatcher) -> None:
        """The paths."""
        router.add_post("/v1/apps/{app}/archive/erase", self._erase)

    async def _erase(self, request: web.Request) -> web.Response:
        wanted = await read_body(request, Erasure)
        app = (await self._desired.get(request.match_info["app"])).app
        if not wanted.where.strip():
            raise Problem(HTTPStatus.BAD_REQUEST, "which rows?", hint="where: \"user = 'bob'\"")
        try:
            raw = await self._bus.topics.request(
                erasure_subject(app), msgspec.json.encode(wanted), timeout_ms=ERASING_TIMEOUT_MS
            )
        except UnavailableError as error:
            raise Problem(
                HTTPStatus.SERVICE_UNAVAILABLE,
                f"nobody said that the rows of '{app}' are gone",
                hint="the app may have no archive, or this takes longer; erasing again does no "
                "harm",
                retry_after_ms=1_000,
            ) from error
        answer = msgspec.json.decode(raw, type=Erased)
        if answer.error is not None:
            status = HTTPStatus.BAD_REQUEST if answer.user_error else HTTPStatus.SERVICE_UNAVAILABLE
            raise Problem(status, answer.error)
        return web.json_response({"app": app, "rows": answer.rows})
