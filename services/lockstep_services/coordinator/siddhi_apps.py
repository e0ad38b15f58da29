"""The routes of the older products' workers and managers: /siddhi-apps and its family."""

from __future__ import annotations

from http import HTTPStatus

from aiohttp import web

from lockstep.control import HeartbeatWatch
from lockstep.frame import Problem
from lockstep.frame.bodies import raw_body
from lockstep.frame.callers import may
from lockstep.rights import Permission
from lockstep.siddhiql import SiddhiQLError
from lockstep.store import Deployment
from lockstep_services.coordinator.api import may_deploy
from lockstep_services.coordinator.desired import DesiredState
from lockstep_services.coordinator.forward import Forwarder
from lockstep_services.coordinator.restoring import Restoring
from lockstep_services.coordinator.status import summary
from lockstep_services.coordinator.surveying import Survey
from lockstep_services.coordinator.versions import who_asks

INVALID_CODE = 800101


class SiddhiApps:
    """Handlers in the older products' words."""

    def __init__(
        self,
        desired: DesiredState,
        survey: Survey,
        watch: HeartbeatWatch,
        forwarder: Forwarder,
        restoring: Restoring,
    ) -> None:
        self._desired = desired
        self._survey = survey
        self._watch = watch
        self._forwarder = forwarder
        self._restoring = restoring

    def add_to(self, router: web.UrlDispatcher) -> None:
        """The paths."""
        write = self._forwarder.by_leader
        router.add_post("/siddhi-apps", write(self._create))
        router.add_put("/siddhi-apps", write(self._replace))
        router.add_get("/siddhi-apps", self._list)
        router.add_delete("/siddhi-apps/revisions", write(self._delete_all_revisions))
        router.add_get("/siddhi-apps/{app}", self._get)
        router.add_delete("/siddhi-apps/{app}", write(self._delete))
        router.add_get("/siddhi-apps/{app}/status", self._status)
        router.add_post("/siddhi-apps/{app}/backup", self._backup)
        router.add_post("/siddhi-apps/{app}/restore", write(self._restore))
        router.add_delete("/siddhi-apps/{app}/revisions", write(self._delete_revisions))

    async def _create(self, request: web.Request) -> web.Response:
        text = await _text(request)
        try:
            plan = await self._desired.plan(text)
        except SiddhiQLError as error:
            return _invalid(error)
        may_deploy(request, plan)
        name = plan.name
        known = {one.app for one in await self._desired.list()}
        if name in known:
            message = f"There is a Siddhi App already exists with same name: {name}"
            return web.json_response({"type": "conflict", "message": message}, status=409)
        await self._desired.deploy(text, {}, who=who_asks(request))
        return _stored(name, created=True)

    async def _replace(self, request: web.Request) -> web.Response:
        text = await _text(request)
        try:
            may_deploy(request, await self._desired.plan(text))
            found = await self._desired.deploy(text, {}, who=who_asks(request))
        except SiddhiQLError as error:
            return _invalid(error)
        return _stored(found.deployment.app, created=found.created)

    async def _list(self, request: web.Request) -> web.Response:
        wanted = request.query.get("isActive")
        apps = [one for one in await self._desired.list() if may(request, Permission.VIEW, one.app)]
        if wanted is not None:
            active = wanted.lower() == "true"
            apps = [one for one in apps if (await self._state(one) == "active") == active]
        return web.json_response([one.app for one in apps])

    async def _get(self, request: web.Request) -> web.Response:
        one = await self._desired.get(request.match_info["app"])
        return web.json_response({"content": one.text})

    async def _delete(self, request: web.Request) -> web.Response:
        app = request.match_info["app"]
        if not await self._desired.undeploy(app, purge=False):
            message = f"There is no Siddhi App exist with provided name : {app}"
            return web.json_response({"type": "not found", "message": message}, status=404)
        return web.Response(status=200)

    async def _status(self, request: web.Request) -> web.Response:
        one = await self._desired.get(request.match_info["app"])
        return web.json_response({"status": await self._state(one)})

    async def _backup(self, request: web.Request) -> web.Response:
        taken = await self._restoring.snapshot(request.match_info["app"])
        return web.json_response({"revision": taken}, status=201)

    async def _restore(self, request: web.Request) -> web.Response:
        app = (await self._desired.get(request.match_info["app"])).app
        outcome = await self._restoring.restore(app, request.query.get("revision"))
        message = f"Siddhi App: {app} is restored to revision {outcome.revision}"
        if not outcome.done:
            message = f"Siddhi App: {app} will be restored to revision {outcome.revision}"
        body = {"type": "success", "message": message}
        return web.json_response(body, status=200 if outcome.done else 202)

    async def _delete_revisions(self, request: web.Request) -> web.Response:
        _refuse_redeployment(request)
        app = request.match_info["app"]
        outcome = await self._restoring.delete_all(app)
        message = f"{len(outcome.deleted)} revisions of Siddhi App: {app} are deleted"
        return web.json_response({"type": "success", "message": message})

    async def _delete_all_revisions(self, request: web.Request) -> web.Response:
        _refuse_redeployment(request)
        apps = [one.app for one in await self._desired.list()]
        gone = [len((await self._restoring.delete_all(app)).deleted) for app in apps]
        message = f"{sum(gone)} revisions of {len(apps)} Siddhi Apps are deleted"
        return web.json_response({"type": "success", "message": message})

    async def _state(self, one: Deployment) -> str:
        units = await self._survey.units(one, await self._desired.placements())
        return summary(one, units, self._watch.groups(one.app))


def _refuse_redeployment(request: web.Request) -> None:
    """The older product then begins again without state, unless told otherwise."""
    if request.query.get("enabledRedeployment", "true").lower() != "false":
        raise Problem(
            HTTPStatus.CONFLICT,
            "an app is not begun again without its state here",
            hint="add ?enabledRedeployment=false to delete the revisions that nobody needs;"
            " to begin without state, DELETE /v1/apps/<app>?purge=true and deploy again",
        )


async def _text(request: web.Request) -> str:
    try:
        return (await raw_body(request)).decode()
    except UnicodeDecodeError as error:
        raise Problem(HTTPStatus.BAD_REQUEST, "the app text is not UTF-8") from error


def _invalid(error: SiddhiQLError) -> web.Response:
    body = {
        "type": "validation error",
        "code": INVALID_CODE,
        "message": str(error),
        "line": error.line,
        "column": error.column,
    }
    return web.json_response(body, status=400)


def _stored(app: str, *, created: bool) -> web.Response:
    message = "Siddhi App saved successfully and will be deployed in next deployment cycle"
    if not created:
        message = "Siddhi App updated successfully and will be deployed in next deployment cycle"
    return web.json_response(
        {"type": "success", "message": message},
        status=201 if created else 200,
        headers={"Location": f"/siddhi-apps/{app}"},
    )
