"""The OpenAPI documents: every route is described, nothing else is, and answers are as told."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from tempfile import gettempdir
from typing import Any

import aiohttp
import msgspec
import pytest

from lockstep.clock import SystemClock, SystemRandomness
from lockstep.frame import Process, open_world
from lockstep.frame.openapi import DOOR, Described
from lockstep.frame.web import Door
from lockstep.settings import load_settings
from lockstep_services.coordinator.batch_described import BATCH
from lockstep_services.coordinator.connector_routes import CONNECTORS
from lockstep_services.coordinator.described import OWN
from lockstep_services.coordinator.figures_described import FIGURES
from lockstep_services.coordinator.flow.described import FLOW
from lockstep_services.coordinator.older_described import OLDER
from lockstep_services.coordinator.people_described import PEOPLE
from lockstep_services.coordinator.scim.described import SCIM
from lockstep_services.coordinator.templates_described import TEMPLATES
from lockstep_services.coordinator.wiring import wire as coordinator
from lockstep_services.presenter.described import ROUTES as PRESENTER
from lockstep_services.presenter.wiring import wire as presenter
from lockstep_services.processor.wiring import wire as processor
from lockstep_services.publisher.wiring import wire as publisher
from lockstep_services.receiver.described import ROUTES as RECEIVER
from lockstep_services.receiver.wiring import wire as receiver

WIRES = {
    "coordinator": coordinator, "processor": processor, "publisher": publisher,
    "presenter": presenter, "receiver": receiver,
}  # fmt: skip
SCRIPT = {"file": "s.py", "text": "# cron: 0 0 6 * * ? UTC\ndef run(batch): return batch"}
ROUTES = (
    *DOOR, *OWN, *CONNECTORS, *FIGURES, *FLOW, *BATCH, *TEMPLATES, *PEOPLE, *SCIM, *OLDER,
    *PRESENTER, *RECEIVER,
)  # fmt: skip
SETTINGS = {
    "LOCKSTEP_BUS__KIND": "memory",
    "LOCKSTEP_LEADER__KIND": "memory",
    "LOCKSTEP_STORE__KIND": "memory",
    "LOCKSTEP_ARCHIVE__FOLDER": f"{gettempdir()}/lockstep-no-archive",
    "LOCKSTEP_PROCESSOR__EXECUTOR": "reference",
    "LOCKSTEP_SERVER__NODE": "all",
    # A new app is placed with the next heartbeat; a process that is held up is not lost.
    "LOCKSTEP_COORDINATOR__HEARTBEAT_INTERVAL_MS": "50",
    "LOCKSTEP_COORDINATOR__HEARTBEAT_MAX_RETRY": "600",
    "LOCKSTEP_LEADER__LEASE_TTL_MS": "30000",
    "LOCKSTEP_TELEMETRY__LOG_LEVEL": "error",
}
TEXT = """
@app:name('A')
@source(type='http') define stream In (a string, n long);
@store(type='rdbms') @PrimaryKey('a') define table Kept (a string, n long);
define function half[python] return long { return data[0] * 2 };
@sink(type='log') define stream Out (a string, n long);
from In select a, n insert into Out;
from In#window.length(2) select a, n insert into Kept;
partition with (a of In) begin from In select a, count() as n insert into Counts; end;
"""
NAMES = {
    "app": "A",
    "stream": "Out",
    "table": "Kept",
    "element": "sink:Out.0.log",
    "node": "all",
    "name": "page.css",
    "script": "s",
    "number": "1",
    "template": "T",
    "kind": "User",
    "schema": "urn:ietf:params:scim:schemas:core:2.0:Group",
}
TEMPLATE = """-- template: T
-- parameter least long = 5
@app:name('${app}') define stream In (n long); from In[n > ${least}] select n insert into Big;
"""
WRITES: dict[tuple[str, str], Any] = {
    ("POST", "/v1/validate"): {"text": TEXT},
    ("POST", "/v1/preview"): {"text": TEXT},
    ("PUT", "/v1/apps"): {"text": TEXT},
    ("POST", "/v1/batch"): {"scripts": [SCRIPT]},
    ("POST", "/v1/batch/{script}/resume"): {},
    ("POST", "/v1/batch/{script}/pause"): {},
    ("POST", "/v1/apps/{app}/connectors/pause"): {"why": "to see"},
    ("POST", "/v1/apps/{app}/connectors/resume"): {},
    ("POST", "/v1/apps/{app}/connectors/{element}/resume"): {},
    ("POST", "/v1/apps/{app}/connectors/{element}/pause"): {"why": "to see"},
    ("POST", "/v1/rebalance"): {"dry_run": True},
    ("PUT", "/v1/dashboards/{name}"): {"panels": []},
    ("PUT", "/v1/templates/{template}"): {"text": TEMPLATE},
    ("PUT", "/v1/nodes/{node}/drain"): {},
    ("DELETE", "/v1/nodes/{node}/drain"): {},
    ("PUT", "/siddhi-apps"): TEXT,
    ("PUT", "/siddhi-apps/statistics"): {"statsEnable": False},
    ("PUT", "/statistics"): {"statsEnable": "true"},
    ("PUT", "/siddhi-apps/{app}/statistics"): {
        "statsEnable": True, "enabledSiddhiStatLevel": "DETAIL",
    },
    ("POST", "/v1/apps/{app}/query"): {"query": "from Kept select a, n", "details": True},
    ("POST", "/stores/query"): {"appName": "A", "query": "from Kept select a, n"},
    ("POST", "/grafana/search"): {"target": "out"},
    ("POST", "/grafana/metrics"): {},
    ("POST", "/grafana/metric-payload-options"): {"metric": "A/Out", "name": "type"},
    ("POST", "/grafana/query"): {"targets": [{"target": "A/Out"}, {"target": "A/Kept"}]},
    ("POST", "/grafana/variable"): {"payload": {"target": "A"}},
    ("POST", "/grafana/annotations"): {"annotation": {"query": "A/Out"}},
    ("POST", "/grafana/tag-keys"): {},
    ("POST", "/grafana/tag-values"): {"key": "a"},
}  # fmt: skip
READ_ELSEWHERE = {
    "/v1/apps/{app}/streams/{stream}/sse", "/v1/apps/{app}/streams/{stream}/ws",
    "/v1/apps/{app}/live", "/scim/v2/Users/{user}", "/scim/v2/Groups/{group}",
}  # fmt: skip
"""Streams without an end, and what a first user would be needed for, who shuts the door."""


@contextlib.asynccontextmanager
async def running(*services: str) -> AsyncIterator[tuple[Process, Door]]:
    """A process of these services, wired and not started, and its door."""
    doors: list[Door] = []

    def make(*given: Any, **named: Any) -> Door:
        doors.append(Door(*given, **named))
        return doors[0]

    settings = load_settings(SETTINGS)
    world = await open_world(settings, SystemClock(), SystemRandomness())
    process = Process(settings, world, SystemClock(), SystemRandomness(), make_door=make)
    try:
        for service in services:
            process.add(service, WIRES[service])
        yield process, doors[0]
    finally:
        await world.close()


@pytest.mark.parametrize("service", WIRES)
async def test_every_route_is_described_and_nothing_else(service: str) -> None:
    """Of each service, with those that every door has."""
    described = {
        "coordinator": (
            *OWN, *CONNECTORS, *FIGURES, *FLOW, *BATCH, *TEMPLATES, *PEOPLE, *SCIM, *OLDER,
        ),
        "presenter": PRESENTER,
        "receiver": RECEIVER,
    }.get(service, ())  # fmt: skip
    async with running(service) as (_, door):
        routes = door.application.router.routes()
        found = sorted(
            (route.method, route.resource.canonical)
            for route in routes
            if route.resource is not None and route.method != "HEAD"
        )
    assert found == sorted((each.method, each.path) for each in (*DOOR, *described))


async def _answer(
    session: aiohttp.ClientSession, url: str, route: Described, body: Any = None
) -> Any:
    path = re.sub(r"\{(\w+)\}", lambda match: NAMES[match[1]], route.path)
    data = body.encode() if isinstance(body, str) else msgspec.json.encode(body)
    async with session.request(
        route.method, url + path, data=None if body is None else data
    ) as response:
        text = await response.read()
        assert response.status in (route.status, *route.others), (path, response.status, text)
        if route.answer is None:
            return None
        assert response.content_type == route.content, path
        return msgspec.convert(msgspec.json.decode(text), route.answer)


async def _until_active(session: aiohttp.ClientSession, url: str) -> None:
    async with asyncio.timeout(60):
        while True:
            async with session.get(f"{url}/siddhi-apps/A/status") as response:
                if response.status == 200 and (await response.json())["status"] == "active":
                    return
            await asyncio.sleep(0.05)


async def test_answers_are_as_described() -> None:
    """All that reads, and what writes without taking the app away, on one running suite."""
    by_place = {(each.method, each.path): each for each in ROUTES}
    async with running(*WIRES) as (process, _):
        await process.start()
        try:
            url = process.running.url
            async with aiohttp.ClientSession() as session:
                deploy = by_place["PUT", "/v1/apps"]
                await _answer(session, url, deploy, {"text": TEXT})
                await _until_active(session, url)
                await _read_and_write(session, url, by_place)
        finally:
            await process.stop()


async def _read_and_write(
    session: aiohttp.ClientSession, url: str, by_place: dict[tuple[str, str], Described]
) -> None:
    sent = by_place["POST", "/v1/apps/{app}/streams/{stream}/events"]
    NAMES["stream"] = "In"
    taken = await _answer(session, url, sent, [["x", 1]])
    NAMES["stream"] = "Out"
    assert taken["accepted"] == 1
    for place, body in WRITES.items():
        await _answer(session, url, by_place[place], body)
    NAMES["app"] = "Made"
    instance = "/v1/templates/{template}/instances/{app}"
    await _answer(session, url, by_place["PUT", instance], {"values": {"least": 7}})
    (template,) = (await _answer(session, url, by_place["GET", "/v1/templates"]))["templates"]
    assert [one["app"] for one in template["instances"]] == ["Made"]
    await _answer(session, url, by_place["DELETE", instance])
    NAMES["app"] = "A"
    await _until_active(session, url)
    answers = {
        route.path: await _answer(session, url, route)
        for route in ROUTES
        if route.method == "GET" and route.path not in READ_ELSEWHERE
    }
    (statistics,) = answers["/siddhi-apps/statistics"]
    assert (statistics["isStatEnabled"], statistics["enabledSiddhiStatLevel"]) == (True, "DETAIL")
    assert answers["/resourceClusterWorkers"] == 1
    assert {"source", "sink", "partition"} <= {
        key for element in answers["/siddhi-apps/{app}/elements"] for key in element
    }
    document = answers["/openapi.json"]
    assert set(document["paths"]) == {route.path for route in ROUTES}
    taken_by = document["paths"]["/v1/apps/{app}"]["get"]["parameters"]
    assert [each["name"] for each in taken_by] == ["app"]
