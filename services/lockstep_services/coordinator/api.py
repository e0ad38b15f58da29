"""The coordinator's own routes under /v1: apps, validation, status, commands."""

from __future__ import annotations

from dataclasses import asdict
from http import HTTPStatus
from typing import Annotated, Any, Literal

import msgspec
from aiohttp import web

from lockstep.bus import Bus
from lockstep.control import Command, CommandAnswer, HeartbeatWatch, command_subject, unit_label
from lockstep.events import Fault, UnavailableError
from lockstep.events.typed import from_json
from lockstep.frame import Problem
from lockstep.frame.bodies import read_body
from lockstep.frame.callers import may, require
from lockstep.plan import AppPlan
from lockstep.plan.fleet import KEY_GROUPS
from lockstep.rights import Permission
from lockstep.siddhiql import SiddhiQLError
from lockstep.store import PAST_ARCHIVE, StoredDeployment
from lockstep_services.coordinator.connectors import Connectors
from lockstep_services.coordinator.desired import DesiredState
from lockstep_services.coordinator.forward import Forwarder
from lockstep_services.coordinator.pasts import FoundPast, PastWish
from lockstep_services.coordinator.preview import preview
from lockstep_services.coordinator.status import app_status, nodes_of
from lockstep_services.coordinator.surveying import Survey
from lockstep_services.coordinator.templates import refuse_instances
from lockstep_services.coordinator.versions import who_asks

COMMAND_TIMEOUT_MS = 20_000
RETRY_AFTER_MS = 1_000


class _Past(msgspec.Struct):
    from_ms: int
    app: str | None = None
    output: Literal["archive", "sinks", "nowhere"] = PAST_ARCHIVE


class _Deploy(msgspec.Struct):
    text: str
    settings: dict[str, str] = {}
    parallel: Annotated[int, msgspec.Meta(ge=1, le=KEY_GROUPS)] | None = None
    past: _Past | None = None


class _Text(msgspec.Struct):
    text: str


class _Preview(msgspec.Struct):
    text: str
    parallel: Annotated[int, msgspec.Meta(ge=1, le=KEY_GROUPS)] | None = None


class _HandOver(msgspec.Struct):
    node: str | None = None


class Api:
    """Handlers over the desired state and the heartbeats."""

    def __init__(
        self,
        desired: DesiredState,
        watch: HeartbeatWatch,
        survey: Survey,
        forwarder: Forwarder,
        bus: Bus,
        connectors: Connectors,
    ) -> None:
        self._connectors = connectors
        self._desired = desired
        self._survey = survey
        self._watch = watch
        self._forwarder = forwarder
        self._bus = bus

    def add_to(self, router: web.UrlDispatcher) -> None:
        """The paths."""
        write = self._forwarder.by_leader
        router.add_get("/v1/apps", self._list)
        router.add_post("/v1/apps", write(self._deploy))
        router.add_put("/v1/apps", write(self._deploy))
        router.add_get("/v1/apps/{app}", self._get)
        router.add_delete("/v1/apps/{app}", write(self._undeploy))
        router.add_get("/v1/apps/{app}/status", self._status)
        router.add_post("/v1/apps/{app}/handover", self._hand_over)
        router.add_post("/v1/validate", self._validate)
        router.add_post("/v1/preview", self._preview)

    async def _list(self, request: web.Request) -> web.Response:
        placements = await self._desired.placements()
        apps = []
        for one in await self._desired.list():
            if not may(request, Permission.VIEW, one.app):
                continue
            units = await self._survey.units(one, placements)
            apps.append(
                {
                    "app": one.app,
                    "version": one.version,
                    "generation": one.life.number,
                    "replicas": one.replicas,
                    "units": len(units),
                    "nodes": nodes_of(units, placements),
                    "waiting": await self._survey.waiting(one, units, placements),
                    "updated_ms": one.updated_ms,
                }
            )
        return web.json_response({"apps": apps})

    async def _deploy(self, request: web.Request) -> web.Response:
        body = await read_body(request, _Deploy)
        refuse_instances(body.settings)
        may_deploy(request, await self._desired.plan(body.text))
        found = await self._desired.deploy(
            body.text, body.settings, body.parallel, past_wish(request, body.past),
            who=who_asks(request),
        )  # fmt: skip
        one = found.deployment
        units = await self._desired.layouts.units(one)
        placements = await self._desired.placements()
        answer = {
            "app": one.app,
            "version": one.version,
            "generation": one.life.number,
            "replicas": one.replicas,
            "units": len(units),
            "layout": one.layout,
            "waiting": await self._survey.waiting(one, units, placements),
            "created": found.created,
            "changed": found.changed,
            "past": None if found.past is None else _past_json(found.past),
        }
        return web.json_response(answer, status=201 if found.created else 200)

    async def _get(self, request: web.Request) -> web.Response:
        one = await self._desired.get(request.match_info["app"])
        answer = {
            "app": one.app,
            "text": one.text,
            "version": one.version,
            "generation": one.life.number,
            "replicas": one.replicas,
            "settings": dict(StoredDeployment.of(one).settings),
            "created_ms": one.life.deployed_ms,
            "updated_ms": one.updated_ms,
        }
        return web.json_response(answer)

    async def _undeploy(self, request: web.Request) -> web.Response:
        app = request.match_info["app"]
        purge = request.query.get("purge", "false").lower() == "true"
        if not await self._desired.undeploy(app, purge=purge):
            raise Problem(HTTPStatus.NOT_FOUND, f"no app named '{app}' is deployed")
        return web.json_response({"app": app, "purged": purge})

    async def _status(self, request: web.Request) -> web.Response:
        one = await self._desired.get(request.match_info["app"])
        placements = await self._desired.placements()
        units = await self._survey.units(one, placements)
        waiting = await self._survey.waiting(one, units, placements)
        goes_over = bool(await self._survey.former(one))
        status = app_status(one, units, placements, self._watch, waiting, goes_over=goes_over)
        return web.json_response({**status, "connectors": await self._connectors.lines(one)})

    async def _preview(self, request: web.Request) -> web.Response:
        body = await read_body(request, _Preview)
        require(request, Permission.DEPLOY, (await self._desired.plan(body.text)).name)
        told = (one for beat in self._watch.alive("publisher") for one in beat.sinks)
        found = await preview(self._desired, body.text, body.parallel, told)
        return web.json_response(asdict(found))

    async def _validate(self, request: web.Request) -> web.Response:
        body = await read_body(request, _Text)
        return web.json_response(await self._validated(body.text))

    async def _validated(self, text: str) -> dict[str, Any]:
        """Whether a text is a valid app; else where and why not."""
        try:
            plan = await self._desired.plan(text)
        except SiddhiQLError as error:
            mistake = {
                "line": error.line,
                "column": error.column,
                "message": error.message,
                "hint": error.hint,
            }
            return {"valid": False, "errors": [mistake]}
        return {
            "valid": True,
            "errors": [],
            "app": plan.name,
            "inputs": list(plan.doors),
            "outputs": list(plan.exported),
            "tables": list(plan.stored),
        }

    async def _hand_over(self, request: web.Request) -> web.Response:
        node = None
        if request.can_read_body:
            node = (await read_body(request, _HandOver)).node
        return await self._command(request, Command("hand_over", node))

    async def _command(self, request: web.Request, command: Command) -> web.Response:
        one = await self._desired.get(request.match_info["app"])
        units = await self._desired.layouts.units(one)
        answers = [await ask_leader(self._bus, unit, command) for unit in units]
        told = "; ".join(dict.fromkeys(answer.message for answer in answers))
        return web.json_response({"app": one.app, "message": told})


