"""@sink(type='prometheus'): each event observes a metric of the publisher that delivers the app.

A metric lives as long as its publisher: a counter begins again at 0 when another one takes over,
which is what Prometheus expects of counters. A batch that comes again counts twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from aiohttp import web
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Summary,
    generate_latest,
    push_to_gateway,
    pushadd_to_gateway,
)

from lockstep.connectors.prometheus import SERVER
from lockstep.sinks import Message, MessageRefusedError, Sink


class _Door:
    """What is served at one address: the metrics of all sinks that name it."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.metrics: dict[str, Any] = {}
        self.users = 0
        self.runner: web.AppRunner | None = None
        self.starting = asyncio.Lock()

    async def open(self, url: str) -> None:
        async with self.starting:
            if self.runner is None:
                app = web.Application()
                app.router.add_get("/metrics", self._metrics)
                runner = web.AppRunner(app)
                await runner.setup()
                parts = urlsplit(url)
                try:
                    await web.TCPSite(runner, parts.hostname, parts.port or 9080).start()
                except OSError:
                    await runner.cleanup()
                    raise
                self.runner = runner

    async def close(self) -> None:
        runner, self.runner = self.runner, None
        if runner is not None:
            await runner.cleanup()

    async def _metrics(self, request: web.Request) -> web.Response:
        return web.Response(body=generate_latest(self.registry), content_type="text/plain")


_DOORS: Final[dict[str, _Door]] = {}
_MADE: Final = {"counter": Counter, "gauge": Gauge, "histogram": Histogram, "summary": Summary}


class PrometheusSink(Sink):
    """Options: `metric.type`, `metric.name` (the stream), `value.attribute` (value) …"""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options
        self._pushes = options.get("publish.mode", "server").lower() == "pushgateway"
        self._url = options["push.url"] if self._pushes else options.get("server.url", SERVER)
        self._door: _Door | None = None

    async def send(self, message: Message) -> None:
        name = self._options.get("value.attribute", "value")
        value = message.event.get(name)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise MessageRefusedError(f"{name!r} is no number but {value!r}")
        labels = {
            label: "" if text is None else str(text)
            for label, text in message.event.items()
            if label != name
        }
        door = await self._opened()
        try:
            metric = self._metric(door, tuple(labels))
            _observe(metric.labels(**labels) if labels else metric, float(value))
        except ValueError as error:
            raise MessageRefusedError(str(error)) from error
        if self._pushes:
            adds = self._options.get("push.operation", "pushadd").lower() == "pushadd"
            push = pushadd_to_gateway if adds else push_to_gateway
            job = self._options.get("job", "lockstep")
            await asyncio.to_thread(push, self._url, job=job, registry=door.registry)

    async def _opened(self) -> _Door:
        if self._door is None:
            self._door = _DOORS.setdefault(self._url, _Door())
            self._door.users += 1
        if not self._pushes:
            await self._door.open(self._url)
        return self._door

    def _metric(self, door: _Door, labels: tuple[str, ...]) -> Any:
        kind = self._options["metric.type"].lower()
        name = self._options.get("metric.name") or self._options["stream"]
        if name not in door.metrics:
            more: dict[str, Any] = {}
            if kind == "histogram" and self._options.get("buckets"):
                more["buckets"] = [float(each) for each in self._options["buckets"].split(",")]
            help_text = self._options.get("metric.help", name)
            door.metrics[name] = _MADE[kind](
                name, help_text, labelnames=labels, registry=door.registry, **more
            )
        return door.metrics[name]

    async def close(self) -> None:
        door, self._door = self._door, None
        if door is not None:
            door.users -= 1
            if not door.users:
                _DOORS.pop(self._url, None)
                await door.close()


def _observe(metric: Any, value: float) -> None:
    if isinstance(metric, Counter):
        metric.inc(value)
    elif isinstance(metric, Gauge):
        metric.set(value)
    else:
        metric.observe(value)
