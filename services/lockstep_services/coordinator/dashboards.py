"""Dashboards over REST: what people made to watch apps, kept for all. Nothing runs by them."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any, Final

import msgspec
from aiohttp import web

from lockstep.frame import Problem
from lockstep.frame.bodies import read_body
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

    async def _list(self, _request: web.Request) -> web.Response:
        return web.json_response({"dashboards": list(await self._documents.names(KIND))})

    async def _get(self, request: web.Request) -> web.Response:
        name = _name(request)
        text = await self._documents.get(KIND, name)
        if text is None:
            raise Problem(HTTPStatus.NOT_FOUND, f"there is no dashboard '{name}'")
        return web.Response(text=text, content_type="application/json")

    async def _put(self, request: web.Request) -> web.Response:
        name = _name(request)
        body = await read_body(request, dict[str, Any], max_bytes=MAX_BYTES)
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
        if not await self._documents.delete(KIND, name):
            raise Problem(HTTPStatus.NOT_FOUND, f"there is no dashboard '{name}'")
        return web.json_response({"dashboard": name})


def _name(request: web.Request) -> str:
    name = request.match_info["name"]
    if not _NAME.fullmatch(name):
        raise Problem(
            HTTPStatus.BAD_REQUEST, "this is no name for a dashboard",
            hint="letters, digits, blanks and _ . -, at most 80, a letter or digit first",
        )  # fmt: skip
    return name
