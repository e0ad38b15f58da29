"""The versions of an app over REST: which texts were deployed, when, by whom, and one of them."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Final

from aiohttp import web

from lockstep.frame import Problem
from lockstep.frame.bodies import whole_number
from lockstep.frame.callers import caller_of
from lockstep.store import AppVersion, Store

ITSELF: Final = "coordinator"
"""Who asks for what nobody has asked for: a past that fails makes way for what was there before."""
MAX_NUMBER: Final = 2**53


def who_asks(request: web.Request) -> str:
    """As the audit log names them."""
    caller = caller_of(request)
    return "" if caller is None else str(caller)


class VersionRoutes:
    """Handlers over the store. Texts hold no secrets, only references to them."""

    def __init__(self, store: Store) -> None:
        self._versions = store.versions
        self._deployments = store.deployments

    def add_to(self, router: web.UrlDispatcher) -> None:
        """The paths."""
        router.add_get("/v1/apps/{app}/versions", self._list)
        router.add_get("/v1/apps/{app}/versions/{number}", self._get)

    async def _list(self, request: web.Request) -> web.Response:
        app = request.match_info["app"]
        found = await self._versions.list(app)
        there = await self._deployments.get(app)
        if not found and there is None:
            raise Problem(HTTPStatus.NOT_FOUND, f"no app named '{app}' is deployed, or was")
        deployed = None if there is None else there.version
        return web.json_response({"app": app, "versions": _shown(found, deployed)})

    async def _get(self, request: web.Request) -> web.Response:
        app, given = request.match_info["app"], request.match_info["number"]
        number = whole_number(given, MAX_NUMBER)
        if not number:
            raise Problem(HTTPStatus.BAD_REQUEST, "a version is a number from 1 on")
        found = await self._versions.list(app)
        there = await self._deployments.get(app)
        shown = _shown(found, None if there is None else there.version)
        one = next((each for each in shown if each["number"] == number), None)
        text = None if one is None else await self._versions.text(app, number)
        if one is None or text is None:
            kept = f"kept are {found[-1].number} to {found[0].number}" if found else "none is kept"
            raise Problem(HTTPStatus.NOT_FOUND, f"app '{app}' has no version {number}", hint=kept)
        return web.json_response({**one, "text": text})


def _shown(found: Sequence[AppVersion], deployed: str | None) -> list[dict[str, Any]]:
    """Newest first. Of a text that was deployed more than once, the newest is what is deployed."""
    shown = [
        {
            "app": one.app,
            "number": one.number,
            "version": one.digest,
            "size_bytes": one.size_bytes,
            "deployed_ms": one.deployed_ms,
            "who": one.who,
            "how": one.how.value,
            "deployed": False,
        }
        for one in found
    ]
    for one in shown:
        if one["version"] == deployed:
            one["deployed"] = True
            break
    return shown
