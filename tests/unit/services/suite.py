"""All services behind one door in this process, on memory: for tests of what doors answer."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp

from lockstep.clock import SystemClock, SystemRandomness
from lockstep.frame import Process, open_world
from lockstep.settings import load_settings
from lockstep.telemetry import LogTail
from tests.unit.services.test_openapi import SETTINGS, WIRES

CLUSTER = "the-cluster-secret"


class Doors:
    """Asks with what somebody shows."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self.session = session
        self.url = url

    async def ask(
        self, shown: str | None, method: str, path: str, body: Any = None
    ) -> tuple[int, Any]:
        """Status, and the decoded answer."""
        headers = {} if shown is None else {"Authorization": shown}
        async with self.session.request(
            method, self.url + path, json=body, headers=headers
        ) as response:
            text = await response.text()
            is_json = "json" in response.content_type
            return response.status, await response.json() if is_json else text


def bearer(token: str) -> str:
    """The header's value."""
    return f"Bearer {token}"


@contextlib.asynccontextmanager
async def running(*services: str, **overrides: str) -> AsyncIterator[tuple[Doors, Process]]:
    """Started, with the cluster's token unless it is overridden."""
    async with running_with(None, *services, **overrides) as found:
        yield found


@contextlib.asynccontextmanager
async def running_with(
    tail: LogTail | None, *services: str, **overrides: str
) -> AsyncIterator[tuple[Doors, Process]]:
    """The same, with what keeps its last log lines."""
    given: Mapping[str, str] = {
        **SETTINGS,
        "LOCKSTEP_SERVER__TOKEN": CLUSTER,
        "LOCKSTEP_RIGHTS__REFRESH_MS": "50",
        **overrides,
    }
    settings = load_settings(given)
    world = await open_world(settings, SystemClock(), SystemRandomness())
    process = Process(settings, world, SystemClock(), SystemRandomness(), tail=tail)
    try:
        for service in services or WIRES:
            process.add(service, WIRES[service])
        await process.start()
        async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session:
            yield Doors(session, process.running.url), process
    finally:
        await process.stop()
        await world.close()
