"""The older products' routes about the cluster: managers, workers, and what runs where."""

from __future__ import annotations

import platform
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

from aiohttp import web

from lockstep.bus import input_subject, output_subject
from lockstep.control import (
    GroupStatus,
    Heartbeat,
    HeartbeatWatch,
    group_and_layout,
    log_of,
    place_of,
)
from lockstep.frame import LeaseKeeper, Problem
from lockstep.frame.callers import may
from lockstep.rights import Permission
from lockstep_services.coordinator.desired import DesiredState
from lockstep_services.coordinator.elements import elements_of
from lockstep_services.coordinator.surveying import Survey

GROUP: Final = "lockstep"


class OlderCluster:
    """Handlers."""

    def __init__(
        self, desired: DesiredState, survey: Survey, watch: HeartbeatWatch, keeper: LeaseKeeper,
        node: str,
    ) -> None:  # fmt: skip
        self._desired = desired
        self._survey = survey
        self._watch = watch
        self._keeper = keeper
        self._node = node

    def add_to(self, router: web.UrlDispatcher) -> None:
        """The paths."""
        router.add_get("/siddhi-apps/{app}/elements", self._elements)
        router.add_get("/system-details", self._system)
        router.add_get("/nodeDetails/runTime", self._profile)
        router.add_get("/managers", self._manager)
        router.add_get("/managers/isActive", self._is_active)
        router.add_get("/managers/roles", self._roles)
        router.add_get("/managers/siddhi-apps", self._parts)
        router.add_get("/managers/siddhi-apps/{app}", self._text)
        router.add_get("/managers/siddhi-apps-execution/{app}", self._parts_of)
        router.add_get("/managers/kafkaDetails/{app}", self._topics_of)
        router.add_get("/resourceClusterWorkers", self._count)
        router.add_get("/resourceClusterWorkers/clusteredWorkerNodeDetails", self._workers)

    async def _elements(self, request: web.Request) -> web.Response:
        one = await self._desired.get(request.match_info["app"])
        return web.json_response(elements_of(await self._desired.plan(one.text, runs=True)))

    async def _system(self, _request: web.Request) -> web.Response:
        body = {
            "carbonId": self._node,
            "runtime": f"Python {platform.python_version()}",
            "osName": platform.system(),
            "osVersion": platform.release(),
            "osArchitecture": platform.machine(),
        }
        return web.json_response(body)

    async def _profile(self, _request: web.Request) -> web.Response:
        return web.Response(text="manager")

    async def _manager(self, _request: web.Request) -> web.Response:
        state = "Active" if self._keeper.held else "Passive"
        return web.json_response({"groupId": GROUP, "haStatus": state, "nodeId": self._node})

    async def _is_active(self, _request: web.Request) -> web.Response:
        if not self._keeper.held:
            raise Problem(HTTPStatus.NOT_FOUND, "another coordinator leads")
        return web.Response(text="Active")

    async def _roles(self, request: web.Request) -> web.Response:
        """Of the older products' two: a manager changes apps, a viewer looks at them."""
        is_viewer = request.query.get("permissionSuffix", "").endswith("viewer")
        wanted = Permission.VIEW if is_viewer else Permission.DEPLOY
        return web.json_response({"isAuthorized": may(request, wanted)})

    async def _parts(self, request: web.Request) -> web.Response:
        apps = await self._desired.list()
        apps = [one for one in apps if may(request, Permission.VIEW, one.app)]
        return web.json_response([part for one in apps for part in await self._units(one.app)])

    async def _parts_of(self, request: web.Request) -> web.Response:
        app = (await self._desired.get(request.match_info["app"])).app
        return web.json_response(await self._units(app))

    async def _text(self, request: web.Request) -> web.Response:
        known = {one.app: one.text for one in await self._desired.list()}
        text = known.get(request.match_info["app"])
        return web.Response(status=204) if text is None else web.Response(text=text)

    async def _topics_of(self, request: web.Request) -> web.Response:
        one = await self._desired.get(request.match_info["app"])
        found = []
        for part in await self._units(one.app):
            log = replace(place_of(part["unit"]), since_ms=log_of(one).since_ms)
            found.append(
                {
                    "appName": part["appName"],
                    "siddhiApp": one.text,
                    "deployedHost": part["host"],
                    "deployedPort": part["port"],
                    "sourceList": [input_subject(log_of(one))],
                    "sinkList": [output_subject(log)],
                }
            )
        return web.json_response(found)

    async def _count(self, _request: web.Request) -> web.Response:
        workers = self._watch.alive("processor")
        return web.json_response(len(workers)) if workers else web.Response(status=204)

    async def _workers(self, _request: web.Request) -> web.Response:
        found = []
        for beat in self._watch.alive("processor"):
            host, port = _address(beat)
            found.append({"https_host": host, "https_port": port, "nodeId": beat.node})
        return web.json_response(found)

    async def _units(self, app: str) -> list[dict[str, Any]]:
        """The app's units in the words of partial apps; the leader of each where it has one."""
        one = await self._desired.get(app)
        replicas = self._watch.groups(app)
        found = []
        for unit in await self._survey.units(one, await self._desired.placements()):
            place = place_of(unit)
            at = (place.group, place.partition)
            mine = [each for each in replicas if (each[1].group, each[1].partition) == at]
            group = group_and_layout(place.group)[0]
            found.append({"unit": unit, **_part(app, group, place.partition, one.text, mine)})
        return found


def _part(
    app: str, group: str, partition: int, text: str, replicas: list[tuple[Heartbeat, GroupStatus]]
) -> dict[str, Any]:
    led = next((beat for beat, one in replicas if one.leads), None)
    host, port = ("", 0) if led is None else _address(led)
    return {
        "parentAppName": app,
        "appName": f"{app}-{group}-{partition + 1}",
        "groupName": group,
        "siddhiApp": text,
        "id": "" if led is None else led.node,
        "state": "EXISTS" if led else "NEW",
        "appStatus": "active" if led else "waiting",
        "host": host,
        "port": port,
        "failedPingAttempts": 0,
        "lastPingTimestamp": 0 if led is None else led.sent_ms,
    }


def _address(beat: Heartbeat) -> tuple[str, int]:
    url = urlsplit(beat.url)
    return url.hostname or "", url.port or 0
