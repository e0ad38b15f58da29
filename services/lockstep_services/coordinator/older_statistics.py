"""The older products' routes about statistics: how much is counted, of apps and of the node."""

from __future__ import annotations

import os
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
from aiohttp import web

from lockstep.clock import Clock
from lockstep.control import HeartbeatWatch
from lockstep.frame import HostCpu, Problem
from lockstep.frame.bodies import read_body
from lockstep.frame.callers import may
from lockstep.rights import Permission
from lockstep.telemetry import Level
from lockstep_services.coordinator.desired import DesiredState
from lockstep_services.coordinator.forward import Forwarder
from lockstep_services.coordinator.levels import Levels
from lockstep_services.coordinator.status import summary
from lockstep_services.coordinator.surveying import Survey

DONE_CODE: Final = 4


class _Statistics(msgspec.Struct, rename="camel"):
    stats_enable: bool | Literal["true", "false"]
    enabled_siddhi_stat_level: Literal["OFF", "BASIC", "DETAIL"] = "BASIC"

    @property
    def level(self) -> Level:
        """What is asked for."""
        is_on = self.stats_enable in (True, "true")
        return Level(self.enabled_siddhi_stat_level) if is_on else Level.OFF


class OwnUsage:
    """What this process and its host use; each reading is about the time since the one before."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._host = HostCpu()
        self._at_ms, self._used_s = clock.monotonic_ms(), self._cpu_s()

    def read(self) -> dict[str, float]:
        """In the older products' words; shares of one."""
        now_ms, used_s = self._clock.monotonic_ms(), self._cpu_s()
        passed_s = max(0.001, (now_ms - self._at_ms) / 1_000)
        share = (used_s - self._used_s) / passed_s / (os.cpu_count() or 1)
        self._at_ms, self._used_s = now_ms, used_s
        return {
            "processCPU": round(min(1.0, share), 3),
            "systemCPU": self._host.percent() / 100,
            "loadAverage": round(os.getloadavg()[0], 2),
            "memoryUsage": _memory_share(),
        }

    @staticmethod
    def _cpu_s() -> float:
        used = os.times()
        return used.user + used.system


def _memory_share() -> float:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0.0
    return round(pages / os.sysconf("SC_PHYS_PAGES"), 4)


class OlderStatistics:
    """Handlers."""

    def __init__(
        self,
        desired: DesiredState,
        survey: Survey,
        levels: Levels,
        watch: HeartbeatWatch,
        forwarder: Forwarder,
        clock: Clock,
    ) -> None:
        self._desired = desired
        self._survey = survey
        self._levels = levels
        self._watch = watch
        self._forwarder = forwarder
        self._clock = clock
        self._usage = OwnUsage(clock)

    def add_to(self, router: web.UrlDispatcher) -> None:
        """The paths."""
        write = self._forwarder.by_leader
        router.add_get("/siddhi-apps/statistics", self._of_apps)
        router.add_put("/siddhi-apps/statistics", write(self._put_all))
        router.add_put("/siddhi-apps/{app}/statistics", write(self._put))
        router.add_get("/statistics", self._of_node)
        router.add_put("/statistics", write(self._put_node))

    async def _of_apps(self, request: web.Request) -> web.Response:
        now_ms, levels = self._clock.now_ms(), await self._levels.all()
        apps = [one for one in await self._desired.list() if may(request, Permission.VIEW, one.app)]
        placements = await self._desired.placements()
        units = [await self._survey.units(one, placements) for one in apps]
        found = [
            {
                "appName": one.app,
                "status": summary(one, of_one, self._watch.groups(one.app)),
                "age": now_ms - one.life.deployed_ms,
                "isStatEnabled": levels.get(one.app) is not Level.OFF,
                "enabledSiddhiStatLevel": levels.get(one.app, Level.BASIC),
            }
            for one, of_one in zip(apps, units, strict=True)
        ]
        wanted = request.query.get("isActive")
        if wanted is not None:
            is_active = wanted.lower() == "true"
            found = [each for each in found if (each["status"] == "active") == is_active]
        if not found:
            raise Problem(HTTPStatus.NOT_FOUND, "no app is deployed")
        return web.json_response(found)

    async def _put(self, request: web.Request) -> web.Response:
        app = (await self._desired.get(request.match_info["app"])).app
        body = await read_body(request, _Statistics)
        await self._levels.put(app, body.level)
        return _done(f"Successfully updated Siddhi App : {app}")

    async def _put_all(self, request: web.Request) -> web.Response:
        level = (await read_body(request, _Statistics)).level
        return _done(f"All {await self._all_to(level)} Siddhi Apps are at level {level}")

    async def _put_node(self, request: web.Request) -> web.Response:
        level = (await read_body(request, _Statistics)).level
        await self._all_to(level)
        words = "disabled" if level is Level.OFF else "enabled"
        message = f"Successfully {words} the metrics"
        return web.json_response({"code": DONE_CODE, "type": "ok", "message": message})

    async def _all_to(self, level: Level) -> int:
        apps = await self._desired.list()
        for one in apps:
            await self._levels.put(one.app, level)
        return len(apps)

    async def _of_node(self, _request: web.Request) -> web.Response:
        levels = await self._levels.all()
        apps = await self._desired.list()
        replicas = [one for app in apps for _, one in self._watch.groups(app.app)]
        body: dict[str, Any] = {
            "workerMetrics": self._usage.read(),
            "runningStatus": "Reachable",
            "isStatsEnabled": any(level is not Level.OFF for level in levels.values()),
            "clusterID": "lockstep",
            "lastSyncTime": "n/a",
            "lastSnapshotTime": "n/a",
            "isInSync": all(one.ready for one in replicas),
            "message": "",
        }
        return web.json_response(body)


def _done(message: str) -> web.Response:
    return web.json_response({"type": "success", "message": message})
