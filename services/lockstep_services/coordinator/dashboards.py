"""Dashboards over REST: what people made to watch apps, kept for all. Nothing runs by them.

A dashboard belongs to the apps that its widgets name: whoever may view all of them may open it, and
whoever may operate all of them may keep, replace and delete it. One that names no app belongs to
none, and takes the right everywhere. To who may not open one it is not there.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any, Final

import msgspec
from aiohttp import web

from lockstep.frame import Problem
from lockstep.frame.bodies import read_body
from lockstep.frame.callers import may, require
from lockstep.rights import Permission
from lockstep.store import Documents

KIND: Final = "dashboard"
MAX_BYTES: Final = 262_144
MAX_DASHBOARDS: Final = 500
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.-]{0,79}", re.ASCII)


class Dashboards:
    """Handlers over the store's documents."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents

    def add_to(self, router: web.UrlDispatcher) -> None:
        """The paths."""
        router.add_get("/v1/dashboards", self._list)
        router.add_get("/v1/dashboards/{name}", self._get)
        router.add_put("/v1/dashboards/{name}", self._put)
        router.add_delete("/v1/dashboards/{name}", self._delete)

    async def _list(self, request: web.Request) -> web.Response:
        found = list(await self._documents.names(KIND))
        if not may(request, Permission.VIEW):
            texts = [await self._documents.get(KIND, name) for name in found]
            found = [
                name
                for name, text in zip(found, texts, strict=True)
                if text is not None and _may(request, Permission.VIEW, text)
            ]
        return web.json_response({"dashboards": found})

    async def _get(self, request: web.Request) -> web.Response:
        name = _name(request)
        text = await self._documents.get(KIND, name)
        if text is None or not _may(request, Permission.VIEW, text):
            raise _nothing(name)
        return web.Response(text=text, content_type="application/json")

    async def _put(self, request: web.Request) -> web.Response:
        name = _name(request)
        body = await read_body(request, dict[str, Any], max_bytes=MAX_BYTES)
        _require(request, apps_of(body))
        before = await self._documents.get(KIND, name)
        if before is not None:
            _require(request, apps_of(msgspec.json.decode(before)))
        there = await self._documents.names(KIND)
        if name not in there and len(there) >= MAX_DASHBOARDS:
            raise Problem(
                HTTPStatus.CONFLICT, f"there are {MAX_DASHBOARDS} dashboards already",
                hint="delete one",
            )  # fmt: skip
        await self._documents.put(KIND, name, msgspec.json.encode(body).decode())
        created = name not in there
        return web.json_response({"dashboard": name}, status=201 if created else 200)

    async def _delete(self, request: web.Request) -> web.Response:
        name = _name(request)
        text = await self._documents.get(KIND, name)
        if text is None or not _may(request, Permission.VIEW, text):
            raise _nothing(name)
        _require(request, apps_of(msgspec.json.decode(text)))
        await self._documents.delete(KIND, name)
        return web.json_response({"dashboard": name})


def apps_of(board: Any) -> frozenset[str]:
    """The apps that its widgets name."""
    widgets = board.get("widgets") if isinstance(board, dict) else None
    named = [one.get("app") for one in widgets or () if isinstance(one, dict)]
    return frozenset(one for one in named if isinstance(one, str) and one)


def _may(request: web.Request, permission: Permission, text: str) -> bool:
    apps = apps_of(msgspec.json.decode(text))
    if not apps:
        return may(request, permission)
    return all(may(request, permission, app) for app in apps)


def _require(request: web.Request, apps: frozenset[str]) -> None:
    """Raises ForbiddenError: to operate each of them, or everywhere where there is none."""
    if not apps:
        require(request, Permission.OPERATE)
    for app in sorted(apps):
        require(request, Permission.OPERATE, app)


def _nothing(name: str) -> Problem:
    return Problem(HTTPStatus.NOT_FOUND, f"there is no dashboard '{name}' that you may open")


def _name(request: web.Request) -> str:
    name = request.match_info["name"]
    if not _NAME.fullmatch(name):
        raise Problem(
            HTTPStatus.BAD_REQUEST, "this is no name for a dashboard",
            hint="letters, digits, blanks and _ . -, at most 80, a letter or digit first",
        )  # fmt: skip
    return name
