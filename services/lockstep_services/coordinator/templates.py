"""Templates over REST: kept for all; instances are apps that people start who may not write apps.

What an instance was made of stands in the settings of its deployment, and goes with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import msgspec
from aiohttp import web

from lockstep.events.typed import from_json
from lockstep.frame import Offload, Problem
from lockstep.frame.bodies import UNREADABLE, read_body
from lockstep.frame.callers import may, require
from lockstep.rights import Permission
from lockstep.store import Deployment, Documents, HowDeployed
from lockstep.templates import Template, TemplateError, Value, check_template, filled, template_of
from lockstep_services.coordinator.desired import DesiredState
from lockstep_services.coordinator.forward import Forwarder
from lockstep_services.coordinator.versions import who_asks

KIND: Final = "template"
MAX_BYTES: Final = 262_144
MAX_TEMPLATES: Final = 500
MADE_OF: Final = "template"
VALUES: Final = "template.values"
"""Settings of an instance's deployment; nobody else may give them."""


class _Text(msgspec.Struct):
    text: str


class _Values(msgspec.Struct):
    values: dict[str, Value] = {}


class Templates:
    """Handlers over the store's documents and the desired state."""

    def __init__(
        self, documents: Documents, desired: DesiredState, forwarder: Forwarder, offload: Offload
    ) -> None:
        self._documents = documents
        self._desired = desired
        self._write = forwarder.by_leader
        self._offload = offload

    def add_to(self, router: web.UrlDispatcher) -> None:
        """The paths."""
        one = "/v1/templates/{template}"
        router.add_get("/v1/templates", self._list)
        router.add_get(one, self._get)
        router.add_put(one, self._put)
        router.add_delete(one, self._delete)
        router.add_put(f"{one}/instances/{{app}}", self._write(self._start))
        router.add_delete(f"{one}/instances/{{app}}", self._write(self._stop))

    async def _list(self, request: web.Request) -> web.Response:
        instances = await self._instances(request)
        found = []
        for name in await self._documents.names(KIND):
            template = _legible(name, await self._text(name))
            found.append(_shown(template, instances.get(name, [])))
        return web.json_response({"templates": found})

    async def _get(self, request: web.Request) -> web.Response:
        name = request.match_info["template"]
        template = _legible(name, await self._text(name))
        instances = (await self._instances(request)).get(template.name, [])
        return web.json_response({**_shown(template, instances), "text": template.text})

    async def _put(self, request: web.Request) -> web.Response:
        body: _Text = await read_body(request, _Text)
        if len(body.text.encode()) > MAX_BYTES:
            raise Problem(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a template has at most {MAX_BYTES} bytes"
            )
        template = template_of(body.text)
        if template.name != request.match_info["template"]:
            raise Problem(
                HTTPStatus.BAD_REQUEST, f"its text says that its name is '{template.name}'",
                hint="-- template: … is its first line",
            )  # fmt: skip
        app = await self._offload.run(lambda: check_template(template))
        if app.functions:
            require(request, Permission.CODE)
        there = await self._documents.names(KIND)
        if template.name not in there and len(there) >= MAX_TEMPLATES:
            raise Problem(
                HTTPStatus.CONFLICT, f"there are {MAX_TEMPLATES} templates already",
                hint="remove one",
            )  # fmt: skip
        await self._documents.put(KIND, template.name, template.text)
        created = template.name not in there
        return web.json_response({"template": template.name}, status=201 if created else 200)

    async def _delete(self, request: web.Request) -> web.Response:
        name = request.match_info["template"]
        made = [one.app for one in await self._desired.list() if _made_of(one) == name]
        if made:
            raise Problem(
                HTTPStatus.CONFLICT, f"{len(made)} instances of it run",
                hint="stop them first: nobody could but those who may undeploy",
            )  # fmt: skip
        if not await self._documents.delete(KIND, name):
            raise _nothing(name)
        return web.json_response({"template": name})

    async def _start(self, request: web.Request) -> web.Response:
        """Starts one, or gives one other values, or today's text of the template."""
        app, name = request.match_info["app"], request.match_info["template"]
        body: _Values = await read_body(request, _Values)
        template = await self._known(name)
        text = filled(template, app, body.values)
        if (await self._desired.plan(text)).name != app:
            raise Problem(  # the right was asked for of this app alone
                HTTPStatus.BAD_REQUEST, f"template '{name}' makes an app of another name",
                hint="its text has to say @app:name('${app}')",
            )  # fmt: skip
        values = {one.name: one.value(body.values.get(one.name)) for one in template.parameters}
        settings = {MADE_OF: template.name, VALUES: msgspec.json.encode(values).decode()}

        def may_replace(before: Deployment) -> None:
            if _made_of(before) != template.name:
                raise Problem(
                    HTTPStatus.CONFLICT, f"app '{app}' is there, and no instance of this template",
                    hint="choose another name",
                )  # fmt: skip

        found = await self._desired.deploy(
            text, settings, may_replace=may_replace, who=who_asks(request),
            how=HowDeployed.TEMPLATE,
        )  # fmt: skip
        answer = {"template": template.name, "app": app, "values": values, "changed": found.changed}
        return web.json_response(answer, status=201 if found.created else 200)

    async def _stop(self, request: web.Request) -> web.Response:
        name, app = request.match_info["template"], request.match_info["app"]
        one = await self._desired.get(app)
        if _made_of(one) != name:
            raise Problem(HTTPStatus.NOT_FOUND, f"app '{app}' is no instance of this template")
        await self._desired.undeploy(app, purge=False)
        return web.json_response({"template": name, "app": app})

    async def _known(self, name: str) -> Template:
        return template_of(await self._text(name))

    async def _text(self, name: str) -> str:
        text = await self._documents.get(KIND, name)
        if text is None:
            raise _nothing(name)
        return text

    async def _instances(self, request: web.Request) -> dict[str, list[dict[str, Any]]]:
        """Those that the caller may view, by template."""
        found: dict[str, list[dict[str, Any]]] = {}
        for one in await self._desired.list():
            name = _made_of(one)
            if name is not None and may(request, Permission.VIEW, one.app):
                values = _values(one)
                instance = {"app": one.app, "values": values, "updated_ms": one.updated_ms}
                found.setdefault(name, []).append(instance)
        return found


