"""Rows of a named datasource, for those who feed an app with them (see lockstep.simulating).

Who may deploy an app can name any datasource in it, and read its tables in that way: so the right
to deploy, everywhere, is what the table of rights asks for here.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus

import msgspec
from aiohttp import web

from lockstep.databases import Datasources, read_datasource
from lockstep.frame.audit import add_to_note
from lockstep.frame.bodies import read_body
from lockstep.frame.problems import Problem

MAX_BODY_BYTES = 65_536


class _Wanted(msgspec.Struct, forbid_unknown_fields=True):
    table: str = ""
    select: str = ""
    max_rows: int | None = None


class DatasourceRoutes:
    """A datasource is asked by so many at a time as it has connections."""

    def __init__(self, known: Datasources, *, max_rows: int) -> None:
        self._known = known
        self._max_rows = max_rows
        self._turns = {name: asyncio.Semaphore(one.max_connections) for name, one in known.items()}

    def add_to(self, router: web.UrlDispatcher) -> None:
        """The paths."""
        router.add_get("/v1/datasources", self._named)
        router.add_post("/v1/datasources/{datasource}/rows", self._rows)

    async def _named(self, _: web.Request) -> web.Response:
        """Names and kinds; where they are is said to nobody."""
        found = [{"name": name, "kind": one.kind} for name, one in sorted(self._known.items())]
        return web.json_response({"datasources": found})

    async def _rows(self, request: web.Request) -> web.Response:
        name = request.match_info["datasource"]
        wanted: _Wanted = await read_body(request, _Wanted, max_bytes=MAX_BODY_BYTES)
        if bool(wanted.table) == bool(wanted.select):
            raise Problem(HTTPStatus.BAD_REQUEST, "name one of the two: a table, or a select")
        if wanted.max_rows is not None and wanted.max_rows < 1:
            raise Problem(HTTPStatus.BAD_REQUEST, "max_rows: expected 1 or more")
        add_to_note(request, wanted.table or wanted.select)
        if name not in self._known:
            raise Problem(
                HTTPStatus.NOT_FOUND, f"there is no datasource '{name}'",
                hint=f"datasources.file of the settings names: {', '.join(self._known) or 'none'}",
            )  # fmt: skip
        most = min(wanted.max_rows or self._max_rows, self._max_rows)
        async with self._turns[name]:
            found = await read_datasource(
                self._known[name], table=wanted.table, select=wanted.select, max_rows=most
            )
        return web.json_response(
            {"columns": found.columns, "rows": found.rows, "is_cut": found.is_cut}
        )
