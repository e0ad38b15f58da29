"""What people want of an app's archive over REST: what there is, the past asked by SQL, and rows
forgotten for good."""

from __future__ import annotations

from dataclasses import asdict
from http import HTTPStatus
from typing import Annotated, Any, Final

import msgspec
from aiohttp import web

from lockstep.archive.asking import AskedTooMuchError, ask
from lockstep.archive.listing import listed
from lockstep.archive.place import Place, place_of_settings
from lockstep.control import Erasure
from lockstep.events import UnavailableError
from lockstep.frame import Context, Problem, ThreadOffload
from lockstep.frame.audit import add_to_note
from lockstep.frame.bodies import read_body
from lockstep.frame.turns import Turns
from lockstep_services.coordinator.desired import DesiredState
from lockstep_services.coordinator.erasing import ArchiveErasing

MAX_SQL_CHARACTERS: Final = 65_536


class Asked(msgspec.Struct, forbid_unknown_fields=True):
    """A query of the past; `limit`: rows at most, no more than `archive.query_rows`."""

    sql: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_SQL_CHARACTERS)]
    limit: Annotated[int, msgspec.Meta(ge=1)] = 1_000


class ArchiveRoutes:
    """Handlers. Each query is asked by a process of its own, on this machine. Lists and erasing
    have a thread of their own: many tables, or a store that is slow, hold up nothing else."""

    def __init__(self, context: Context, desired: DesiredState) -> None:
        self._settings = context.settings.archive
        self._offload = ThreadOffload("archive")
        self._erasing = ArchiveErasing(context, desired, self._offload)
        self._turns = Turns(self._settings.max_queries)
        self._lists = Turns(self._settings.max_queries)

    def add_to(self, router: web.UrlDispatcher) -> None:
        """The paths."""
        router.add_get("/v1/apps/{app}/archive", self._list)
        router.add_post("/v1/apps/{app}/archive/query", self._query)
        router.add_post("/v1/apps/{app}/archive/erase", self._erase)

    def close(self) -> None:
        """What is under way ends by itself."""
        self._offload.close()

    @property
    def _place(self) -> Place:
        found = place_of_settings(self._settings)
        if found is None:
            raise Problem(
                HTTPStatus.NOT_FOUND, "nothing is archived here",
                hint="archive.folder says where the archive is",
            )  # fmt: skip
        return found

    async def _list(self, request: web.Request) -> web.Response:
        app, place = request.match_info["app"], self._place
        work = self._offload.run(lambda: [asdict(one) for one in listed(place, app)])
        found = await self._lists.ask(request, work)
        for one in found:
            del one["table"]  # where the files are is nobody's business out there
        return web.json_response({"app": app, "tables": found})

    async def _query(self, request: web.Request) -> web.Response:
        wanted = await read_body(request, Asked)
        app, rows = request.match_info["app"], min(wanted.limit, self._settings.query_rows)
        work = ask(self._place, app, wanted.sql, rows, self._settings)
        try:
            answer = await self._turns.ask(request, work)
        except AskedTooMuchError as error:
            raise Problem(HTTPStatus.BAD_REQUEST, error.message, hint=error.hint) from error
        told: dict[str, Any] = {"app": app, "columns": answer.columns, "types": answer.types}
        return web.Response(
            content_type="application/json",
            body=msgspec.json.encode({**told, "rows": answer.rows, "more": answer.more}),
        )

    async def _erase(self, request: web.Request) -> web.Response:
        wanted = await read_body(request, Erasure)
        app = request.match_info["app"]
        # Never the condition: it names whom it is about, and the audit log is kept.
        add_to_note(request, f" ({wanted.stream}: not erased)")
        if not wanted.where.strip():
            raise Problem(HTTPStatus.BAD_REQUEST, "which rows?", hint="where: \"user = 'bob'\"")
        try:
            answer = await self._erasing.erase(app, wanted, place_of_settings(self._settings))
        except UnavailableError as error:
            raise Problem(
                HTTPStatus.SERVICE_UNAVAILABLE,
                f"nobody said that the rows of '{app}' are gone",
                hint="the app may have no archive, or this takes longer; erasing again does no "
                "harm",
                retry_after_ms=1_000,
            ) from error
        if answer.error is not None:
            status = HTTPStatus.BAD_REQUEST if answer.user_error else HTTPStatus.SERVICE_UNAVAILABLE
            raise Problem(status, answer.error)
        add_to_note(request, f" ({wanted.stream}: {answer.rows} rows erased)")
        found = {"rows": answer.rows, "tables": answer.tables, "skipped": list(answer.skipped)}
        return web.json_response({"app": app, **found})
