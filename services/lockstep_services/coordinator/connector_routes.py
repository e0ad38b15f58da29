"""The routes about an app's sources and sinks: how they are doing, pausing and resuming them."""

from __future__ import annotations

from typing import Annotated, Final, NotRequired, TypedDict

import msgspec
from aiohttp import web

from lockstep.frame.bodies import read_body
from lockstep.frame.openapi import Described
from lockstep_services.coordinator.connectors import ConnectorLine, Connectors, Wanted
from lockstep_services.coordinator.desired import DesiredState
from lockstep_services.coordinator.forward import Forwarder
from lockstep_services.coordinator.versions import who_asks

MAX_WHY: Final = 200


class _Why(msgspec.Struct):
    why: Annotated[str, msgspec.Meta(max_length=MAX_WHY, pattern=r"^[^\x00-\x1f]*$")] = ""


class ConnectorRoutes:
    """Handlers over what is paused and what is told."""

    def __init__(self, connectors: Connectors, desired: DesiredState, forwarder: Forwarder) -> None:
        self._connectors = connectors
        self._desired = desired
        self._forwarder = forwarder

    def add_to(self, router: web.UrlDispatcher) -> None:
        """The paths."""
        write = self._forwarder.by_leader
        router.add_get("/v1/apps/{app}/connectors", self._list)
        router.add_post("/v1/apps/{app}/connectors/pause", write(self._pause))
        router.add_post("/v1/apps/{app}/connectors/resume", write(self._resume))
        router.add_post("/v1/apps/{app}/connectors/{element}/pause", write(self._pause))
        router.add_post("/v1/apps/{app}/connectors/{element}/resume", write(self._resume))

    async def _list(self, request: web.Request) -> web.Response:
        one = await self._desired.get(request.match_info["app"])
        lines = await self._connectors.lines(one)
        return web.json_response({"app": one.app, "connectors": lines})

    async def _pause(self, request: web.Request) -> web.Response:
        app = request.match_info["app"]
        why = (await read_body(request, _Why)).why if request.can_read_body else ""
        wanted = Wanted(who_asks(request), why)
        paused = await self._connectors.pause(app, request.match_info.get("element"), wanted)
        return web.json_response({"app": app, "paused": paused})

    async def _resume(self, request: web.Request) -> web.Response:
        app = request.match_info["app"]
        paused = await self._connectors.resume(app, request.match_info.get("element"))
        return web.json_response({"app": app, "paused": paused})


class ConnectorLines(TypedDict):
    """The sources of an app, and behind them its sinks."""

    app: str
    connectors: list[ConnectorLine]


class PausedElements(TypedDict):
    """What of an app is paused now."""

    app: str
    paused: list[str]


class WhyPaused(TypedDict):
    """At most 200 characters, for who looks at it later; it may be left out."""

    why: NotRequired[str]


_ALL: Final = "/v1/apps/{app}/connectors"
CONNECTORS: Final = (
    Described("GET", _ALL, "How its sources and sinks are doing.", ConnectorLines),
    Described(
        "POST", f"{_ALL}/pause", "Pauses all of them, or keeps them paused.", PausedElements,
        WhyPaused,
    ),
    Described("POST", f"{_ALL}/resume", "Lets all of them go on.", PausedElements),
    Described(
        "POST", f"{_ALL}/{{element}}/pause", "Pauses a source or sink.", PausedElements, WhyPaused
    ),
    Described("POST", f"{_ALL}/{{element}}/resume", "Lets it go on.", PausedElements),
)  # fmt: skip
