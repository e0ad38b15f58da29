"""@sink(type='prometheus'): each event observes a metric of the publisher that delivers the app.

A metric lives as long as the sinks that observe it: a counter begins again at 0 when another
publisher takes over or the app is deployed anew, which is what Prometheus expects of counters. A
batch that comes again counts twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from http.client import HTTPException
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

from lockstep.connectors.prometheus import SERVER, port_of
from lockstep.sinks import Message, MessageRefusedError, Sink

PUSH_TIMEOUT_S: Final = 10


@dataclass
class _Metric:
    """What sinks share that observe a metric of one name."""

    kind: str
    labels: frozenset[str]
    collector: Any
    users: int = 0

    def __str__(self) -> str:
        return f"a {self.kind} with the labels {', '.join(sorted(self.labels)) or 'none'}"


class _Door:
    """What is served at one address, or pushed there for one job: the metrics of all sinks that
    name it."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.metrics: dict[str, _Metric] = {}
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
                try:
                    await web.TCPSite(runner, urlsplit(url).hostname, port_of(url) or 9080).start()
                except OSError:
                    await runner.cleanup()
                    raise
                self.runner = runner

    async def close(self) -> None:
        runner, self.runner = self.runner, None
        if runner is not None:
            await runner.cleanup()

    def observe(self, name: str, wanted: _Metric) -> _Metric:
        """The metric of that name, for one more sink. MessageRefusedError where it is another."""
        metric = self.metrics.get(name)
        if metric is None:
            self.registry.register(wanted.collector)
            metric = self.metrics[name] = wanted
        elif (metric.kind, metric.labels) != (wanted.kind, wanted.labels):
            raise MessageRefusedError(
                f"the metric {name!r} is {metric} here, by another sink, and not {wanted}",
                hint="give it another 'metric.name', or an address of its own",
            )
        metric.users += 1
        return metric

    def leave(self, name: str) -> None:
        """Once for each `observe`; the last one takes the metric away."""
        metric = self.metrics[name]
        metric.users -= 1
        if not metric.users:
            self.registry.unregister(self.metrics.pop(name).collector)

    async def _metrics(self, request: web.Request) -> web.Response:
        return web.Response(body=generate_latest(self.registry), content_type="text/plain")


_DOORS: Final[dict[tuple[str, str | None], _Door]] = {}
"""By address, and where metrics are pushed by job: a push holds all of a door."""
_MADE: Final = {"counter": Counter, "gauge": Gauge, "histogram": Histogram, "summary": Summary}


class PrometheusSink(Sink):
    """Options: `metric.type`, `metric.name` (the stream), `value.attribute` (value) …"""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options
        self._pushes = options.get("publish.mode", "server").lower() == "pushgateway"
        self._url = options["push.url"] if self._pushes else options.get("server.url", SERVER)
        port_of(self._url)  # ValueError
        self._job = options.get("job", "lockstep")
        self._at = (self._url, self._job if self._pushes else None)
        self._name = options.get("metric.name") or options["stream"]
        self._door: _Door | None = None
        self._metric: _Metric | None = None
        self._observed = ""
        # Of its own: a silent gateway holds up nobody else.
        self._thread: ThreadPoolExecutor | None = None

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
            if self._metric is None:
                self._metric = door.observe(self._name, self._wanted(labels))
            if self._observed != message.id:  # a failed push is tried again, and is the same event
                metric = self._metric.collector
                _observe(metric.labels(**labels) if labels else metric, float(value))
        except ValueError as error:
            raise MessageRefusedError(str(error)) from error
        if self._pushes:
            self._observed = message.id
            await self._push(door)
            self._observed = ""

    async def _push(self, door: _Door) -> None:
        adds = self._options.get("push.operation", "pushadd").lower() == "pushadd"
        push = pushadd_to_gateway if adds else push_to_gateway
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="prometheus")
        pushed = partial(
            push, self._url, job=self._job, registry=door.registry, timeout=PUSH_TIMEOUT_S
        )
        try:
            await asyncio.get_running_loop().run_in_executor(self._thread, pushed)
        except (HTTPException, ValueError) as error:  # of the address, and of no message
            raise OSError(f"the gateway cannot be reached: {error!r}") from error

    async def _opened(self) -> _Door:
        if self._door is None:
            self._door = _DOORS.setdefault(self._at, _Door())
            self._door.users += 1
        if not self._pushes:
            await self._door.open(self._url)
        return self._door

    def _wanted(self, labels: Mapping[str, str]) -> _Metric:
        """As the options say, registered nowhere. ValueError for names that are none."""
        kind = self._options["metric.type"].lower()
        more: dict[str, Any] = {}
        if kind == "histogram" and self._options.get("buckets"):
            more["buckets"] = [float(each) for each in self._options["buckets"].split(",")]
        help_text = self._options.get("metric.help", self._name)
        made = _MADE[kind](self._name, help_text, labelnames=tuple(labels), registry=None, **more)
        return _Metric(kind, frozenset(labels), made)

    async def close(self) -> None:
        door, self._door = self._door, None
        metric, self._metric, self._observed = self._metric, None, ""
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.shutdown(wait=False, cancel_futures=True)
        if door is not None:
            if metric is not None:
                door.leave(self._name)
            door.users -= 1
            if not door.users:
                _DOORS.pop(self._at, None)
                await door.close()


def _observe(metric: Any, value: float) -> None:
    if isinstance(metric, Counter):
        metric.inc(value)
    elif isinstance(metric, Gauge):
        metric.set(value)
    else:
        metric.observe(value)
