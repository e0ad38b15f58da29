"""Revisions over REST: listed, restored, deleted."""

from __future__ import annotations

from http import HTTPStatus

import msgspec
from aiohttp import web

from lockstep_services.coordinator.api import read_body
from lockstep_services.coordinator.forward import Forwarder
from lockstep_services.coordinator.restoring import Restoring


class _Restore(msgspec.Struct):
    revision: str | None = None


class RevisionRoutes:
    """Handlers in our own words; those of the older products stand in `siddhi_apps`."""

    def __init__(self, restoring: Restoring, forwarder: Forwarder) -> None:
        self._restoring = restoring
        self._forwarder = forwarder

    def add_to(self, router: web.UrlDispatcher) -> None:
        """The paths."""
        router.add_get("/v1/apps/{app}/revisions", self._list)
        write = self._forwarder.by_leader
        router.add_post("/v1/apps/{app}/snapshot", write(self._snapshot))
        router.add_post("/v1/apps/{app}/restore", write(self._restore))
        router.add_delete("/v1/apps/{app}/revisions", write(self._delete_all))
        router.add_delete("/v1/apps/{app}/revisions/{revision}", write(self._delete))

    async def _snapshot(self, request: web.Request) -> web.Response:
        app = request.match_info["app"]
        return web.json_response({"app": app, "message": await self._restoring.snapshot(app)})

    async def _list(self, request: web.Request) -> web.Response:
        app = request.match_info["app"]
        body = [
            {
                "revision": one.id,
                "version": one.version,
                "position": one.position,
                "created_ms": one.created_ms,
                "size_bytes": one.size_bytes,
                "verified": one.verified,
                "epoch": one.epoch,
            }
            for one in await self._restoring.revisions(app)
        ]
        return web.json_response({"app": app, "revisions": body})

    async def _restore(self, request: web.Request) -> web.Response:
        app = request.match_info["app"]
        wanted = await read_body(request, _Restore) if request.can_read_body else _Restore()
        outcome = await self._restoring.restore(app, wanted.revision)
        body = {
            "app": app,
            "revision": outcome.revision,
            "generation": outcome.generation,
            "done": outcome.done,
        }
        status = HTTPStatus.OK if outcome.done else HTTPStatus.ACCEPTED
        return web.json_response(body, status=status)

    async def _delete(self, request: web.Request) -> web.Response:
        app, revision = request.match_info["app"], request.match_info["revision"]
        await self._restoring.delete(app, revision)
        return web.json_response({"app": app, "deleted": [revision]})

    async def _delete_all(self, request: web.Request) -> web.Response:
        app = request.match_info["app"]
        outcome = await self._restoring.delete_all(app)
        return web.json_response({"app": app, "deleted": outcome.deleted, "kept": outcome.kept})
