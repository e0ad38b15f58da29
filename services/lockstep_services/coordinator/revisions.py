"""Revisions over REST: listed, restored, deleted."""

from __future__ import annotations

from http import HTTPStatus
from typing import Literal

import msgspec
from aiohttp import web

from lockstep.control import group_and_layout, label_of
from lockstep.events.since import without_since
from lockstep.frame import Problem
from lockstep.frame.bodies import read_body
from lockstep.store import PAST_ARCHIVE, Revision
from lockstep_services.coordinator.forward import Forwarder
from lockstep_services.coordinator.going_back import BackWish
from lockstep_services.coordinator.restoring import Restoring


class _Restore(msgspec.Struct):
    revision: str | None = None
    to_ms: int | None = None
    replay: bool = False
    output: Literal["archive", "sinks", "nowhere"] = PAST_ARCHIVE


def unit_of(one: Revision) -> str | None:
    """Of a revision of one unit of a fleet, which is nothing to go back to by itself; None for one
    of the whole app."""
    group = without_since(one.group)
    if not group_and_layout(group)[1]:
        return None
    return label_of(one.app, group, one.partition)


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
                "unit": unit_of(one),
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
        if wanted.to_ms is not None:
            return await self._restore_to(app, wanted, wanted.to_ms)
        if wanted.replay:
            raise Problem(HTTPStatus.BAD_REQUEST, "replay: only with to_ms")
        outcome = await self._restoring.restore(app, wanted.revision)
        body = {
            "app": app,
            "revision": outcome.revision,
            "generation": outcome.generation,
            "done": outcome.done,
        }
        status = HTTPStatus.OK if outcome.done else HTTPStatus.ACCEPTED
        return web.json_response(body, status=status)

    async def _restore_to(self, app: str, wanted: _Restore, to_ms: int) -> web.Response:
        if wanted.revision is not None:
            raise Problem(
                HTTPStatus.BAD_REQUEST, "only one of revision, to_ms",
                hint="to_ms picks the revision",
            )  # fmt: skip
        wish = BackWish(to_ms, wanted.replay, wanted.output)
        outcome = await self._restoring.restore_to(app, wish)
        found = outcome.found
        body = {
            "app": app,
            "revision": found.revision,
            "generation": outcome.generation,
            "done": outcome.done,
            "position": found.position,
            "after": found.position if found.past is None else found.past.after,
            "begins_ms": found.begins_ms,
            "folds": found.past is not None,
        }
        return web.json_response(
            body, status=HTTPStatus.OK if outcome.done else HTTPStatus.ACCEPTED
        )

    async def _delete(self, request: web.Request) -> web.Response:
        app, revision = request.match_info["app"], request.match_info["revision"]
        await self._restoring.delete(app, revision)
        return web.json_response({"app": app, "deleted": [revision]})

    async def _delete_all(self, request: web.Request) -> web.Response:
        app = request.match_info["app"]
        outcome = await self._restoring.delete_all(app)
        return web.json_response({"app": app, "deleted": outcome.deleted, "kept": outcome.kept})
