"""Server-sent events: every row of one stream with resume, and a digest of a whole app for its
page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from aiohttp import web

from lockstep.clock import Clock
from lockstep.control import HeartbeatWatch
from lockstep.events import OutputId
from lockstep.frame import wait_set
from lockstep_services.presenter.api import Lookup, encode
from lockstep_services.presenter.feed import AppModels, Feed
from lockstep_services.presenter.following import Ended, Gap, follow
from lockstep_services.presenter.forms import Form, form_of, wants_cloudevents
from lockstep_services.presenter.listeners import Listener, Listeners
from lockstep_services.presenter.models import Shown, StreamModel, identity
from lockstep_services.presenter.resuming import ResumePoint, event_id, resume_point

DIGEST_EVERY_MS: Final = 500
DIGEST_ROWS: Final = 60
DIGEST_FIRST_ROWS: Final = 240
RETRY_MS: Final = 1_000


class EventStreams:
    """The SSE routes."""

    def __init__(
        self, feed: Feed, lookup: Lookup, listeners: Listeners, watch: HeartbeatWatch, clock: Clock
    ) -> None:
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
        try:
            response = await _open(request)
            await self._serve(response, models, stream, listener, resume, form)
        except ConnectionError:
            pass
        finally:
            self._listeners.remove(models.view.name, stream.schema.name, listener)
        return response

    async def _serve(
        self,
        response: web.StreamResponse,
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
                await response.write(b": still here\n\n")
            elif isinstance(heard, Gap):
                gap = form.note("gap", heard.as_json(), self._clock.now_ms())
                await _send(response, "gap", gap)
            elif heard is Ended.LAGGING:
                why = form.note("lagging", {"reason": heard.value}, self._clock.now_ms())
                await _send(response, "lagging", why)
            elif not isinstance(heard, Ended):
                await _send_rows(response, form, heard, since_ms)

    async def _live(self, request: web.Request) -> web.StreamResponse:
        models = await self._lookup.app(request)
        response = await _open(request)
        seen: dict[str, OutputId] = {}
        first = True
        try:
            while (
                not self._listeners.closing.is_set()
                and self._feed.models(models.view.name) is models
            ):
                digest = self._digest(models, seen, DIGEST_FIRST_ROWS if first else DIGEST_ROWS)
                await _send(response, "digest", digest)
                first = False
                await wait_set(self._listeners.closing, self._clock, DIGEST_EVERY_MS)
            if not self._listeners.closing.is_set():
                await _send(response, "changed", {"reason": "the app changed; load again"})
        except ConnectionError:
            pass
        return response

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
                "rows": [[identity(row.id), row.timestamp_ms, *row.data] for row in rows],
            }
        tables = {
            name: {"count": len(table), "rows": [row.data for row in table.rows(50)]}
            for name, table in models.tables.items()
        }
        return {"streams": streams, "tables": tables, "replicas": self.replicas(models.view.name)}

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


async def _open(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(
        headers={
            "Content-Type": "text/event-stream",
            "Cache-Control": "no-store",
            "X-Accel-Buffering": "no",
        }
    )
    await response.prepare(request)
    await response.write(f"retry: {RETRY_MS}\n\n".encode())
    return response


async def _send(response: web.StreamResponse, event: str, data: Any) -> None:
    await response.write(b"event: " + event.encode() + b"\ndata: " + encode(data) + b"\n\n")


async def _send_rows(
    response: web.StreamResponse, form: Form, rows: Sequence[Shown], since_ms: int
) -> None:
    parts = [
        b"id: %b\ndata: %b\n\n" % (event_id(row.id, since_ms).encode(), encode(form.row(row)))
        for row in rows
    ]
    if parts:
        await response.write(b"".join(parts))
