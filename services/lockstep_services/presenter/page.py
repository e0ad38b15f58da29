"""The live page: three static files, a JSON overview, and headers that let nothing else in."""

from __future__ import annotations

from importlib import resources
from typing import Any, Final

from aiohttp import web

from lockstep.clock import Clock
from lockstep.control import FAILING, Catalogue, HeartbeatWatch
from lockstep.frame.callers import may
from lockstep.rights import Permission
from lockstep_services.presenter.api import Lookup, answer
from lockstep_services.presenter.feed import Feed, primary_key

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'"
    " data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
FILES: Final = {
    "page.html": "text/html",
    "page.css": "text/css",
    "page.js": "text/javascript",
    "charts.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}


class Page:
    """Serves the page and what it asks for first."""

    def __init__(
        self,
        feed: Feed,
        lookup: Lookup,
        catalogue: Catalogue,
        watch: HeartbeatWatch,
        clock: Clock,
    ) -> None:
        self._feed = feed
        self._lookup = lookup
        self._catalogue = catalogue
        self._watch = watch
        self._clock = clock
        folder = resources.files("lockstep_services.presenter").joinpath("static")
        self._files = {name: folder.joinpath(name).read_bytes() for name in FILES}

    def add_to(self, router: web.UrlDispatcher) -> None:
        """The paths."""
        router.add_get("/", self._html)
        router.add_get("/apps/{app}", self._html)
        router.add_get("/assets/{name}", self._asset)
        router.add_get("/v1/live", self._overview)
        router.add_get("/v1/live/{app}", self._app)

    async def _html(self, _request: web.Request) -> web.Response:
        return self._file("page.html")

    async def _asset(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if name not in FILES:
            raise web.HTTPNotFound
        return self._file(name)

    def _file(self, name: str) -> web.Response:
        return web.Response(
            body=self._files[name], content_type=FILES[name], charset="utf-8", headers=HEADERS
        )

    async def _overview(self, request: web.Request) -> web.Response:
        now_ms = self._clock.monotonic_ms()
        apps = []
        for view in self._catalogue.views:
            if not may(request, Permission.VIEW, view.name):
                continue
            models = self._feed.models(view.name)
            streams = [] if models is None else list(models.streams.values())
            replicas = self._watch.groups(view.name)
            apps.append(
                {
                    "app": view.name,
                    "version": view.deployment.version[:12],
                    "streams": len(streams),
                    "tables": 0 if models is None else len(models.tables),
                    "total": sum(stream.total for stream in streams),
                    "rate": round(sum(stream.rate_per_s(now_ms) for stream in streams), 2),
                    "replicas": sum(1 for _, group in replicas if group.role != FAILING),
                    "active": [beat.node for beat, group in replicas if group.leads],
                    "lag": max((group.lag for _, group in replicas), default=0),
                }
            )
        nodes = [
            {"node": beat.node, "service": service, "leading": beat.leading, "url": beat.url}
            for service in ("coordinator", "processor", "receiver", "publisher", "presenter")
            for beat in self._watch.alive(service)
            if may(request, Permission.VIEW)
        ]
        return answer({"apps": apps, "nodes": nodes})

    async def _app(self, request: web.Request) -> web.Response:
        models = await self._lookup.app(request)
        view = models.view
        body: dict[str, Any] = {
            "app": view.name,
            "version": view.deployment.version,
            "edition": models.edition,
            "text": view.deployment.text,
            "streams": [
                {"name": name, "attributes": attributes(model.schema)}
                for name, model in models.streams.items()
            ],
            "tables": [
                {
                    "name": name,
                    "attributes": attributes(model.schema),
                    "key": list(primary_key(view, name)),
                }
                for name, model in models.tables.items()
            ],
        }
        return answer(body)


def attributes(schema: Any) -> list[dict[str, str]]:
    """Names and types as the page wants them."""
    return [{"name": one.name, "type": str(one.type)} for one in schema.attributes]
