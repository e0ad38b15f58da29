"""Prometheus' gateways and targets that fail, are silent, ask for a header, or have large pages."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from lockstep.clock import SystemClock
from lockstep.connectors.prometheus import scrape
from lockstep.connectors.prometheus.scrape import PrometheusSource
from lockstep.connectors.prometheus.serve import PrometheusSink
from lockstep.sinks import Message
from lockstep.sources import Place

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[str]:
    """Its address; it answers whatever is asked."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


def pushing(url: str) -> PrometheusSink:
    """A counter at a gateway."""
    return PrometheusSink(
        {"stream": "Out", "metric.type": "counter", "publish.mode": "pushgateway", "push.url": url}
    )


def message(number: int) -> Message:
    """Adds one."""
    return Message(str(number), b"", "text/plain", 1, {"value": 1}, lambda text: text)


async def test_an_event_whose_push_failed_counts_once() -> None:
    """It is tried again until the gateway takes it."""
    pushed: list[str] = []
    is_up = False

    async def gateway(request: web.Request) -> web.Response:
        pushed.append(await request.text())
        return web.Response(status=200 if is_up else 503)

    async with serving(gateway) as url:
        sink = pushing(url)
        for _ in range(3):
            with pytest.raises(OSError, match="503"):
                await sink.send(message(1))
        is_up = True
        await sink.send(message(1))
        await sink.send(message(2))
        await sink.close()
    assert "Out_total 1.0" in pushed[3]
    assert "Out_total 2.0" in pushed[4]


async def test_a_silent_gateway_holds_up_its_own_sink_alone() -> None:
    """More sinks wait than `to_thread` has threads."""
    held = asyncio.Event()

    async def gateway(_: web.Request) -> web.Response:
        await held.wait()
        return web.Response()

    async with serving(gateway) as url, asyncio.timeout(10):
        sinks = [pushing(url) for _ in range(40)]
        sending = [asyncio.create_task(sink.send(message(1))) for sink in sinks]
        await asyncio.sleep(0.2)
        assert await asyncio.to_thread(lambda: "a neighbour") == "a neighbour"
        held.set()
        await asyncio.gather(*sending)
        for sink in sinks:
            await sink.close()


def source(url: str, **more: str) -> PrometheusSource:
    """Scrapes the metric `m`."""
    options = {"target.url": f"{url}/metrics", "metric.name": "m", **more}
    return PrometheusSource(options, Place("A", "S", 0, "127.0.0.1", SystemClock()))


async def test_the_target_gets_the_headers() -> None:
    """As the option says."""

    async def target(request: web.Request) -> web.Response:
        there = request.headers.get("X-Api-Key") == "abc"
        return web.Response(status=200 if there else 401, text="# TYPE m gauge\nm 1\n")

    async with serving(target) as url:
        reading = source(url, headers="'X-Api-Key:abc'")
        (found,) = await reading.read(max_messages=10, wait_ms=1_000)
        await reading.close()
    assert json.loads(found.payload)["value"] == 1


async def test_of_a_large_page_the_metric_alone_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others may be of any size; what is too much of the metric itself is told."""
    others = "".join(f'other{{n="{number}"}} 1\n' for number in range(50_000))

    async def target(request: web.Request) -> web.Response:
        own = "#  HELP m_total a\n  # TYPE  m_total counter\n" + '\tm_total{a="b"} 7\n'
        return web.Response(text=f"# TYPE other gauge\n{others}{own}# EOF\n")

    monkeypatch.setattr(scrape, "MAX_BYTES", 1_000)
    async with serving(target) as url:
        reading = source(url)
        (found,) = await reading.read(max_messages=10, wait_ms=1_000)
        await reading.close()
        too_much = source(url, **{"metric.name": "other"})
        with pytest.raises(OSError, match="more than 1000 bytes of 'other'"):
            await too_much.read(max_messages=10, wait_ms=1_000)
        await too_much.close()
    sample = json.loads(found.payload)
    assert (sample["value"], sample["a"], sample["help"]) == (7, "b", "a")


@pytest.mark.parametrize(
    "page",
    ["  # TYPE m gauge\n  m 5\n", "#\tTYPE\tm gauge\nm 5\n", '# TYPE "m" gauge\n{"m",a="b"} 5\n'],
)
async def test_a_page_may_be_written_in_other_ways(page: str) -> None:
    """With blanks in front, tabs, or names in quotes: the format allows it."""

    async def target(_: web.Request) -> web.Response:
        return web.Response(text=page)

    async with serving(target) as url:
        reading = source(url)
        (found,) = await reading.read(max_messages=10, wait_ms=1_000)
        await reading.close()
    sample = json.loads(found.payload)
    assert (sample["value"], sample["metric_type"]) == (5, "gauge")