def past_wish(request: web.Request, past: _Past | None) -> PastWish | None:
    """Raises ForbiddenError: what another app has taken in is for those who may look at it."""
    if past is None:
        return None
    if past.app is not None:
        require(request, Permission.VIEW, past.app)
    return PastWish(past.from_ms, past.app, past.output)


def _past_json(found: FoundPast) -> dict[str, Any]:
    past = found.past
    return {
        "app": past.app, "after": past.after, "up_to": past.up_to, "output": past.output,
        "begins_ms": found.begins_ms, "archived_to": found.archived_to,
        "ignored": list(found.ignored),
    }  # fmt: skip


def may_deploy(request: web.Request, plan: AppPlan) -> None:
    """Raises ForbiddenError: a text with code of its author takes a right of its own."""
    require(request, Permission.DEPLOY, plan.name)
    if plan.checked.functions:
        require(request, Permission.CODE, plan.name)


async def ask_leader(bus: Bus, unit: str, command: Command) -> CommandAnswer:
    """A command that was carried out. Problem 503 when nobody leads the app or what the command
    needs is away, 409 for what the caller can mend, 500 for a defect.
    """
    try:
        raw = await bus.topics.request(
            command_subject(unit), msgspec.json.encode(command), timeout_ms=COMMAND_TIMEOUT_MS
        )
    except UnavailableError as error:
        raise Problem(
            HTTPStatus.SERVICE_UNAVAILABLE, f"no processor leads {unit_label(unit)} right now",
            retry_after_ms=RETRY_AFTER_MS,
        ) from error  # fmt: skip
    answer = from_json(raw, CommandAnswer)
    if not answer.done:
        raise _refusal(answer)
    return answer


def _refusal(answer: CommandAnswer) -> Problem:
    if answer.retryable:
        return Problem(
            HTTPStatus.SERVICE_UNAVAILABLE, answer.message,
            hint="try again in a moment", retry_after_ms=RETRY_AFTER_MS,
        )  # fmt: skip
    statuses = {
        Fault.USER: HTTPStatus.CONFLICT,
        Fault.EXTERNAL: HTTPStatus.SERVICE_UNAVAILABLE,
        Fault.INTERNAL: HTTPStatus.INTERNAL_SERVER_ERROR,
    }
    return Problem(statuses[answer.fault], answer.message)
