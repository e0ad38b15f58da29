"""What the console asks of the suite: names in addresses stay whole."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest
from nicegui import Client

from lockstep_services.console.pages.nodes import Processors
from lockstep_services.console.suite import Doors, Suite
from tests.unit.services.console.on_a_page import press, settled, view_of


async def test_a_stream_is_one_part_of_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one with a slash."""
    asked: list[str] = []

    async def call(_suite: Suite, _method: str, url: str, **_: Any) -> None:
        asked.append(url)

    monkeypatch.setattr(Suite, "_call", call)
    addresses = SimpleNamespace(receiver="http://r")
    await Suite(cast("Doors", SimpleNamespace(addresses=addresses)), None).send("a/b", "c/d", [])
    assert asked == ["http://r/v1/apps/a%2Fb/streams/c%2Fd/events"]


class Coordinator:
    """Takes every command."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []

    async def tell(self, method: str, path: str) -> dict[str, Any]:
        """Of draining."""
        self.told.append((method, path))
        return {"left": []}


async def test_a_node_is_one_part_of_the_address(client: Client) -> None:
    """Also one with a slash."""
    suite = Coordinator()
    with client:
        processors = Processors(view_of(suite))
    processors.know([{"node": "a/b", "service": "processor", "drained": False}])

    async def drain() -> None:
        with client:
            await processors.drain()

    task = asyncio.create_task(drain())
    await settled()
    press(client, "Drain")
    await task
    assert suite.told == [("PUT", "/v1/nodes/a%2Fb/drain")]
