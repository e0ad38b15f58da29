"""How apps were doing, over REST: series of figures, and who took a lead from whom."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from typing import Any, Final

import msgspec
from aiohttp import web

from lockstep.clock import Clock
from lockstep.control import group_and_layout, label_of
from lockstep.frame import Problem
from lockstep.frame.callers import may, require
from lockstep.frame.offload import Offload
from lockstep.rights import Permission
from lockstep.settings import CoordinatorSettings
from lockstep.store import Failover, FigureRow, Grain, Store
from lockstep_services.coordinator.error_store import number
from lockstep_services.coordinator.series import Steps, grain_of, spans_of, steps_of, told

DEFAULT_SPAN_MS: Final = 3_600_000
DEFAULT_POINTS: Final = 300
DEFAULT_FAILOVERS: Final = 100
MAX_FAILOVERS: Final = 1_000


class FigureRoutes:
    """Handlers over the store; every coordinator answers."""

    def __init__(
        self, store: Store, clock: Clock, settings: CoordinatorSettings, offload: Offload
    ) -> None:
        self._store = store
        self._clock = clock
        self._settings = settings
        self._offload = offload

    def add_to(self, router: web.UrlDispatcher) -> None:
        """The paths."""
        router.add_get("/v1/apps/{app}/figures", self._figures)
        router.add_get("/v1/apps/{app}/failovers", self._failovers_of_app)
        router.add_get("/v1/failovers", self._failovers)

    async def _figures(self, request: web.Request) -> web.Response:
        app, settings, now_ms = request.match_info["app"], self._settings, self._clock.now_ms()
        from_ms, to_ms = _span(request, now_ms, DEFAULT_SPAN_MS)
        points = number(request, "points")
        points = DEFAULT_POINTS if points is None else points
        if not 1 <= points <= settings.figures_max_points:
            raise Problem(
                HTTPStatus.BAD_REQUEST,
                f"points: expected 1 to {settings.figures_max_points}, got {points}",
            )
        steps = steps_of(from_ms, to_ms, points, settings.figures_every_ms)
        coarse_ms = settings.figures_coarse_every_ms
        grain = grain_of(from_ms, now_ms, steps.step_ms, coarse_ms, settings.figures_keep_ms)
        if grain is Grain.COARSE and steps.step_ms < coarse_ms:
            steps = steps_of(from_ms, to_ms, points, coarse_ms)
        rows = await self._rows(app, grain, steps, to_ms)
        if not rows:
            await self._is_known(app)
        spans = await self._offload.run(partial(spans_of, rows, steps))
        answer: dict[str, Any] = {
            "app": app, "from_ms": from_ms, "to_ms": to_ms, "grain": grain.value,
            **told(spans, steps),
        }  # fmt: skip
        return web.Response(body=msgspec.json.encode(answer), content_type="application/json")

    async def _rows(self, app: str, grain: Grain, steps: Steps, to_ms: int) -> list[FigureRow]:
        """What is not yet made coarse is taken from the fine ones."""
        figures, from_ms = self._store.figures, steps.first_ms
        found = list(await figures.read(grain, [app], from_ms, to_ms))
        if grain is Grain.COARSE:
            if found:
                from_ms = found[-1].at_ms + self._settings.figures_coarse_every_ms
            found += await figures.read(Grain.FINE, [app], from_ms, to_ms)
        return found

    async def _is_known(self, app: str) -> None:
        """Problem 404 for an app that is not deployed and of which nothing was kept."""
        if await self._store.deployments.get(app) is None:
            raise Problem(
                HTTPStatus.NOT_FOUND, f"no app named '{app}' is deployed",
                hint="of an undeployed app there are figures as long as they are kept",
            )  # fmt: skip

    async def _failovers_of_app(self, request: web.Request) -> web.Response:
        return await self._answer(request, request.match_info["app"])

    async def _failovers(self, request: web.Request) -> web.Response:
        app = request.query.get("app")
        if app is not None:
            require(request, Permission.VIEW, app)
        return await self._answer(request, app)

    async def _answer(self, request: web.Request, app: str | None) -> web.Response:
        now_ms = self._clock.now_ms()
        from_ms, to_ms = _span(request, now_ms, now_ms)
        limit = min(number(request, "limit") or DEFAULT_FAILOVERS, MAX_FAILOVERS)
        found, more = await self._seen(request, app, from_ms, to_ms, limit)
        lines = [failover_json(one) for one in found]
        return web.json_response({"failovers": lines, "more": more})

    async def _seen(
        self, request: web.Request, app: str | None, from_ms: int, to_ms: int, limit: int
    ) -> tuple[list[Failover], bool]:
        """Of the apps that the caller may view, and whether there are more. It reads a page at a
        time: others' failovers may stand between them."""
        seen: dict[tuple[object, ...], Failover] = {}
        while True:
            page = await self._store.failovers.read(from_ms, to_ms, limit=MAX_FAILOVERS, app=app)
            for one in page:
                if may(request, Permission.VIEW, one.app):
                    seen.setdefault((one.unit, one.term), one)
            if len(seen) > limit or len(page) < MAX_FAILOVERS:
                return list(seen.values())[:limit], len(seen) > limit
            # Of one moment there may be more than were read; those of a whole page are not skipped.
            last_ms = page[-1].at_ms
            to_ms = last_ms + 1 if page[0].at_ms > last_ms else last_ms


def _span(request: web.Request, now_ms: int, length_ms: int) -> tuple[int, int]:
    """Of the query, `from` and `to`; Problem 400."""
    to_ms, from_ms = number(request, "to"), number(request, "from")
    to_ms = now_ms if to_ms is None else to_ms
    from_ms = max(0, to_ms - length_ms) if from_ms is None else from_ms
    if from_ms >= to_ms:
        raise Problem(
            HTTPStatus.BAD_REQUEST, f"from ({from_ms}) is not before to ({to_ms})",
            hint="both are milliseconds since 1970; without them it is the time up to now",
        )  # fmt: skip
    return from_ms, to_ms


def failover_json(one: Failover) -> dict[str, Any]:
    """One of them."""
    group, layout = group_and_layout(one.group)
    return {
        "app": one.app,
        "unit": label_of(one.app, one.group, one.partition),
        "group": group,
        "partition": one.partition,
        "layout": layout,
        "at_ms": one.at_ms,
        "from_node": one.from_node,
        "to_node": one.to_node,
        "epoch": one.epoch,
        "planned": one.planned,
        "why": one.why,
        "gap_ms": one.gap_ms,
    }
