"""Server-sent events: every row of one stream with resume, and a digest of a whole app for its
page.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from aiohttp import web

from lockstep.clock import Clock
from lockstep.control import HeartbeatWatch
from lockstep.events import OutputId
from lockstep.frame import wait_set
from lockstep.settings import PresenterSettings
from lockstep_services.presenter.api import Lookup, cut, encode
from lockstep_services.presenter.feed import AppModels, Feed
from lockstep_services.presenter.following import Ended, Gap, follow
from lockstep_services.presenter.forms import Form, form_of, wants_cloudevents
from lockstep_services.presenter.listeners import Listener, Listeners
from lockstep_services.presenter.models import Shown, StreamModel, identity
from lockstep_services.presenter.resuming import ResumePoint, event_id, resume_point

DIGEST_EVERY_MS: Final = 500
DIGEST_ROWS: Final = 60
DIGEST_FIRST_ROWS: Final = 240
DIGEST_TABLE_ROWS: Final = 50
RETRY_MS: Final = 1_000
WRITE_BYTES: Final = 65_536
"""At a time: a client that takes much slowly is not one that takes nothing."""

WHOLE_APP: Final = ""
"""Who looks at a whole app counts as a listener, and is handed no rows."""

EXACT_UP_TO: Final = 2**53
"""Larger whole numbers are rounded by browsers: they are sent as text."""


class EventStreams:
    """The SSE routes."""

    def __init__(
        self,
        feed: Feed,
        lookup: Lookup,
        listeners: Listeners,
        watch: HeartbeatWatch,
        clock: Clock,
        settings: PresenterSettings,
    ) -> None:
        self._send_limit_s = settings.send_limit_ms / 1000
        self._feed = feed
        self._lookup = lookup
        self._listeners = listeners
        self._watch = watch
        self._clock = clock

    def add_to(self, router: web.UrlDispatcher) -> None:
        """The paths."""
        router.add_get("/v1/apps/{app}/streams/{stream}/sse", self._rows)
        router.add_get("/v1/apps/{app}/live", self._live)

    async def _rows(self, request: web.Request) -> web.StreamResponse:
        models, stream = await self._lookup.stream(request)
        given = request.headers.get("Last-Event-ID") or request.query.get("after")
        resume = resume_point(given, models.view.log.since_ms)
        form = form_of(
            models.view.name, stream.schema, models.view.log.since_ms,
            is_cloud=wants_cloudevents(request),
        )  # fmt: skip
        listener = self._listeners.add(models.view.name, stream.schema.name, "sse")
        response = _response()
        try:
            sent = await self._open(request, response)
            await self._serve(sent, models, stream, listener, resume, form)
        except TimeoutError:
            cut(request)
        except ConnectionError:
            pass
        finally:
            self._listeners.remove(models.view.name, stream.schema.name, listener)
        return response

    async def _open(self, request: web.Request, response: web.StreamResponse) -> _Sent:
        await response.prepare(request)
        sent = _Sent(response, self._send_limit_s)
        await sent.write(f"retry: {RETRY_MS}\n\n".encode())
        return sent

    async def _serve(
        self,
        sent: _Sent,
        models: AppModels,
        stream: StreamModel,
        listener: Listener,
        resume: ResumePoint,
        form: Form,
    ) -> None:
        closing, since_ms = self._listeners.closing, models.view.log.since_ms
        following = follow(self._feed, models, stream, resume, listener, closing, self._clock)
        async for heard in following:
            if heard is None:
                await sent.write(b": still here\n\n")
            elif isinstance(heard, Gap):
                gap = form.note("gap", heard.as_json(), self._clock.now_ms())
                await sent.event("gap", gap)
            elif heard is Ended.LAGGING:
                why = form.note("lagging", {"reason": heard.value}, self._clock.now_ms())
                await sent.event("lagging", why)
            elif not isinstance(heard, Ended):
                await sent.rows(form, heard, since_ms)

    async def _live(self, request: web.Request) -> web.StreamResponse:
        models = await self._lookup.app(request)
        response = _response()
        listener = self._listeners.add(models.view.name, WHOLE_APP, "live")
        try:
            await self._show(await self._open(request, response), models)
        except TimeoutError:
            cut(request)
        except ConnectionError:
            pass
        finally:
            self._listeners.remove(models.view.name, WHOLE_APP, listener)
        return response

    async def _show(self, sent: _Sent, models: AppModels) -> None:
        """Until the app changes or the presenter stops."""
        closing = self._listeners.closing
        seen: dict[str, OutputId] = {}
        max_rows = DIGEST_FIRST_ROWS
        while not closing.is_set() and self._feed.models(models.view.name) is models:
            await sent.event("digest", self._digest(models, seen, max_rows))
            max_rows = DIGEST_ROWS
            await wait_set(closing, self._clock, DIGEST_EVERY_MS)
        if not closing.is_set():
            await sent.event("changed", {"reason": "the app changed; load again"})

    def _digest(
        self, models: AppModels, seen: dict[str, OutputId], max_rows: int
    ) -> Mapping[str, Any]:
        now_ms = self._clock.monotonic_ms()
        streams: dict[str, Any] = {}
        for name, model in models.streams.items():
            rows = [
                row for row in reversed(model.latest(max_rows)) if row.id > seen.get(name, NONE)
            ]
            if rows:
                seen[name] = rows[-1].id
            streams[name] = {
                "total": model.total,
                "rate": round(model.rate_per_s(now_ms), 2),
                "rows": [
                    [identity(row.id), row.timestamp_ms, *map(_exact, row.data)] for row in rows
                ],
            }
        tables: dict[str, Any] = {}
        for name, table in models.tables.items():
            missing = models.missing(table)
            tables[name] = {
                "count": len(table), "complete": missing is None, "missing": missing,
                "rows": [[*map(_exact, row.data)] for row in table.rows(DIGEST_TABLE_ROWS)],
            }  # fmt: skip
        return {
            "edition": models.edition, "streams": streams, "tables": tables,
            "replicas": self.replicas(models.view.name),
        }  # fmt: skip

    def replicas(self, app: str) -> Sequence[Mapping[str, Any]]:
        """How the processors of an app are doing."""
        return [
            {
                "node": beat.node, "role": group.role, "ready": group.ready, "lag": group.lag,
                "position": group.position, "epoch": group.epoch, "trouble": group.trouble,
            }
            for beat, group in self._watch.groups(app)
        ]  # fmt: skip


NONE: Final = OutputId(-1, -1)


class _Sent:
    """What goes to who has opened an event stream. TimeoutError when it takes nothing for so long,
    ConnectionError."""

    def __init__(self, response: web.StreamResponse, limit_s: float) -> None:
        self._response = response
        self._limit_s = limit_s

    async def write(self, data: bytes) -> None:
        """As it is."""
        for start in range(0, len(data), WRITE_BYTES):
            async with asyncio.timeout(self._limit_s):
                await self._response.write(data[start : start + WRITE_BYTES])

    async def event(self, event: str, data: Any) -> None:
        """One that has a name."""
        await self.write(b"event: " + event.encode() + b"\ndata: " + encode(data) + b"\n\n")

    async def rows(self, form: Form, rows: Sequence[Shown], since_ms: int) -> None:
        """Each is an event, whose id is what to resume behind."""
        parts = [
            b"id: %b\ndata: %b\n\n" % (event_id(row.id, since_ms).encode(), encode(form.row(row)))
            for row in rows
        ]
        if parts:
            await self.write(b"".join(parts))


def _response() -> web.StreamResponse:
    return web.StreamResponse(
        headers={
            "Content-Type": "text/event-stream",
            "Cache-Control": "no-store",
            "X-Accel-Buffering": "no",
        }
    )


def _exact(value: Any) -> Any:
    """A row's value for a browser, also what is within an object."""
    match value:
        case int():
            return str(value) if abs(value) > EXACT_UP_TO else value
        case list() | tuple():
            return [*map(_exact, value)]
        case dict():
            return {key: _exact(one) for key, one in value.items()}
    return value
