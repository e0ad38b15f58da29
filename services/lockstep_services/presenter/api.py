"""The presenter's JSON routes: latest rows, long polls, tables."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import msgspec
from aiohttp import web

from lockstep.clock import Clock
from lockstep.control import AppView
from lockstep.events import OutputId
from lockstep.frame import Problem, wait_set
from lockstep.frame.bodies import whole_number
from lockstep.mapping.cloudevents.envelope import BATCH_MEDIA_TYPE
from lockstep_services.presenter.feed import AppModels, Feed
from lockstep_services.presenter.forms import form_of, wants_cloudevents
from lockstep_services.presenter.listeners import Listeners
from lockstep_services.presenter.models import StreamModel, identity
from lockstep_services.presenter.resuming import event_id, resume_point

DEFAULT_LIMIT = 100
MAX_WAIT_MS = 30_000
HISTORY_WAIT_MS = 10_000
MAX_NUMBER = 10**12 - 1
JSON = "application/json"
AFTER_HEADER = "Lockstep-After"


class Lookup:
    """Finds models by the names in a path; Problem 404 with the names there are."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed

    async def app(self, request: web.Request) -> AppModels:
        """The app of the path; UnavailableError when it is not known and the store is away."""
        name = request.match_info["app"]
        models = await self._feed.find(name)
        if models is None:
            raise Problem(HTTPStatus.NOT_FOUND, f"no app named '{name}' is deployed")
        return models

    async def view(self, name: str) -> AppView | None:
        """The deployed app of that name, if there is one."""
        models = await self._feed.find(name)
        return None if models is None else models.view

    async def stream(self, request: web.Request) -> tuple[AppModels, StreamModel]:
        """The stream of the path; errors as of `app`."""
        models = await self.app(request)
        name = request.match_info["stream"]
        stream = models.streams.get(name)
        if stream is None:
            known = ", ".join(models.streams) or "none"
            raise Problem(
                HTTPStatus.NOT_FOUND,
                f"app '{models.view.name}' has no output stream '{name}'",
                hint=f"output streams: {known}; a stream in between needs a @sink to be shown",
            )
        return models, stream

    async def read(self, request: web.Request) -> tuple[AppModels, StreamModel]:
        """The same once its history has been read; Problem 503 when that takes too long."""
        models, _ = await self.stream(request)
        if not await self._feed.has_read(models, HISTORY_WAIT_MS):
            raise Problem(
                HTTPStatus.SERVICE_UNAVAILABLE,
                f"the history of app '{models.view.name}' is still being read",
                hint="the presenter has just started, or the bus is away; try again in a moment",
                retry_after_ms=1_000,
            )
        return await self.stream(request)


class Api:
    """Handlers over the read models."""

    def __init__(
        self, lookup: Lookup, listeners: Listeners, clock: Clock, history_rows: int
    ) -> None:
        self._lookup = lookup
        self._listeners = listeners
        self._clock = clock
        self._history_rows = history_rows

    def add_to(self, router: web.UrlDispatcher) -> None:
        """The paths."""
        router.add_get("/v1/apps/{app}/streams/{stream}/latest", self._latest)
        router.add_get("/v1/apps/{app}/streams/{stream}/poll", self._poll)
        router.add_get("/v1/apps/{app}/tables/{table}", self._table)

    async def _latest(self, request: web.Request) -> web.Response:
        _, stream = await self._lookup.stream(request)
        limit = number(request, "limit", DEFAULT_LIMIT, self._history_rows)
        rows = [row.as_json(stream.schema.names) for row in stream.latest(limit)]
        body = {"stream": stream.schema.name, "total": stream.total, "events": rows}
        return answer(body)

    async def _poll(self, request: web.Request) -> web.Response:
        models, stream = await self._lookup.read(request)
        since_ms, is_cloud = models.view.log.since_ms, wants_cloudevents(request)
        resume = resume_point(request.query.get("after"), since_ms)
        after = resume.seen or stream.last_id or stream.kept_from or OutputId(0, 0)
        wait_ms = number(request, "wait_ms", 0, MAX_WAIT_MS)
        rows, gap = stream.after(after)
        if not rows and wait_ms:
            listener = self._listeners.add(models.view.name, stream.schema.name, "poll")
            try:
                rows, gap = stream.after(after)
                if not rows:
                    await wait_set(listener.arrived, self._clock, wait_ms)
                    rows, gap = stream.after(after)
            finally:
                self._listeners.remove(models.view.name, stream.schema.name, listener)
        form = form_of(models.view.name, stream.schema, since_ms, is_cloud=is_cloud)
        events = [form.row(row) for row in rows]
        last = event_id(rows[-1].id if rows else after, since_ms)
        gap = gap or resume.is_anew
        if not is_cloud:
            return answer({"events": events, "after": last, "gap": gap})
        if gap:
            events.insert(0, form.note("gap", {"after": identity(after)}, self._clock.now_ms()))
        return web.Response(
            body=encode(events), content_type=BATCH_MEDIA_TYPE, headers={AFTER_HEADER: last}
        )

    async def _table(self, request: web.Request) -> web.Response:
        models = await self._lookup.app(request)
        name = request.match_info["table"]
        table = models.tables.get(name)
        if table is None:
            known = ", ".join(models.tables) or "none"
            raise Problem(
                HTTPStatus.NOT_FOUND,
                f"app '{models.view.name}' has no stored table '{name}'",
                hint=f"stored tables: {known}; ask others with an on-demand query",
            )
        limit = number(request, "limit", DEFAULT_LIMIT, 10**9)
        names = table.schema.names
        rows = [dict(zip(names, row.data, strict=True)) for row in table.rows(limit)]
        missing = models.missing(table)
        body = {
            "table": name, "key": table.key, "count": len(table), "forgotten": table.forgotten,
            "complete": missing is None, "missing": missing, "rows": rows,
        }  # fmt: skip
        return answer(body)


def number(request: web.Request, name: str, default: int, limit: int) -> int:
    """A whole number of the query string, cut to the limit; Problem 400 when it is none."""
    text = request.query.get(name)
    if text is None:
        return min(default, limit)
    found = whole_number(text, MAX_NUMBER)
    if found is None:
        raise Problem(HTTPStatus.BAD_REQUEST, f"{name}: expected a whole number, got '{text[:40]}'")
    return min(found, limit)


def answer(body: Any) -> web.Response:
    """A JSON answer; values that JSON has no form for become text."""
    return web.Response(body=encode(body), content_type=JSON)


def cut(request: web.Request) -> None:
    """Ends the connection at once, and with it all that still waits to be sent."""
    if request.transport is not None:
        request.transport.abort()


def encode(body: Any) -> bytes:
    """JSON bytes; NaN and infinities become null."""
    return msgspec.json.encode(body, enc_hook=str)