def refuse_instances(settings: Mapping[str, str]) -> None:
    """Problem 400 for settings that would make an instance of what is deployed as a text."""
    given = sorted({MADE_OF, VALUES} & set(settings))
    if given:
        raise Problem(
            HTTPStatus.BAD_REQUEST, f"the setting '{given[0]}' belongs to instances of templates",
            hint="leave it out, or start an instance: PUT /v1/templates/<template>/instances/<app>",
        )  # fmt: skip


def _legible(name: str, text: str) -> Template:
    """As it says itself; one that an earlier release kept and this one refuses says why. Its text
    can be read and put right, and the others are listed beside it."""
    try:
        return template_of(text)
    except TemplateError as error:
        return Template(name, f"It cannot be started: {error}", (), text)


def _values(deployment: Deployment) -> dict[str, Value]:
    """Of an instance. None of one that releases before this let somebody write by hand."""
    try:
        found: dict[str, Value] = from_json(deployment.settings.get(VALUES, "{}"), dict[str, Value])
    except UNREADABLE:
        return {}
    return found


def _made_of(deployment: Deployment) -> str | None:
    return deployment.settings.get(MADE_OF)


def _nothing(name: str) -> Problem:
    return Problem(HTTPStatus.NOT_FOUND, f"there is no template '{name}'")


def _shown(template: Template, instances: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "template": template.name,
        "about": template.about,
        "parameters": [one.as_json() for one in template.parameters],
        "instances": instances,
    }
