"""Prometheus sinks that share an address: each has its own metrics, as long as it is there."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest
from aiohttp import web

from lockstep.connectors.prometheus.serve import PrometheusSink
from lockstep.sinks import Message, MessageRefusedError
from tests.contract.connectors.brokers import free_port


@pytest.fixture
def url() -> str:
    """Where nobody listens yet."""
    return f"http://127.0.0.1:{free_port()}"


def sink(url: str, kind: str, name: str, **more: str) -> PrometheusSink:
    """It serves a metric."""
    return PrometheusSink(
        {"server.url": url, "metric.type": kind, "metric.name": name, "stream": "S", **more}
    )


def event(**values: Any) -> Message:
    """Of a row with these values."""
    return Message("A/main/0/1.0", b"", "text/plain", 1, values, lambda text: text)


async def served(url: str, name: str) -> list[str]:
    """The lines of a metric, without help and without when it began."""
    async with aiohttp.ClientSession() as session, session.get(f"{url}/metrics") as answer:
        lines = (await answer.text()).splitlines()
    return [
        line
        for line in lines
        if name in line and "_created" not in line and not line.startswith("# HELP")
    ]


async def test_a_metric_that_is_deployed_anew_is_what_it_is_now(url: str) -> None:
    """While another sink holds the address: of another type, and then with other labels."""
    other = sink(url, "gauge", "other")
    await other.send(event(value=1))
    before = sink(url, "counter", "depth")
    await before.send(event(room="x", value=5))
    await before.send(event(room="x", value=5))
    assert await served(url, "depth") == [
        "# TYPE depth_total counter",
        'depth_total{room="x"} 10.0',
    ]
    await before.close()
    assert await served(url, "depth") == []
    gauge = sink(url, "gauge", "depth")
    await gauge.send(event(room="x", value=7))
    await gauge.send(event(room="x", value=3))
    assert await served(url, "depth") == ["# TYPE depth gauge", 'depth{room="x"} 3.0']
    await gauge.close()
    more = sink(url, "gauge", "depth")
    await more.send(event(room="x", floor=1, value=7))
    assert await served(url, "depth") == ["# TYPE depth gauge", 'depth{floor="1",room="x"} 7.0']
    await more.close()
    assert await served(url, "other") == ["# TYPE other gauge", "other 1.0"]
    await other.close()


async def test_a_metric_of_two_sinks_is_one_and_stays_with_the_last(url: str) -> None:
    """Whatever the order of their labels; what differs is refused with what is there."""
    one, two = sink(url, "counter", "depth"), sink(url, "counter", "depth")
    await one.send(event(room="x", floor=1, value=5))
    await two.send(event(floor=1, room="x", value=2))
    assert (await served(url, "depth"))[1:] == ['depth_total{floor="1",room="x"} 7.0']
    wrong, plain = sink(url, "gauge", "depth"), sink(url, "counter", "depth")
    with pytest.raises(MessageRefusedError, match="is a counter with the labels floor, room here"):
        await wrong.send(event(room="x", floor=1, value=5))
    with pytest.raises(MessageRefusedError, match="not a counter with the labels none"):
        await plain.send(event(value=5))
    await one.close()
    await wrong.close()
    await plain.close()
    await two.send(event(floor=1, room="x", value=2))
    assert (await served(url, "depth"))[1:] == ['depth_total{floor="1",room="x"} 9.0']
    await two.close()


async def test_a_name_that_another_metric_has_taken_is_refused(url: str) -> None:
    """A counter also has the name with `_total`."""
    one, two = sink(url, "counter", "depth"), sink(url, "gauge", "depth_total")
    await one.send(event(value=5))
    with pytest.raises(MessageRefusedError, match="depth_total"):
        await two.send(event(value=5))
    await one.close()
    await two.send(event(value=5))
    assert await served(url, "depth") == ["# TYPE depth_total gauge", "depth_total 5.0"]
    await two.close()


async def test_each_job_pushes_its_own_metrics() -> None:
    """To one gateway, which keeps them apart."""
    pushed: list[tuple[str, str]] = []

    async def take(request: web.Request) -> web.Response:
        pushed.append((request.path, await request.text()))
        return web.Response()

    app = web.Application()
    app.router.add_route("*", "/metrics/job/{job}", take)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    gateway = f"http://127.0.0.1:{runner.addresses[0][1]}"
    options = {"publish.mode": "pushgateway", "push.url": gateway}
    sinks = [sink("", "gauge", f"of_{job}", job=job, **options) for job in ("a", "b")]
    for each in sinks:
        await each.send(event(value=1))
    for each in sinks:
        await each.close()
    await runner.cleanup()
    assert [path for path, _ in pushed] == ["/metrics/job/a", "/metrics/job/b"]
    assert "of_a 1.0" in pushed[0][1]
    assert "of_b 1.0" in pushed[1][1]
    assert "of_a" not in pushed[1][1]
